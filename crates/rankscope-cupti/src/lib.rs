//! Device work of NVIDIA's GPUs in a program's own recording, through CUPTI: kernels, copies and fills on their streams, the calls that
//! launched them, and the spans that these were made in.
//!
//! ```
//! use rankscope_cupti::Cupti;
//! use rankscope_record::plugins::Registry;
//! use rankscope_record::{Session, SessionOptions, record_function};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cupti = Cupti::default();
//! let state = cupti.state();
//! let session = Session::start_with(SessionOptions::default(), Registry::new().with(cupti))?;
//! {
//!     let _span = record_function!("forward");
//!     // ... launch kernels, and wait for them before the session ends ...
//! }
//! let stopped = session.stop()?;
//! match state.absent() {
//!     Some(why) => println!("no device work: {why}"), // a machine without a GPU, say
//!     None => println!("{} records", state.counts().map_or(0, |counts| counts.records)),
//! }
//! # drop(stopped);
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!  program ──► span is open ──► launch ──► call_told: which span? ──► CUPTI
//!                                                                      │ fills buffers of the pool
//!  report ◄── join, when it is read ◄── recording ◄── decode, one thread ◄┘
//! ```
//!
//! Nothing of CUDA is needed to build this, and a machine without it is as good as one with it: the driver is looked for, then CUPTI, and
//! where one is missing the session runs as without the plugin and says why ([`Absent`]). What CUPTI calls does no more than take a
//! buffer, give one back, or name a span.
//!
//! What is not here: counters and samples of the hardware, devices of others, and forcing the program to wait for its device. What was decoded is in the recording at once, so a process that is killed leaves the work of its devices, but
//! for that of its last second ([`CuptiOptions::flush_every`]).

pub mod abi;
mod absent;
mod calls;
mod counts;
mod decode;
mod driver;
mod edge;
mod hub;
mod join;
mod kinds;
mod layout;
mod library;
mod options;
mod places;
mod probe;
mod running;
mod second;
mod source;
mod spare;
mod visible;
mod words;
mod worker;

pub use absent::Absent;
pub use counts::{Counts, Overheads};
pub use join::join_run;
pub use options::{CuptiOptions, Records};
pub use rankscope_devices::{ApiCalls, Tried};
pub use source::Cupti;

/// How it goes with a [`Cupti`], to be looked at from anywhere and at any time.
pub type CuptiState = rankscope_devices::SourceState<Absent, Counts>;

pub mod guide {
    #![doc = include_str!("../guide/cuda.md")]
}
