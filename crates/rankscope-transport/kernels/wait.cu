// Wait: until the words of some peers have reached an epoch, or patience ends.
//
// Protocol: the words live in this rank's memory, one per peer, each written by that peer alone and only ever upwards, so
// "at least" is the whole test: a faster peer that is already an exchange ahead does not look like one that is missing, and
// nothing needs to be cleared afterwards. Both kinds of word are waited for with this kernel: "my data is there" before
// unpacking, and "your buffer is free" before putting.
//
// Order: the acquire load that sees the epoch synchronises with its release; the end of the kernel passes that on to the
// next kernel of the stream. One small block: the only kernel that spins must leave the card to those it waits for. After
// `patience_ns` it gives up, leaves in `seen` how far each peer had come and raises `halted`, and every later kernel of the
// rank that would touch a peer or a tensor does nothing.

#include "memory.cuh"

extern "C" __global__ void wait_for(const u64* words, const u64* peers, u64 count, u64 epoch, u64 patience_ns, u64* seen,
                                    u64* halted) {
    const u64 begun = now_ns();
    for (u64 i = threadIdx.x; i < count; i += blockDim.x) {
        const u64* word = words + peers[i];
        u64 value = acquire_load(word);
        while (value < epoch && now_ns() - begun < patience_ns) {
            back_off();
            value = acquire_load(word);
        }
        seen[i] = value;
        if (value < epoch) release_store(halted, 1);
    }
}
