//! From traces to tables: where the time went, what collectives cost, who was late.
//!
//! All times are integer nanoseconds and all sums come out exactly: the classes of a rank's time add up to its total, and the
//! exposed time of its collectives adds up to the rank's exposed communication. What cannot be known is absent, not zero.
//!
//! A rank by itself is accounted on its own clock ([`RankReport`]); what is between ranks is found on the job's ([`analyze`]).
//! Pure computation: traces and clock maps come in, values go out. Nothing here draws.
//!
//! # Example
//!
//! ```
//! # use std::io::Cursor;
//! # use rankscope_formats::{ReadOptions, read};
//! use rankscope_analyze::{Classes, JobInput, RankReport, analyze};
//! use rankscope_collectives::{CommPatterns, extract, match_ranks};
//! use rankscope_time::{ClockMap, Rank};
//!
//! # let json = r#"{"traceEvents": [
//! #     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 0, "dur": 60, "args": {"device": 0, "stream": 7}},
//! #     {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 8, "ts": 40, "dur": 50,
//! #      "args": {"device": 0, "stream": 8}}
//! # ]}"#;
//! # let trace = read(Cursor::new(json), &ReadOptions::default()).unwrap().remove(0).trace.unwrap();
//! // A trace with a kernel from 0 to 60 us and an all-reduce from 40 to 90 us.
//! let collectives = [extract(Rank(0), &trace, &CommPatterns::default())];
//! let report = RankReport::of(&trace, &collectives[0], &Classes::default());
//! let matched = match_ranks(&collectives);
//! let (reports, maps) = ([&report], [&ClockMap::identity()]);
//! let job = analyze(JobInput {
//!     reports: &reports,
//!     maps: &maps,
//!     collectives: &collectives,
//!     matched: &matched,
//!     open_ns: 0,
//!     comparable: true,
//! });
//!
//! let account = job.ranks[0].whole;
//! assert_eq!(account.total_ns, 90_000);
//! assert_eq!(account.computation_ns, 60_000);
//! assert_eq!(account.exposed_comm_ns, 30_000);
//! assert_eq!(account.idle_ns, 0);
//! ```

mod account;
mod arrivals;
mod classes;
mod exposed;
mod exposed_times;
mod findings;
mod flips;
mod hot;
mod intervals;
mod job;
mod lateness;
mod lineup;
mod order;
mod packed;
mod placed;
mod radix;
mod rank;
pub mod spans;
mod steps;
mod table;
mod windows;

pub use account::{Account, Accounting, Copied, Copies};
pub use arrivals::{Arrival, Map, RankArrivals, Waiting};
pub use classes::{Class, ClassMode, Classes, Direction, Side, Work};
pub use exposed_times::ExposedTimes;
pub use findings::Finding;
pub use flips::{Flip, Ranking};
pub use hot::HotName;
pub use intervals::{Intervals, WindowCursor};
pub use job::{Job, JobInput, analyze};
pub use lateness::{Because, Confidence, Late, Unnamed, Verdict};
pub use lineup::Lineup;
pub use order::Order;
pub use placed::PlacedRank;
pub use rank::RankReport;
pub use steps::{StepSource, StepWindow, windows as step_windows};
pub use table::{CollectiveRow, CollectiveTable, Lacking, described, group_name, ranks_of};
pub use windows::{Cover, WindowKind, Windows};
