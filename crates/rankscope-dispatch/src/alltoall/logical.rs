//! `compute_e2e_fa2a_metadata`: from the original's logical arrays to bytes. Every query has keys and values of its own, so a
//! shard that two queries need on one rank is sent there twice, once per replica.
//!
//! Rows are as wide as their elements, except outputs: they carry the log-sum-exp columns and are padded to 16 bytes.

use super::layout::{Layout, Move, Moves, SendSlots};
use super::{FastAllToAll, LogicalShape, SeqLens};
use crate::metadata::{AttentionLayout, Compat, RawDispatch};
use crate::{Error, Rows};

/// What the original returns of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalOutput {
    /// Tasks of every rank.
    pub fa_params: AttentionLayout,
    /// Queries, keys and values to their attention.
    pub qkv_fwd: FastAllToAll,
    /// Their gradients back.
    pub qkv_bwd: FastAllToAll,
    /// Outputs back.
    pub attn_out_fwd: FastAllToAll,
    /// Gradients of the outputs to where the attention was computed.
    pub attn_out_bwd: FastAllToAll,
}

/// A backward pass that is sent everything again, to destinations of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalResend {
    /// Tasks of every rank in the backward pass.
    pub fa_params: AttentionLayout,
    /// Query, output, output gradient and log-sum-exp in one row, with keys and values.
    pub attn_out_qkv_bwd: FastAllToAll,
    /// Gradients of queries, keys and values back.
    pub qkv_bwd: FastAllToAll,
}

/// Metadata of a step from its logical arrays.
///
/// # Errors
/// Those of [`RawDispatch::metadata`], and [`Error::Overflow`].
pub fn compute_e2e_fa2a_metadata(raw: &RawDispatch, rows: &Rows) -> Result<LogicalOutput, Error> {
    let fa_params = raw.metadata(Compat::Exact)?.attention;
    let walk = Walk::new(raw)?;
    let (q, lse) = (u64::from(rows.hidden_q), u64::from(rows.lse));
    let qkv_fwd = walk.query_key_value(q, rows)?;
    let attn_out_bwd = walk.outputs(q + lse, rows)?;
    Ok(LogicalOutput { fa_params, qkv_bwd: qkv_fwd.reversed(), qkv_fwd, attn_out_fwd: attn_out_bwd.reversed(), attn_out_bwd })
}

/// Metadata of a backward pass that keeps nothing of the forward one; `raw` has the destinations of the backward pass.
///
/// # Errors
/// Those of [`compute_e2e_fa2a_metadata`].
pub fn compute_backward_resend_e2e_metadata(raw: &RawDispatch, rows: &Rows) -> Result<LogicalResend, Error> {
    let fa_params = raw.metadata(Compat::Exact)?.attention;
    let walk = Walk::new(raw)?;
    let (q, lse) = (u64::from(rows.hidden_q), u64::from(rows.lse));
    let merged = padded_elements(3 * q + lse, rows)?;
    Ok(LogicalResend {
        fa_params,
        attn_out_qkv_bwd: walk.query_key_value(merged, rows)?,
        qkv_bwd: walk.query_key_value(q, rows)?.reversed(),
    })
}

/// What one pass over the arrays finds.
struct Walk {
    world_size: usize,
    /// Slots of a rank in the padded arrays.
    slots: usize,
    queries: Moves,
    keys: Moves,
    query_lens: SeqLens,
    key_lens: SeqLens,
    kv_replica_mask: Vec<Vec<Vec<u8>>>,
}

impl Walk {
    fn new(raw: &RawDispatch) -> Result<Self, Error> {
        let (ranks, slots) = (raw.q_dispatch.shape()[0], raw.q_dispatch.width());
        let used = used(raw, slots)?;
        let tokens = |rank: usize, slot: usize| raw.shard_len.row(rank)[slot] as u64;
        let destination = |rank: usize, slot: usize| usize::try_from(raw.q_dispatch.row(rank)[slot]).ok();
        let lens = SeqLens {
            send: (0..ranks).map(|rank| (0..used[rank]).map(|slot| tokens(rank, slot)).collect()).collect(),
            recv: vec![Vec::new(); ranks],
        };
        let (mut query_lens, mut key_lens) = (lens.clone(), lens);
        let (mut queries, mut keys) = (Vec::new(), Vec::new());

        // Where the keys of each query begin at its destination.
        let mut first_key = vec![vec![0; slots]; ranks];
        for (rank, first_key) in first_key.iter_mut().enumerate() {
            for (slot, first_key) in first_key.iter_mut().enumerate() {
                let Some(to) = destination(rank, slot) else { continue };
                let (to_slot, tokens) = (query_lens.recv[to].len(), tokens(rank, slot));
                queries.push(Move { from: rank, replica: 0, slot, to, to_slot, tokens, copy_of: None });
                query_lens.recv[to].push(tokens);
                *first_key = key_lens.recv[to].len();
                key_lens.recv[to].resize(*first_key + raw.q_to_num_kv_seq.row(rank)[slot] as usize, 0);
            }
        }

        let replicas = raw.kv_to_q_rank.shape()[2];
        let mut mask: Vec<_> = used.iter().map(|&slots| vec![vec![0; replicas]; slots]).collect();
        for (rank, mask) in mask.iter_mut().enumerate() {
            for replica in 0..replicas {
                for (slot, mask) in mask.iter_mut().enumerate() {
                    let at = slot * replicas + replica;
                    let query = &raw.kv_to_q_mapping.row(rank)[2 * at..2 * at + 2];
                    let &[Ok(query_rank), Ok(query_slot)] = &[query[0], query[1]].map(usize::try_from) else { continue };
                    let Some(to) = destination(query_rank, query_slot) else { continue };
                    let to_slot = first_key[query_rank][query_slot] + raw.kv_to_q_rank.row(rank)[at] as usize;
                    let tokens = tokens(rank, slot);
                    keys.push(Move { from: rank, replica, slot, to, to_slot, tokens, copy_of: None });
                    key_lens.recv[to][to_slot] = tokens;
                    mask[replica] = 1;
                }
            }
        }

        let slots_of = |lens: &[Vec<u64>]| lens.iter().map(Vec::len).collect::<Vec<_>>();
        let send_slots = |replicas| used.iter().map(|&slots| SendSlots { replicas, slots }).collect();
        Ok(Self {
            world_size: ranks,
            slots,
            queries: Moves { list: queries, send_slots: send_slots(None), recv_slots: slots_of(&query_lens.recv), unused: 0 },
            keys: Moves { list: keys, send_slots: send_slots(Some(replicas)), recv_slots: slots_of(&key_lens.recv), unused: 0 },
            query_lens,
            key_lens,
            kv_replica_mask: mask,
        })
    }

