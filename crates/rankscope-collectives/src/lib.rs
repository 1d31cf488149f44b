//! Collectives: which spans of a trace are one, what they move, and which of them are the same one on other ranks.
//!
//! Two ideas. A collective is found by its kernel (or, on the host, by its backend's annotation) and described by whatever the
//! profiler recorded nearest to it. And one collective on many ranks is matched by communicator and sequence number where
//! those are recorded, else by order and signature under causality: for the kinds in which every rank needs every other, the
//! times that all ranks spend in it overlap on any consistent set of clocks. What finds no counterpart is listed, never guessed.
//!
//! No clock is corrected here and no time is accounted: align and analyze build on this.
//!
//! # Example
//!
//! ```
//! # use std::io::Cursor;
//! # use rankscope_formats::{ReadOptions, read};
//! use rankscope_collectives::{CommPatterns, Kind, extract, match_ranks};
//! use rankscope_time::Rank;
//!
//! # let trace = |start: u32| {
//! #     let json = format!(
//! #         r#"{{"traceEvents": [{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 7,
//! #         "ts": {start}, "dur": {}, "args": {{"device": 0, "stream": 7, "Collective name": "allreduce", "Process Group Name": "0",
//! #         "Group size": 2, "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "Float"}}}}]}}"#,
//! #         500 - start
//! #     );
//! #     read(Cursor::new(json), &ReadOptions::default()).unwrap().remove(0).trace.unwrap()
//! # };
//! // Each trace holds one all-reduce; rank 1 comes 300 us after rank 0.
//! let traces = [trace(100), trace(400)];
//! let patterns = CommPatterns::default();
//! let ranks: Vec<_> = (0..).map(Rank).zip(&traces).map(|(rank, trace)| extract(rank, trace, &patterns)).collect();
//! assert_eq!(ranks[0].collectives.stay(0).kind, Kind::AllReduce);
//!
//! let matched = match_ranks(&ranks);
//! assert_eq!(matched.instances.len(), 1);
//! assert_eq!(matched.instances[0].members.len(), 2);
//! ```

mod collectives;
mod column;
mod dtype;
mod expert;
mod extract;
mod group;
mod hints;
mod in_lanes;
mod joining;
mod kind;
mod local;
mod matching;
mod members;
mod offsets;
mod parallelism;
mod pattern;
mod places;
mod search;
mod sequence;
mod splits;
mod stay;
mod vote;

pub use collectives::{Collectives, StayColumns};
pub use column::Column;
pub use dtype::element_bytes;
pub use expert::{ExpertKernel, ExpertOp, Reach};
pub use extract::extract;
pub use group::Group;
pub use hints::Hints;
pub use kind::Kind;
pub use local::{LocalCollective, Operation, Sequence};
pub use matching::{Instance, Matched, RankCollectives, Step, match_nothing, match_ranks, match_with};
pub use members::{Member, Members, Stretch};
pub use parallelism::Parallelism;
pub use pattern::{CommPatterns, PatternError};
pub use places::Places;
pub use splits::Splits;
pub use stay::CollectiveStay;
