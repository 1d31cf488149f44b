// Release: tells every rank that this rank's receive buffers of an epoch are empty again.
//
// Protocol: after `unpack` of epoch e (or the copy to the host that takes its place) this rank stores e into its word at
// every rank that could write to it, with bytes in this exchange or without. Two sets of buffers alternate, so a sender may
// begin epoch e + 2 once it has seen e; what it overwrites then has been read.
//
// Order: the reads of `unpack` -> end of that kernel -> release store here -> acquire load of the sender's `wait_for` -> its
// stores. Reads before the release cannot see what is stored after the acquire.

#include "memory.cuh"

extern "C" __global__ void release(const u64* words, u64 count, u64 epoch, const u64* halted) {
    if (*halted != 0) return;
    fence_system();
    for (u64 i = threadIdx.x; i < count; i += blockDim.x) release_store(reinterpret_cast<u64*>(words[i]), epoch);
}
