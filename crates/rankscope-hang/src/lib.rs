//! Why a distributed job stands still: who waits for whom, across process groups.
//!
//! Torch's flight recorder keeps the last calls of each rank to its communication libraries. [`Dump::read`] reads what one rank
//! dumped, a pickle or JSON; [`Evidence`] gathers the ranks; [`Evidence::verdict`] follows what each rank is stuck in to the ranks
//! that did not come, and on to what those are stuck in, until somebody waits for nobody.
//!
//! Where no dump was left, the live pages of ranks are judged in the same way ([`FoundPages`]), once nothing has moved for a while.
//!
//! Other witnesses make an answer more or less sure: [`RasAnswer`] is what NCCL's own service says, [`Observed`]
//! what a process was seen doing.
//!
//! A rank is named only where the dumps show it: what no rank recorded is said to be unknown. Times in dumps are those of a
//! watchdog that looked now and then, so nobody is called late here. Pure: no path is opened.
//!
//! ```
//! use rankscope_hang::{Dump, Evidence};
//!
//! let dump = |last: u32| {
//!     let calls: Vec<String> = (1..=last)
//!         .map(|number| {
//!             format!(
//!                 r#"{{"process_group": ["0", "default_pg"], "collective_seq_id": {number}, "profiling_name": "nccl:all_reduce",
//!                     "time_created_ns": {number}, "state": "{}"}}"#,
//!                 if number < 7 { "completed" } else { "started" }
//!             )
//!         })
//!         .collect();
//!     format!(r#"{{"version": "2.10", "pg_config": {{"0": {{"ranks": "[0, 1]"}}}}, "entries": [{}]}}"#, calls.join(","))
//! };
//! let mut evidence = Evidence::default();
//! evidence.add(0, "rank_0", Dump::read(dump(7).as_bytes())?);
//! evidence.add(1, "rank_1", Dump::read(dump(6).as_bytes())?);
//! let verdict = evidence.verdict("dumps").verdict;
//! assert_eq!((verdict.kind.as_str(), verdict.roots[0].rank), ("missing", 1));
//! # Ok::<(), rankscope_hang::Error>(())
//! ```

mod call;
mod differ;
mod dump;
mod error;
mod evidence;
mod graph;
mod judge;
mod name;
mod page;
mod pages;
mod phases;
mod pickled;
mod progress;
mod ras;
mod raw;
mod stack;
mod told;
mod verdict;
mod waits;
mod witness;
mod words;

pub use dump::Dump;
pub use error::Error;
pub use evidence::Evidence;
pub use name::rank_of_file;
pub use pages::{FoundPage, FoundPages};
pub use ras::{RasAnswer, RasError, RasEvent, RasEventKind};
pub use stack::{Observed, ProcessState};
pub use waits::active_waits;
