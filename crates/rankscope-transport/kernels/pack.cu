// Pack: rows of tensors -> send buffer.
//
// Protocol: none. Each row has one warp, each byte of the buffer that a message carries has one writer, padding included, so
// that two runs of a plan send the same bytes. The buffer is read by `put`, a later kernel of the same stream, and the
// previous `put` has ended before this one begins: the stream is the only order needed.

#include "copy.cuh"
#include "rows.cuh"

extern "C" __global__ void pack(const RowRun* runs, u64 count, u64 rows) {
    for (u64 row = warp_index(); row < rows; row += warp_count()) {
        const RowRun& run = run_of(runs, count, row);
        const u64 i = row - run.first;
        const u8* from = reinterpret_cast<const u8*>(run.tensor) + i * run.row_bytes;
        u8* to = reinterpret_cast<u8*>(run.buffer) + i * run.wire_row_bytes;
        copy_bytes(to, from, run.row_bytes, lane_index(), LANES);
        for (u64 at = run.row_bytes + lane_index(); at < run.wire_row_bytes; at += LANES) to[at] = 0;
    }
}
