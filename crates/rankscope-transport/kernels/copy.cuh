// Copying bytes with as many threads as there are, in the widest pieces both ends allow.
//
// Nothing outside [from, from + bytes) is read and nothing outside [to, to + bytes) is written, whatever the lengths: rows
// that are no multiple of 16 bytes end with single bytes, not with a vector that reaches into the next row.
#pragma once

#include "memory.cuh"

template <typename Piece>
__device__ inline void copy_pieces(u8* __restrict__ to, const u8* __restrict__ from, u64 bytes, u32 lane, u32 lanes) {
    const u64 pieces = bytes / sizeof(Piece);
    Piece* into = reinterpret_cast<Piece*>(to);
    const Piece* out = reinterpret_cast<const Piece*>(from);
    u64 i = lane;
    // Four loads are under way before the first store, which hides most of the latency of a link.
    for (; i + 3ull * lanes < pieces; i += 4ull * lanes) {
        const Piece a = out[i], b = out[i + lanes], c = out[i + 2ull * lanes], d = out[i + 3ull * lanes];
        into[i] = a, into[i + lanes] = b, into[i + 2ull * lanes] = c, into[i + 3ull * lanes] = d;
    }
    for (; i < pieces; i += lanes) into[i] = out[i];
    for (u64 at = pieces * sizeof(Piece) + lane; at < bytes; at += lanes) to[at] = from[at];
}

__device__ inline void copy_bytes(u8* to, const u8* from, u64 bytes, u32 lane, u32 lanes) {
    const u64 low = reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from);
    if (low % 16 == 0) copy_pieces<uint4>(to, from, bytes, lane, lanes);
    else if (low % 8 == 0) copy_pieces<u64>(to, from, bytes, lane, lanes);
    else if (low % 4 == 0) copy_pieces<u32>(to, from, bytes, lane, lanes);
    else copy_pieces<u8>(to, from, bytes, lane, lanes);
}
