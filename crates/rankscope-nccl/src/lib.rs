//! The profiler plugin of NCCL and RCCL: `librankscope_nccl.so`, which these load when `NCCL_PROFILER_PLUGIN` names it.
//!
//! ```text
//!  NCCL's threads ──► tables (v1..v7) ──► translate ──► process ──► ring, always   (a file that survives a kill)
//!                                                                      │
//!                                              keeper's thread ──► compose ──► write ──► raw/nccl-<rank>-<pid>.rkr
//!                                                       └────────► told ──► live/rank-<rank>.page
//! ```
//!
//! A callback stamps, writes 32 bytes and returns: no lock, no allocation, no error, no panic. What the records mean is found out by a
//! thread of ours (`compose`), and written in the recorder's own format (`write`), so that everything that reads recordings reads
//! these. The library is loaded into somebody else's job: it may be closed and opened again, forked, called with handles of another
//! process, and killed, and never harms the job.
//!
//! What is not here: matching ranks, clocks, reports; and NCCL itself, of which nothing is needed to build or test this.

mod chain;
mod comms;
mod compose;
mod edge;
mod event;
mod exit;
mod forks;
mod handles;
mod keeper;
pub mod layout;
mod library;
mod mapping;
mod mask;
mod place;
mod process;
mod record;
mod ring;
mod tables;
mod test_host;
mod told;
mod translate;
mod wall;
mod words;
mod write;

pub use tables::{
    ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4, ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7,
};

/// Tells the job's log why something is not recorded.
#[expect(clippy::print_stderr, reason = "a job that is not recorded must be able to learn why")]
fn say(what: &str) {
    eprintln!("rankscope: {what}");
}
