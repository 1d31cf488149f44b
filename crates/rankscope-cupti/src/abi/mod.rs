//! What is called and read of CUPTI and of the CUDA driver: numbers, signatures and offsets, written by hand.
//!
//! The one idea is that a record is bytes with fields at known places, so that nothing is read which a record is too short for. The
//! places were compared with those of CUPTI 12.9 and 13.5; tests hold the tables. What is not here: calling anything, and the second
//! version of CUPTI's records, whose fields the caller chooses and whose places only the library knows.

mod callback;
mod kind;
mod record;
mod status;

pub(crate) use callback::{ApiSite, CallbackData, Domain, SubscriberParams};
pub(crate) use kind::{ExternalKind, Kind};
#[doc(hidden)]
pub use record::layouts;
pub(crate) use record::{ApiCall, External, Kernel, KernelInGraph, Memcpy, MemcpyInGraph, MemcpyPeer, MemcpyPeerInGraph};
pub(crate) use record::{Memset, MemsetInGraph, Overhead, RecordKind, Synchronization};
pub use status::Status;
