// The kernels as a library of the processor: one call launches any of them by name, as a driver would.

#include <string>

#include "pack.cu"
#include "put.cu"
#include "release.cu"
#include "sum.cu"
#include "unpack.cu"
#include "wait.cu"

template <typename T>
static T* pointer(u64 address) { return reinterpret_cast<T*>(address); }

static const u64* words(u64 address) { return pointer<const u64>(address); }

#define SUM_ENTRY(entry)                                                                                                   \
    if (name == #entry)                                                                                                    \
        return launch(grid, threads, seed, [=] { entry(pointer<const SumRun>(a[0]), a[1], a[2], words(a[3]), words(a[4])); }), \
               0;

extern "C" int launch_by_name(const char* entry_name, u32 x, u32 y, u32 threads, u64 seed, const u64* a) {
    const std::string name = entry_name;
    const Dim grid = {x, y};
    if (name == "pack") return launch(grid, threads, seed, [=] { pack(pointer<const RowRun>(a[0]), a[1], a[2]); }), 0;
    if (name == "put") return launch(grid, threads, seed, [=] { put(pointer<const Put>(a[0]), a[1], words(a[2])); }), 0;
    if (name == "wait_for") {
        return launch(grid, threads, seed, [=] { wait_for(words(a[0]), words(a[1]), a[2], a[3], a[4], pointer<u64>(a[5]), pointer<u64>(a[6])); }),
               0;
    }
    if (name == "unpack") return launch(grid, threads, seed, [=] { unpack(pointer<const RowRun>(a[0]), a[1], a[2], words(a[3])); }), 0;
    if (name == "release") return launch(grid, threads, seed, [=] { release(words(a[0]), a[1], a[2], words(a[3])); }), 0;
    SUM_ENTRY(sum_bf16)
    SUM_ENTRY(sum_f16)
    SUM_ENTRY(sum_f32)
    SUM_ENTRY(sum_f64)
    SUM_ENTRY(sum_u8)
    SUM_ENTRY(sum_u16)
    SUM_ENTRY(sum_u32)
    SUM_ENTRY(sum_u64)
    return 1;
}

// The arithmetic of the half types, for all their values.
extern "C" float widen_f16(u16 bits) { return F16{bits}.widen(); }
extern "C" float widen_bf16(u16 bits) { return Bf16{bits}.widen(); }
extern "C" u16 round_f16(float value) { return F16::round(value).bits; }
extern "C" u16 round_bf16(float value) { return Bf16::round(value).bits; }
