//! XSpace, the protobuf XLA's profilers write: `.xplane.pb` of JAX, TensorFlow and PyTorch/XLA.
//!
//! ```text
//! XSpace     planes 1, errors 2, warnings 3, hostnames 4
//! XPlane     id 1, name 2, lines 3, event_metadata 4 (map), stat_metadata 5 (map), stats 6
//! XLine      id 1, name 2, timestamp_ns 3, events 4, duration_ps 9, display_id 10, display_name 11
//! XEvent     metadata_id 1, offset_ps 2 or num_occurrences 5, duration_ps 3, stats 4
//! XStat      metadata_id 1, then one of double 2, uint64 3, int64 4, str 5, bytes 6, ref 7
//! XEventMetadata  id 1, name 2, metadata 3, display_name 4, stats 5, child_id 6
//! XStatMetadata   id 1, name 2, description 3
//! ```
//! A plane is a host or a device, a line one of its threads or streams. An event's name is an id into the plane's event
//! metadata, a statistic's name one into the plane's stat metadata, and a `ref` value is a name out of that same table. Both
//! tables come *after* the lines, and the time all lines count from, `profile_start_time`, in a plane after all others.
//!
//! | XSpace | trace |
//! |---|---|
//! | plane | track: process, or device with its number; its statistics are the track's arguments |
//! | line | track: thread or stream; `display_name` is the label, `display_id` the sort index |
//! | event | span, also with no length; an aggregate has category `aggregate` and its line's stamp |
//! | event metadata | the span's name, and a description |
//! | `correlation_id`, `step_num`, `memcpy_details` | correlations, steps, bytes |
//! | `flow`, `_pt` and `_p`, `_ct` and `_c`, `correlation_id` of one launch and its work | flows |
//! | `hlo_op` naming a collective | collectives |
//! | `instant_scope` (ours); the line `_counters_` of ours | instant; counter samples |
//! | plane `/host:snapshots` | clocks of tracers, in the provenance |
//! | plane `/rankscope:clock` (ours) | readings of the host's clocks, in the provenance |
//!
//! Reading holds one plane's events in columns and one message in a buffer, so the protobuf limit of 2 GB does not apply. What
//! is kept with [`crate::ArgsPolicy::All`] is all of it: written again, JAX's own reader finds the same planes, lines, events
//! and statistics in the same order. It is not the same bytes: unused names go, and ids of statistics are given anew.

mod classify;
mod collective;
mod cursor;
mod flow;
mod hlo;
mod host_clocks;
mod layout;
mod names;
mod plane;
mod reader;
mod schema;
mod settle;
mod snapshots;
mod space;
mod stats;
#[cfg(test)]
mod tests;
mod verdict;
mod writer;

pub(crate) use flow::losses as flow_losses;
pub use names::PlaneNames;
pub use reader::read;
pub use space::Space;
pub use writer::write;
