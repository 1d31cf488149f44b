// A stand-in for a card: threads of the processor run kernels, and the atomics of the language order their memory.
//
// Each thread of a block is a thread, each block's barrier is a barrier, and blocks run in whatever order the machine likes,
// held up at random. What this cannot show is the hardware: its weaker order of plain stores, its links, its schedulers.
// What it can, with the thread sanitizer watching every access, is whether the protocol itself orders everything it must,
// since the sanitizer asks for a chain of synchronisation and not for luck.
#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__

// Fewer lanes than a warp has: the kernels do not care, and a processor has no thousand threads to spare.
#define LANES 2u

struct Dim {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};

inline thread_local Dim threadIdx, blockIdx, blockDim, gridDim;
inline thread_local std::barrier<>* block_barrier;

inline void __syncthreads() { block_barrier->arrive_and_wait(); }

// A signal that publishes nothing: what a kernel without the release would do.
inline bool signals_are_relaxed = false;

inline void release_store(unsigned long long* word, unsigned long long value) {
    if (signals_are_relaxed) __atomic_store_n(word, value, __ATOMIC_RELAXED);
    else __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

inline unsigned long long acquire_load(const unsigned long long* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

inline bool arrive(unsigned* counter, unsigned expected) {
    unsigned before = __atomic_load_n(counter, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(counter, &before, before + 1 == expected ? 0 : before + 1, true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {}
    return before + 1 == expected;
}

// The sanitizer knows no fences, and the language needs none where stores release: the protocol must hold without.
inline void fence_system() {}

inline unsigned long long now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void back_off() { std::this_thread::yield(); }

// Gives the processor away a few times, how often by chance: what is too early or too late to be seen otherwise happens.
inline void hold_up(unsigned long long seed, unsigned at_most) {
    unsigned long long x = seed * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
    for (unsigned turns = (x >> 33) % (at_most + 1); turns > 0; turns--) std::this_thread::yield();
}

// Runs a grid to its end, as a stream would.
template <typename Kernel>
void launch(Dim grid, unsigned threads, unsigned long long seed, Kernel kernel) {
    std::vector<std::unique_ptr<std::barrier<>>> barriers;
    std::vector<std::thread> running;
    for (unsigned block = 0; block < grid.x * grid.y; block++) {
        barriers.push_back(std::make_unique<std::barrier<>>(threads));
        std::barrier<>* meeting = barriers.back().get();
        for (unsigned thread = 0; thread < threads; thread++) {
            running.emplace_back([=, &kernel] {
                threadIdx = {thread, 0}, blockIdx = {block % grid.x, block / grid.x}, blockDim = {threads, 1}, gridDim = grid;
                block_barrier = meeting;
                hold_up(seed + block, 20);
                kernel();
            });
        }
    }
    for (std::thread& thread : running) thread.join();
}
