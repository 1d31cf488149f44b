//! A batch as the original's eight input arrays, and the five objects that follow from them.

use super::attention::{AttentionLayout, compute_attn_layout_seqlens};
use super::key_value::{KeyValueMapping, compute_metadata_kv};
use super::query::compute_metadata;
use super::{Compat, Metadata};
use crate::draw::Drawn;
use crate::{Batch, Error, Padded};

/// The input arrays, padded: W ranks, P slots, C replicas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawDispatch {
    /// W x P: tokens of each shard.
    pub shard_len: Padded,
    /// W: shards of each rank.
    pub num_shards: Padded,
    /// W x P: the rank of each shard's attention.
    pub q_dispatch: Padded,
    /// W x P x C x 2: rank and slot of the query that copy c of each shard's keys and values serves.
    pub kv_to_q_mapping: Padded,
    /// W x P x C: position of the shard in its document.
    pub kv_to_q_rank: Padded,
    /// W x P: tokens of the document before the shard.
    pub kv_context_size: Padded,
    /// W x P: shards that the query needs.
    pub q_to_num_kv_seq: Padded,
    /// W x P: tokens that the query needs.
    pub q_to_num_kv_token: Padded,
}

/// Everything that follows from a dispatch: queries and keys with values, out and back, and the layout of the tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QkvDispatch {
    /// Queries to their attention.
    pub fwd_q: Metadata,
    /// Gradients of queries, or outputs, back.
    pub rev_q: Metadata,
    /// Keys, or values, to every query that needs them.
    pub fwd_kv: Metadata,
    /// Their gradients back, each copy to its own plane.
    pub rev_kv: Metadata,
    /// Tasks of each rank.
    pub attention: AttentionLayout,
}

impl RawDispatch {
    /// The arrays of `batch` with room for `replicas` copies. Copy c of shard k serves shard k + c of the same document; the
    /// shards of a document may live on different ranks.
    ///
    /// # Errors
    /// [`Error::Sequence`] when a document has more shards than there are replicas, [`Error::TooLarge`].
    pub fn new(batch: &Batch, replicas: usize) -> Result<Self, Error> {
        let ranks = batch.world_size() as usize;
        let mut num_shards = vec![0_i64; ranks];
        // The slot of each shard on its rank, in the order of the batch.
        let mut slots = Vec::with_capacity(batch.shards().len());
        for shard in batch.shards() {
            let next = &mut num_shards[shard.linear.0 as usize];
            slots.push(*next as usize);
            *next += 1;
        }
        let width = num_shards.iter().copied().max().unwrap_or(0) as usize;
        let table = |value| Padded::filled(&[ranks, width], value);
        let mut raw = Self {
            shard_len: table(0)?,
            num_shards: Padded::flat(num_shards),
            q_dispatch: table(-1)?,
            kv_to_q_mapping: Padded::filled(&[ranks, width, replicas, 2], -1)?,
            kv_to_q_rank: Padded::filled(&[ranks, width, replicas], -1)?,
            kv_context_size: table(0)?,
            q_to_num_kv_seq: table(0)?,
            q_to_num_kv_token: table(0)?,
        };
        let mut slots = slots.as_slice();
        for (sequence, document) in batch.documents().enumerate() {
            let (here, rest) = slots.split_at(document.len());
            slots = rest;
            if document.len() > replicas {
                let problem = format!("{} shards where there is room for {replicas} copies", document.len());
                return Err(Error::Sequence { rank: document[0].linear.0 as usize, sequence, problem });
            }
            let mut context = 0_i64;
            for (k, shard) in document.iter().enumerate() {
                let (tokens, at) = (i64::from(shard.tokens), shard.linear.0 as usize * width + here[k]);
                raw.shard_len.values_mut()[at] = tokens;
                raw.q_dispatch.values_mut()[at] = i64::from(shard.attention.0);
                raw.kv_context_size.values_mut()[at] = context;
                context += tokens;
                raw.q_to_num_kv_seq.values_mut()[at] = k as i64 + 1;
                raw.q_to_num_kv_token.values_mut()[at] = context;
                for (copy, query) in (k..document.len()).enumerate() {
                    let at = at * replicas + copy;
                    raw.kv_to_q_rank.values_mut()[at] = k as i64;
                    raw.kv_to_q_mapping.values_mut()[2 * at] = i64::from(document[query].linear.0);
                    raw.kv_to_q_mapping.values_mut()[2 * at + 1] = here[query] as i64;
                }
            }
        }
        Ok(raw)
    }

    /// Everything that follows.
    ///
    /// # Errors
    /// Those of [`compute_metadata`] and [`compute_metadata_kv`].
    pub fn metadata(&self, compat: Compat) -> Result<QkvDispatch, Error> {
        let (fwd_q, rev_q) = compute_metadata(&self.shard_len, &self.q_dispatch)?;
        let (fwd_kv, rev_kv) = compute_metadata_kv(&self.key_value_mapping(), compat)?;
        let attention = compute_attn_layout_seqlens(&self.shard_len, &self.q_to_num_kv_token, &self.q_dispatch)?;
        Ok(QkvDispatch { fwd_q, rev_q, fwd_kv, rev_kv, attention })
    }

    /// The arguments of [`compute_metadata_kv`].
    #[must_use]
    pub fn key_value_mapping(&self) -> KeyValueMapping<'_> {
        KeyValueMapping {
            kv_to_q_mapping: &self.kv_to_q_mapping,
            kv_to_q_rank: &self.kv_to_q_rank,
            kv_context_size: &self.kv_context_size,
            q_to_num_kv_seq: &self.q_to_num_kv_seq,
            q_to_num_kv_token: &self.q_to_num_kv_token,
            seq_len: &self.shard_len,
            num_seqs: &self.num_shards,
            q_dispatch: &self.q_dispatch,
        }
    }
}

impl Drawn {
    /// The original's input arrays of this dispatch.
    ///
    /// # Errors
    /// Those of [`RawDispatch::new`].
    pub fn raw(&self) -> Result<RawDispatch, Error> {
        RawDispatch::new(&self.batch, self.max_cp_degree as usize)
    }
}
