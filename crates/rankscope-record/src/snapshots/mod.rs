//! Readings of tracers' clocks beside the host's, all through a session.
//!
//! A device's profiler stamps events with a clock of its own. To put them on the host's clock somebody in this process has to
//! read both at once, again and again: [`SnapshotTaker`] does, on one thread, and appends a line a reading to a file. Each
//! reading stands between two of the host's clocks, which bounds its error; of several tries the narrowest is kept. Turning
//! readings into a map of clocks happens where recordings are aligned.

mod device;
mod reader;
mod sandwich;
mod series;
mod taker;

pub use device::{ClockAbsent, NoClock, Tried};
/// Of what a clock tells: in the signature of [`TracerReader::new`].
pub use rankscope_trace::ClockScope;
pub use reader::TracerReader;
pub use sandwich::HostReading;
pub use taker::{SnapshotCounts, SnapshotOptions, SnapshotTaker};
