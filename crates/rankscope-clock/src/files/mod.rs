//! The files of clock synchronisation, as text: windows of each node, offsets of all nodes, snapshots of tracers' clocks, one
//! JSON object a line.
//!
//! Names of fields are the origin's (`probe_windows_node<ID>.jsonl`, `round_offsets.jsonl`), so that its tools read ours and we
//! read its files; what it had no field for is added under names of our own, and unknown names are passed over. Skews stay
//! fractional (`alpha` is about 1e-6, never 1.000001), offsets whole nanoseconds.
//!
//! A line that cannot be read is listed and passed over: a file cut short by kill -9 is worth all its other lines. Nothing
//! here opens a file.

mod alpha_beta;
mod events;
mod lines;
mod nanos;
mod offsets;
mod origin;
mod parts;
mod snapshots;
mod windows;
mod witness;

pub use alpha_beta::AlphaBeta;
pub use lines::{Damage, DamagedLine};
pub use offsets::{
    NodeOrigin, OffsetRow, OffsetsFile, OffsetsHeader, encode_offset, encode_offsets_header, read_offsets, solutions,
};
pub use snapshots::{REALTIME, SnapshotSeries, SnapshotsFile, encode_snapshot, encode_witness, read_snapshots};
pub use windows::{WindowsFile, WindowsHeader, encode_window, encode_windows_header, node_of_name, read_windows};
pub use witness::{ClockIdentity, NoWitness, Witness};

/// The version of the files that this writes. Files without one are the origin's.
pub const SCHEMA: u32 = 1;
