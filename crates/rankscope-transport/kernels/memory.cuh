// The words ranks signal each other with, and the order they impose on everything else. Every kernel's argument about races
// ends in one of these five functions.
//
// Data moves with plain loads and stores; only signals are atomic. A release store at system scope publishes whatever
// happened before it, at any device, and the acquire load that sees it makes all of that visible to its thread. Barriers of a
// block and atomics at device scope pass the order on from thread to thread, so that one thread may publish for many.
//
// Compiled as C++ for a processor, the same names come from the stand-in for the hardware under tests/cuda_threads.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __CUDACC__

__device__ inline void release_store(u64* word, u64 value) {
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

__device__ inline u64 acquire_load(const u64* word) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}

// True for the last of `expected` callers. The counter is back at zero then: it needs nobody to clear it.
__device__ inline bool arrive(u32* counter, u32 expected) {
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(expected - 1) : "memory");
    return before == expected - 1;
}

// Stores to a peer are ordered before the signal at every device, not only at the two that take part.
__device__ inline void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

__device__ inline u64 now_ns() {
    u64 now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

// Leaves the memory system to those who are waited for.
__device__ inline void back_off() { __nanosleep(100); }

#else
#include "memory_on_threads.h"
#endif
