// Unpack: receive buffer -> rows of tensors.
//
// Protocol: runs after `wait_for` in the same stream. The thread of `wait_for` that saw a peer's signal acquired everything that peer
// had stored, and the end of a kernel orders all of that before the next kernel of the stream. A rank that waited in vain
// unpacks nothing, so its tensors never hold half of an exchange. Several runs may read the same bytes (copies that were sent
// once); no two write the same row.

#include "copy.cuh"
#include "rows.cuh"

extern "C" __global__ void unpack(const RowRun* runs, u64 count, u64 rows, const u64* halted) {
    if (*halted != 0) return;
    for (u64 row = warp_index(); row < rows; row += warp_count()) {
        const RowRun& run = run_of(runs, count, row);
        const u64 i = row - run.first;
        u8* to = reinterpret_cast<u8*>(run.tensor) + i * run.row_bytes;
        const u8* from = reinterpret_cast<const u8*>(run.buffer) + i * run.wire_row_bytes;
        copy_bytes(to, from, run.row_bytes, lane_index(), LANES);
    }
}
