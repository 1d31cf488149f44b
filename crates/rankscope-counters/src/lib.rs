//! Counters of a node beside its job: what its processors, memory, network, sensors and GPUs did while the ranks worked, as tracks of a
//! recording.
//!
//! ```
//! use rankscope_counters::{Counters, CountersOptions};
//! use rankscope_record::plugins::Registry;
//! use rankscope_record::{Session, SessionOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let counters = Counters::new(CountersOptions::default());
//! let session = Session::start_with(SessionOptions::default(), Registry::new().with(counters))?;
//! // ... work ...
//! session.stop()?;
//! # Ok(())
//! # }
//! ```
//!
//! One thread samples. What a look and a waking cost is measured, and a source that is dear is looked at more rarely: all of the host's
//! together take a thousandth of a core at most, and each GPU half a per cent of one, whatever the rate that was asked for ([`Pace`]). A value is
//! recorded when it changes. What a machine lacks is absent, with a reason ([`Absent`]), and nothing is loaded or opened that was not asked for.
//!
//! What belongs to a node is to be sampled once a node: `rankscope run --counters` starts one process for it ([`record_node`]). A program that records itself takes
//! the counters of its own process, or those of its node where nobody else does ([`Scope`]).
//!
//! What is not here: what counters mean for a job, events of the hardware within kernels, and devices other than NVIDIA's and AMD's.

mod absent;
mod amd;
mod gauge;
mod gpu;
mod host;
mod kept;
mod node;
mod nvml;
mod options;
mod pace;
mod perf;
mod plugin;
mod process;
mod sampler;
mod shares;
mod source;

pub use absent::Absent;
pub use amd::RocmSmiStatus;
pub use node::{NodeError, record_node};
pub use nvml::NvmlStatus;
pub use options::{CountersOptions, Hz, NotAHz, Scope};
pub use pace::Pace;
pub use plugin::Counters;

pub mod guide {
    #![doc = include_str!("../guide/counters.md")]
}
