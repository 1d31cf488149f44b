//! Clocks and networks in simulated time, with the truth known exactly.
//!
//! [`SimClock`] is wrong in a known way; [`Job`] probes between such clocks through queues and faults and hands out windows as
//! agents would; [`Scores`] solves them and says how far off the answer is. All of it is a function of a seed.

mod accuracy;
mod clock;
mod histogram;
mod job;
mod outcome;
mod path;
mod text;

pub use accuracy::{Accuracy, Quantiles, Scores};
pub use clock::SimClock;
pub use job::{Job, JobOptions};
pub use outcome::{Max, P50, Simulated, Spread};
pub use text::ClockTextError;
