// Sum: rows of a tensor, each with the other rows that are added to it.
//
// One kernel for both sums of the way back: gradients of the copies of a key or value row before they are packed, and the
// planes in which the gradients of several ranks return. Elements are added in the order of the list, in f32 where the type is
// narrower, and rounded once, after the last: the result depends neither on the grid nor on chance, and not on how the plan
// happened to be cut.
//
// Protocol: none; one thread owns an element from its first load to its only store, no row is both a sum and a part of
// another sum of the same launch, and the stream orders this kernel after what wrote the rows and before what reads them.

#include "element.cuh"
#include "rows.cuh"

struct SumRun {
    u64 first;      // rows of the runs before this one
    u64 into;       // address of the first row of the sum
    u64 row_bytes;
    u64 parts;      // where its parts start in the list of addresses
    u64 count;      // how many parts each row has
};

template <typename Element, u32 N>
struct alignas(sizeof(Element) * N) Piece {
    Element elements[N];
};

// Adds from byte `begin` of the row on, as far as whole pieces go, and returns where they end.
template <typename Element, u32 N>
__device__ inline u64 sum_pieces(u64 into, const u64* parts, u64 count, u64 offset, u64 begin, u64 row_bytes) {
    typedef Piece<Element, N> Vector;
    const u64 end = begin + (row_bytes - begin) / sizeof(Vector) * sizeof(Vector);
    for (u64 at = begin + lane_index() * sizeof(Vector); at < end; at += LANES * sizeof(Vector)) {
        Vector* home = reinterpret_cast<Vector*>(into + at);
        Vector piece = *home;
        typename Element::Sum sums[N];
#pragma unroll
        for (u32 k = 0; k < N; k++) sums[k] = piece.elements[k].widen();
        for (u64 part = 0; part < count; part++) {
            piece = *reinterpret_cast<const Vector*>(parts[part] + offset + at);
#pragma unroll
            for (u32 k = 0; k < N; k++) sums[k] += piece.elements[k].widen();
        }
#pragma unroll
        for (u32 k = 0; k < N; k++) piece.elements[k] = Element::round(sums[k]);
        *home = piece;
    }
    return end;
}

template <typename Element>
__device__ inline void sum_rows(const SumRun* runs, u64 run_count, u64 rows, const u64* addresses, const u64* halted) {
    if (*halted != 0) return;
    for (u64 row = warp_index(); row < rows; row += warp_count()) {
        const SumRun& run = run_of(runs, run_count, row);
        const u64 offset = (row - run.first) * run.row_bytes;
        const u64* parts = addresses + run.parts;
        u64 low = run.into + offset;
        for (u64 part = 0; part < run.count; part++) low |= parts[part] + offset;
        u64 done = 0;
        if (low % 16 == 0) done = sum_pieces<Element, 16 / sizeof(Element)>(run.into + offset, parts, run.count, offset, 0, run.row_bytes);
        sum_pieces<Element, 1>(run.into + offset, parts, run.count, offset, done, run.row_bytes);
    }
}

#define SUM(name, Element)                                                                                                   \
    extern "C" __global__ void name(const SumRun* runs, u64 run_count, u64 rows, const u64* addresses, const u64* halted) { \
        sum_rows<Element>(runs, run_count, rows, addresses, halted);                                                         \
    }

SUM(sum_bf16, Bf16)
SUM(sum_f16, F16)
SUM(sum_f32, Plain<float>)
SUM(sum_f64, Plain<double>)
SUM(sum_u8, Plain<u8>)
SUM(sum_u16, Plain<u16>)
SUM(sum_u32, Plain<u32>)
SUM(sum_u64, Plain<u64>)