    fn query_key_value(&self, query_elements: u64, rows: &Rows) -> Result<FastAllToAll, Error> {
        let key_elements = u64::from(rows.hidden_kv);
        let (query, key) = (bytes(query_elements, rows)?, bytes(key_elements, rows)?);
        let layout = Layout::new(self.world_size, &[(&self.queries, query), (&self.keys, key), (&self.keys, key)])?;
        let query_shape = self.query_shape(query_elements);
        let replicas = |rank: usize| self.keys.send_slots[rank].replicas.unwrap_or(0) as u64;
        let sends = query_shape.send.iter().enumerate();
        let key_shape = LogicalShape {
            send: sends.map(|(rank, shape)| vec![replicas(rank), shape[0], key_elements]).collect(),
            recv: self.key_lens.recv.iter().map(|lens| vec![lens.iter().sum(), key_elements]).collect(),
        };
        Ok(FastAllToAll {
            seq_lens: vec![self.query_lens.clone(), self.key_lens.clone()],
            tensor_shape: vec![query_shape, key_shape],
            kv_replica_mask: Some(self.kv_replica_mask.clone()),
            ..layout.into()
        })
    }

    /// Gradients of the outputs, which go where the queries went. Here the original keeps the offsets of a rank as wide as its
    /// arrays, so padding slots follow, with offset 0.
    fn outputs(&self, elements: u64, rows: &Rows) -> Result<FastAllToAll, Error> {
        let elements = padded_elements(elements, rows)?;
        let padded = SendSlots { replicas: None, slots: self.slots };
        let moves = Moves {
            list: self.queries.list.clone(),
            send_slots: vec![padded; self.world_size],
            recv_slots: self.queries.recv_slots.clone(),
            unused: 0,
        };
        Ok(FastAllToAll {
            seq_lens: vec![self.query_lens.clone()],
            tensor_shape: vec![self.query_shape(elements)],
            ..Layout::new(self.world_size, &[(&moves, bytes(elements, rows)?)])?.into()
        })
    }

    fn query_shape(&self, elements: u64) -> LogicalShape {
        let shapes = |lens: &[Vec<u64>]| lens.iter().map(|lens| vec![lens.iter().sum(), elements]).collect();
        LogicalShape { send: shapes(&self.query_lens.send), recv: shapes(&self.query_lens.recv) }
    }
}

/// Slots in use on each rank. The others are padding and must not take part.
fn used(raw: &RawDispatch, slots: usize) -> Result<Vec<usize>, Error> {
    let mut used = Vec::with_capacity(raw.num_shards.values().len());
    for (rank, &count) in raw.num_shards.values().iter().enumerate() {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(slots);
        let mut padding = raw.q_dispatch.row(rank)[count..].iter().zip(count..);
        let mappings = raw.kv_to_q_mapping.row(rank).chunks(raw.kv_to_q_rank.shape()[2].max(1) * 2);
        let served = mappings.zip(0..).skip(count).find(|(pairs, _)| pairs.iter().any(|value| *value >= 0));
        let taking_part = padding.find(|(to, _)| **to >= 0).map(|(_, slot)| slot).or(served.map(|(_, slot)| slot));
        if let Some(slot) = taking_part {
            let problem = format!("it is sent somewhere, but the rank has only {count} shards");
            return Err(Error::Sequence { rank, sequence: slot, problem });
        }
        used.push(count);
    }
    Ok(used)
}

fn bytes(elements: u64, rows: &Rows) -> Result<u64, Error> {
    elements.checked_mul(u64::from(rows.element_bytes)).ok_or(Error::Overflow { what: "the bytes of one row" })
}

/// Elements of a row that is padded to 16 bytes.
fn padded_elements(elements: u64, rows: &Rows) -> Result<u64, Error> {
    let padded = bytes(elements, rows)?.checked_next_multiple_of(Rows::ALIGNMENT_BYTES);
    let padded = padded.ok_or(Error::Overflow { what: "the bytes of one row" })?;
    Ok(padded.checked_div(u64::from(rows.element_bytes)).unwrap_or(0))
}
