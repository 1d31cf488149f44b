//! From traces on one clock to tables: where the time went, what collectives cost, who was late.
//!
//! All times are integer nanoseconds and all sums come out exactly: the classes of a rank's time add up to its total, and the
//! exposed time of its collectives adds up to the rank's exposed communication. What cannot be known is absent, not zero.
//!
//! Pure computation: traces and clock maps come in, values go out. Nothing here draws.

mod account;
mod arrivals;
mod classes;
mod exposed;
mod findings;
mod flips;
mod hot;
mod intervals;
mod job;
mod lateness;
pub mod spans;
mod steps;
mod table;
mod windows;

pub use account::{Account, Accounting, Copied, Copies};
pub use arrivals::{Arrival, RankArrivals, Waiting};
pub use classes::{Class, ClassMode, Classes, Direction, Side, Work};
pub use findings::Finding;
pub use flips::{Flip, Ranking};
pub use hot::HotName;
pub use intervals::Intervals;
pub use job::{Job, JobInput, RankInput, RankReport, analyze};
pub use lateness::{Because, Confidence, Late, Unnamed, Verdict};
pub use steps::{StepSource, StepWindow};
pub use table::{CollectiveRow, CollectiveTable, Lacking};
pub use windows::{WindowKind, Windows};
