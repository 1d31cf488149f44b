// Runs of rows, and which warp works on which row.
//
// A run is some rows of one tensor, back to back, and the same rows in a message buffer, where each takes `wire_row_bytes`.
// A destination of -1 never becomes a run, so no kernel has one to check.
#pragma once

#include "memory.cuh"

struct RowRun {
    u64 first;           // rows of the runs before this one
    u64 tensor;          // address of its first row in the tensor
    u64 buffer;          // and in the message buffer
    u64 row_bytes;
    u64 wire_row_bytes;  // a row in a message, padding included
};

#ifndef LANES
#define LANES 32u
#endif

__device__ inline u32 lane_index() { return threadIdx.x % LANES; }
__device__ inline u64 warp_index() { return (u64)blockIdx.x * (blockDim.x / LANES) + threadIdx.x / LANES; }
__device__ inline u64 warp_count() { return (u64)gridDim.x * (blockDim.x / LANES); }

// The run that holds `row`: the last whose first row is not after it. `Run` has a `first`; there is at least one run.
template <typename Run>
__device__ inline const Run& run_of(const Run* runs, u64 count, u64 row) {
    u64 low = 0, high = count;
    while (high - low > 1) {
        const u64 middle = low + (high - low) / 2;
        if (runs[middle].first <= row) low = middle;
        else high = middle;
    }
    return runs[low];
}
