// Put with signal: one message per row of the grid, straight into the mapped receive buffer of its peer.
//
// Protocol. Exchanges are numbered from 1; `epoch` is the number of this one and nothing is ever reset to an earlier one.
// Before this kernel its stream has seen, with `wait_for`, that every peer written to has emptied the buffer set of this epoch
// (see release.cu). Every block of a message stores its slice with plain stores; its threads meet at a barrier; one of them
// fences and counts the block in; the block that comes last stores the epoch into the peer's signal, with release at system
// scope.
//
// Order: stores of a block -> its barrier -> fence -> `arrive` (acquire and release, this device) -> `arrive` of the last
// block -> release of the signal. Happens-before is transitive along that chain, so the peer that acquires the epoch sees
// every byte of every block. One message has one signal word, written by one rank only: no update can be lost, and since
// readers ask for "at least", one that looks late cannot miss it.
//
// Nobody spins here: a grid that fills a card must never wait for another grid that may need the same card. A message of a
// rank to itself is a local copy and carries no signal; the stream orders it.

#pragma once

#include "copy.cuh"

struct Put {
    u64 from;
    u64 to;
    u64 bytes;
    u64 signal;   // address of the peer's word for this rank; 0 for what stays here
    u64 arrived;  // address of the counter of blocks, in this rank's memory
};

extern "C" __global__ void put(const Put* puts, u64 epoch, const u64* halted) {
    if (*halted != 0) return;
    const Put message = puts[blockIdx.y];
    const u64 share = (message.bytes + gridDim.x - 1) / gridDim.x;
    const u64 slice = (share + 127) / 128 * 128;
    const u64 begin = blockIdx.x * slice;
    if (begin < message.bytes) {
        const u64 left = message.bytes - begin;
        u8* to = reinterpret_cast<u8*>(message.to) + begin;
        const u8* from = reinterpret_cast<const u8*>(message.from) + begin;
        copy_bytes(to, from, left < slice ? left : slice, threadIdx.x, blockDim.x);
    }
    if (message.signal == 0) return;
    __syncthreads();
    if (threadIdx.x == 0) {
        fence_system();
        if (arrive(reinterpret_cast<u32*>(message.arrived), gridDim.x)) {
            release_store(reinterpret_cast<u64*>(message.signal), epoch);
        }
    }
}
