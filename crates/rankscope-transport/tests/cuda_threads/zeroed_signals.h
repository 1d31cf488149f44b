// The protocol these kernels replace, in its smallest form: signals count what arrived, the receiver waits until the count is
// exactly right, copies, and zeroes the counts. Nothing tells a sender that the buffer is empty or the count is zero again, so
// a rank that is faster loses its signals to the zeroing or writes over what was not yet copied. Here to be caught.
#pragma once

#include "put.cu"

static void zeroed_put(const Put* puts) {
    const Put message = puts[blockIdx.y];
    const u64 slice = (message.bytes + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * slice;
    if (begin < message.bytes) {
        const u64 left = message.bytes - begin;
        copy_bytes(reinterpret_cast<u8*>(message.to) + begin, reinterpret_cast<const u8*>(message.from) + begin,
                   left < slice ? left : slice, threadIdx.x, blockDim.x);
    }
    __syncthreads();
    if (threadIdx.x == 0 && message.signal != 0) {
        __atomic_fetch_add(reinterpret_cast<u64*>(message.signal), 1, __ATOMIC_ACQ_REL);
    }
}

static void zeroed_wait(const u64* signals, const u64* peers, u64 count, u64 expected, u64 patience_ns, u64* halted) {
    const u64 begun = now_ns();
    for (u64 i = 0; i < count; i++) {
        while (acquire_load(signals + peers[i]) != expected) {
            if (now_ns() - begun > patience_ns) {
                release_store(halted, 1);
                return;
            }
            back_off();
        }
    }
}

static void zero_signals(std::vector<u64>& signals, u64 seed) {
    hold_up(seed, 200);
    for (u64& signal : signals) __atomic_store_n(&signal, 0, __ATOMIC_RELAXED);
}
