//! What is called and read of CUPTI and of the CUDA driver: numbers, signatures and offsets, written by hand.
//!
//! The one idea is that a record is bytes with fields at known places, so that nothing is read which a record is too short for. The
//! places were compared with those of CUPTI 12.9 and 13.5; tests hold the tables. Of the second version of records, whose fields the
//! caller chooses and whose places only the library knows, the numbers of fields are here. What is not here: calling anything.

mod callback;
mod kind;
mod record;
mod second;
mod status;

pub(crate) use callback::{ApiSite, CallbackData, Domain};
pub(crate) use kind::{ExternalKind, Kind};
pub(crate) use record::{ApiCall, External, Kernel, KernelInGraph, Memcpy, MemcpyInGraph, MemcpyPeer, MemcpyPeerInGraph};
pub(crate) use record::{Memory, MemoryFromPool, Memset, MemsetInGraph, Overhead, Record, Synchronization, chosen_fields};
#[doc(hidden)]
pub use record::{field_ids, layouts};
pub(crate) use second::{
    ActivityConfig, ApiCallChoice, ApiOptions, Attribute, CompleteInfo, FieldLayout, FieldSelection, RecordLayout,
    SubscriberParams,
};
pub use status::Status;
