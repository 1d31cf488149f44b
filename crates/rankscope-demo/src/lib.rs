//! A distributed job on this machine, on clocks that are wrong in a known way, and how far what is measured of it is from the truth.
//!
//! The one idea: ranks and clock agents are processes of their own, on the real recorder, the real network stack and real time;
//! only the hosts' clocks are skewed, by the process that starts them, which therefore knows the truth. How the run is read and
//! reported is not decided here: a [`Product`] does it as it does for every other job, and is judged.
//!
//! [`run`] plays all of it; [`train`] is what each rank's process does.

mod agent_settings;
mod clocks;
mod comm;
mod document;
mod error;
mod fleet;
mod folder;
mod hosts;
mod job;
mod plan;
mod product;
mod random;
mod rank;
mod ring;
mod run;
mod slow;
mod task;
mod truth;
mod verdict;
mod work;

pub use document::{DemoDocument, EventErrors, RankClock, Straggler, Violations};
pub use error::{BoxedError, Error};
pub use hosts::Host;
pub use product::{AlignedJob, AlignedRank, CollectiveSpan, Product};
pub use rank::{Trained, train};
pub use run::{Request, run};
pub use slow::{Because, UnknownCause};
pub use task::RankTask;
