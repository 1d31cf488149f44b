//! Perfetto's protobuf trace, `.pftrace`: many ranks out, and any such file in.
//!
//! # Layout
//!
//! A file is a list of packets, each with the number of the *sequence* it belongs to. Tracks are announced by descriptor
//! packets: a process, a thread of one, a counter, or a plain row under either. Events are packets with a time and the number
//! of their track: begin and end of a span, instants, counter values. What repeats within a sequence is said once: names,
//! categories and argument keys are *interned* and then go by number, the track and the clock have defaults, and a clock may
//! count from the packet before.
//!
//! # What we write
//!
//! Each rank is one row, `rank 03 (node7)`, with everything of it below: counters, `device 0 stream 7`, threads. Only rows that
//! are no process of the system can be nested and ordered at will, so the file describes no processes; the user interface would
//! order those by how many events they have. The row of a rank is itself a counter, how busy the rank is, which is what can be
//! seen of it before it is opened. Rows at the top are ordered by name, so ranks have as many digits as the highest one. A
//! span that overlaps another without nesting goes to a further lane, `stream 7 (2)`, so nothing is dropped. Times are
//! nanoseconds since the Unix epoch on the job's one clock, and the file says so: its clock (boot time, Perfetto's default) is
//! tied to real time at the same value. Picoseconds are lost, and times before 1970 stand at its start.
//!
//! A description on each track, JSON under the key `rankscope`, keeps what Perfetto has no word for, so that a file of ours
//! reads back as it was. Rows of ours without one hold asynchronous spans, which the recorder streams out one row each. Source:
//! the `.proto` files of the Perfetto project, and its trace processor as the judge.

mod arrows;
mod derived;
mod encode;
pub(crate) mod interning;
mod lanes;
mod layout;
mod memory;
pub(crate) mod note;
pub(crate) mod opening;
mod plan;
mod read;
pub(crate) mod schema;
mod summary;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use memory::counter_name as memory_counter;
pub use read::{read, read_all};
pub use writer::{RankView, SpanOfRank, Tally, Timeline, write};
