//! The original's functions a second time, written from their definitions to be compared with: what stands at an entry is said
//! of that entry, by sums over what precedes it. Slow, and sharing nothing with [`crate::metadata`] and [`crate::alltoall`] but
//! the types of their answers.
//!
//! Inputs are not checked here: whoever asks has had them taken by the function that the rule is for. Inputs that no function
//! takes give some answer, or an error about its size.

mod bytes;
mod logical;

pub use bytes::{compute_e2e_fa2a_metadata, from_planner_output};
pub use logical::{compute_attn_layout_seqlens, compute_metadata, compute_metadata_kv, raw_dispatch, whole};
