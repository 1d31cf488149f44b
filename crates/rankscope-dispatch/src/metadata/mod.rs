//! The original's logical metadata, by its names and in its shapes: padded arrays with one row per rank (dispatch spec 2.3 to
//! 2.7).
//!
//! This is the form to compare with, not to compute with: the count matrices alone grow with the square of the ranks.
//! [`LogicalPlan`](crate::plan::LogicalPlan) holds the same facts in space linear in the shards.

mod attention;
mod columns;
mod counts;
mod key_value;
mod query;
mod raw;
mod reverse;

use crate::{Error, Padded};

pub use attention::{AttentionLayout, compute_attn_layout_seqlens, documented_attn_layout_seqlens};
pub use columns::Columns;
pub use key_value::{KeyValueMapping, compute_metadata_kv};
pub use query::compute_metadata;
pub use raw::{QkvDispatch, RawDispatch};

/// Whose numbers to give where the original is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// What is really sent.
    #[default]
    Exact,
    /// What the documented revision prints: key/value tokens counted by the rank of the query instead of their own, no totals
    /// for gradients of keys and values.
    Documented,
}

/// One direction of one tensor over all ranks: where every shard goes, and what every rank receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Rank that each shard is sent to, per rank and slot, or per rank, slot and replica; -1 where it is not.
    pub dst_rank: Padded,
    /// Token at which it begins there; 0 where it is not sent.
    pub dst_offset: Padded,
    /// Tokens of the shard in each slot.
    pub seq_len: Padded,
    /// Tokens that rank d receives from rank r, at (d, r). The last column has the sums, if the revision has any.
    pub num_recv_tokens: Padded,
    /// In the reverse of a replicated tensor: whether the plane of (rank, slot, replica) is ever written.
    pub seq_recv_mask: Option<Padded>,
    /// In the reverse of a replicated tensor: tokens of the shards whose planes come back.
    pub recv_seq_lens: Option<Padded>,
    /// Slots in use on each rank. The original counts shards with tokens, so that a shard without any is left out.
    pub num_seqs: Padded,
    /// Ranks.
    pub world_size: usize,
    /// Tokens that each rank receives.
    pub num_total_recv_tokens: Option<Vec<i64>>,
}

/// What one rank needs of a [`Metadata`]: its rows without padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataSlice {
    /// As in [`Metadata`], slots in use only; replicas of one slot side by side.
    pub dst_rank: Vec<i64>,
    /// As in [`Metadata`], slots in use only.
    pub dst_offset: Vec<i64>,
    /// As in [`Metadata`], slots in use only.
    pub seq_len: Vec<i64>,
    /// The rank's row.
    pub num_recv_tokens: Vec<i64>,
    /// The rank's row, padded as it was.
    pub seq_recv_mask: Option<Vec<i64>>,
    /// The rank's row, padded as it was.
    pub recv_seq_lens: Option<Vec<i64>>,
    /// Tokens that the rank receives.
    pub num_total_recv_tokens: Option<i64>,
}

impl Metadata {
    /// The rows of `rank`, cut to its slots in use. `None` when there is no such rank.
    ///
    /// Slots in use are the first `num_seqs`, as in the original: on a rank with shards without tokens that cuts too much.
    #[must_use]
    pub fn get_slice(&self, rank: usize) -> Option<MetadataSlice> {
        let slots = usize::try_from(*self.num_seqs.values().get(rank)?).ok()?;
        let cut = |tensor: &Padded| {
            let row = tensor.row(rank);
            let per_slot: usize = tensor.shape().iter().skip(2).product();
            row[..(slots * per_slot).min(row.len())].to_vec()
        };
        Some(MetadataSlice {
            dst_rank: cut(&self.dst_rank),
            dst_offset: cut(&self.dst_offset),
            seq_len: cut(&self.seq_len),
            num_recv_tokens: self.num_recv_tokens.row(rank).to_vec(),
            seq_recv_mask: self.seq_recv_mask.as_ref().map(|mask| mask.row(rank).to_vec()),
            recv_seq_lens: self.recv_seq_lens.as_ref().map(|lengths| lengths.row(rank).to_vec()),
            num_total_recv_tokens: self.num_total_recv_tokens.as_ref().map(|totals| totals[rank]),
        })
    }

    /// The same in the narrow types that kernels take.
    ///
    /// # Errors
    /// [`Error::Narrow`] names the first entry that does not fit.
    pub fn normalize_dtype(&self) -> Result<Columns, Error> {
        Columns::new(self)
    }
}
