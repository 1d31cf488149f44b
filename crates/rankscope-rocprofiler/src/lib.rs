//! Device work of AMD's GPUs in a program's own recording, through rocprofiler-sdk: kernels and copies, the calls of the HIP runtime that
//! launched them, the spans that these were made in, and memory that was allocated and freed.
//!
//! ```
//! use rankscope_record::plugins::Registry;
//! use rankscope_record::{Session, SessionOptions, record_function};
//! use rankscope_rocprofiler::Rocprofiler;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rocprofiler = Rocprofiler::default();
//! let state = rocprofiler.state();
//! let session = Session::start_with(SessionOptions::default(), Registry::new().with(rocprofiler))?;
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
//!  configured before HIP is up ──► Tool: contexts, a buffer, services
//!  program ──► span is open ──► launch ──► external: which span? ──► rocprofiler
//!                                                                     │ hands over its buffer
//!  report ◄── join, when it is read ◄── recording ◄── decode ◄── copied into buffers of the pool
//! ```
//!
//! Nothing of ROCm is needed to build this, and a machine without it is as good as one with it: the kernel's driver is looked for, then
//! rocprofiler, and where one is missing the session runs as without the plugin and says why ([`Absent`]). rocprofiler lets itself be
//! configured only before the first runtime is up: by the session, if that begins first, or by this crate's other form,
//! `librankscope_rocprofiler.so`, which ROCm loads where `ROCP_TOOL_LIBRARIES` names it.
//!
//! What is not here: counters and samples of the hardware, sizes of scratch memory, nodes of graphs (rocprofiler tells which graph was
//! launched, and of no kernel which node it is), demangled names, and versions other than 1.x.

pub mod abi;
mod absent;
mod agents;
mod counts;
mod decode;
mod edge;
mod entry;
mod hub;
mod join;
mod library;
mod names;
mod options;
mod packed;
mod places;
mod probe;
mod running;
mod source;
mod streams;
mod tool;
mod words;
mod worker;

pub use absent::Absent;
pub use counts::Counts;
pub use entry::{rankscope_rocprofiler_tool, rocprofiler_configure};
pub use join::join_run;
pub use options::RocprofilerOptions;
pub use rankscope_devices::{ApiCalls, Tried};
pub use source::Rocprofiler;

/// How it goes with a [`Rocprofiler`], to be looked at from anywhere and at any time.
pub type RocprofilerState = rankscope_devices::SourceState<Absent, Counts>;

pub mod guide {
    #![doc = include_str!("../guide/rocm.md")]
}
