//! `from_planner_output`: the shipped path, from a planner's shards to bytes, each key shard sent once per pair of ranks.
//!
//! Shards are taken document by document. A shard as a query brings along every key shard of its document up to itself; the
//! replica of a key shard is the position of the destination among those it has, in the order of first use.

use super::layout::{Layout, Move, Moves, SendSlots, starts};
use super::{FastAllToAll, LogicalShape, SeqLens};
use crate::export::TaskLengths;
use crate::{Batch, Error, Rows};

/// What kind of step the metadata is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlannerOptions {
    /// A tick of a pipeline: outputs carry their log-sum-exp, because the backward pass runs elsewhere with metadata of its own.
    pub is_pipeline_tick: bool,
    /// Queries, keys and values are sent again for the backward pass, and outputs carry their log-sum-exp.
    pub is_resend_qkv: bool,
}

/// What the original returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannerOutput {
    /// Queries, keys and values to their attention.
    pub qkv_linear_to_attn: FastAllToAll,
    /// Their gradients back. Not in a pipeline tick.
    pub qkv_grad_attn_to_linear: Option<FastAllToAll>,
    /// Outputs back.
    pub out_attn_to_linear: FastAllToAll,
    /// Gradients of the outputs to where the attention was computed; in a step that sends again, together with everything else
    /// a backward pass needs: a query row holds query, output, output gradient and log-sum-exp. Not in a pipeline tick.
    pub out_grad_linear_to_attn: Option<FastAllToAll>,
    /// Tasks of every rank.
    pub attn: Vec<TaskLengths>,
}

/// Which key gradients of an attention rank belong together, per key slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GradientSums {
    /// How many other slots hold the shard of this one, if this is its first slot; else 0.
    pub num_copies: Vec<u64>,
    /// The first token of each of those slots, padded with 0 to the most copies of any slot and at least one.
    pub copy_start_id: Vec<Vec<u64>>,
    /// Whether this is the first slot of its shard.
    pub main_copy_mask: Vec<u8>,
}

/// Metadata of a step whose shards a planner placed.
///
/// # Errors
/// [`Error::Options`] for a pipeline tick that sends again; [`Error::RowAlignment`] where a key row is no multiple of 16 bytes,
/// which the kernels of this path cannot pad; [`Error::Overflow`].
pub fn from_planner_output(batch: &Batch, rows: &Rows, options: PlannerOptions) -> Result<PlannerOutput, Error> {
    if options.is_pipeline_tick && options.is_resend_qkv {
        return Err(Error::Options {
            what: "sending again is for steps without a pipeline; a pipeline tick sends again anyway",
        });
    }
    let sizes = RowSizes::new(rows)?;
    let walk = Walk::new(batch);
    let out_row = if options.is_pipeline_tick || options.is_resend_qkv { sizes.output_with_lse } else { sizes.query };

    let qkv = walk.query_key_value(sizes.query, &sizes)?;
    let out_grad = walk.queries_only(out_row, &sizes)?;
    let backward = FastAllToAll { kv_grad_send_dedup: Some(walk.gradient_sums()), ..qkv.reversed() };
    let out_grad_linear_to_attn = match options {
        PlannerOptions { is_pipeline_tick: true, .. } => None,
        PlannerOptions { is_resend_qkv: true, .. } => Some(walk.query_key_value(sizes.resend, &sizes)?),
        _ => Some(out_grad.clone()),
    };
    Ok(PlannerOutput {
        qkv_linear_to_attn: qkv,
        qkv_grad_attn_to_linear: (!options.is_pipeline_tick).then_some(backward),
        out_attn_to_linear: out_grad.reversed(),
        out_grad_linear_to_attn,
        attn: TaskLengths::of_ranks(batch),
    })
}

/// Bytes of the rows in messages.
struct RowSizes {
    query: u64,
    key: u64,
    output_with_lse: u64,
    resend: u64,
    element: u64,
}

impl RowSizes {
    fn new(rows: &Rows) -> Result<Self, Error> {
        let element = u64::from(rows.element_bytes);
        let bytes = |elements: u64| {
            elements.checked_mul(element).and_then(|bytes| bytes.checked_next_multiple_of(Rows::ALIGNMENT_BYTES))
        };
        let padded = |elements| bytes(elements).ok_or(Error::Overflow { what: "the bytes of one row" });
        let (q, kv, lse) = (u64::from(rows.hidden_q), u64::from(rows.hidden_kv), u64::from(rows.lse));
        let key = padded(kv)?;
        if element == 0 || key != kv * element {
            return Err(Error::RowAlignment { tensor: "key", bytes: kv * element, multiple: Rows::ALIGNMENT_BYTES });
        }
        Ok(Self { query: padded(q)?, key, output_with_lse: padded(q + lse)?, resend: padded(3 * q + lse)?, element })
    }
}

/// What one pass over the documents finds.
struct Walk {
    world_size: usize,
    queries: Moves,
    keys: Moves,
    query_lens: SeqLens,
    key_lens: SeqLens,
    /// Per linear rank and shard: how many destinations it has.
    destinations: Vec<Vec<usize>>,
}

impl Walk {
    fn new(batch: &Batch) -> Self {
        let ranks = batch.world_size() as usize;
        let empty = || vec![Vec::new(); ranks];
        let lens = || SeqLens { send: empty(), recv: empty() };
        let (mut query_lens, mut key_lens) = (lens(), lens());
        let (mut queries, mut keys) = (Vec::new(), Vec::new());
        let mut destinations: Vec<Vec<usize>> = vec![Vec::new(); ranks];
        for document in batch.documents() {
            // Slot at its rank, and the destinations so far with the first slot there, per shard.
            let mut placed: Vec<(usize, Vec<(usize, usize)>)> = Vec::with_capacity(document.len());
            for (index, shard) in document.iter().enumerate() {
                let (from, to, tokens) = (shard.linear.0 as usize, shard.attention.0 as usize, u64::from(shard.tokens));
                let (slot, to_slot) = (query_lens.send[from].len(), query_lens.recv[to].len());
                queries.push(Move { from, replica: 0, slot, to, to_slot, tokens, copy_of: None });
                query_lens.send[from].push(tokens);
                query_lens.recv[to].push(tokens);
                placed.push((slot, Vec::new()));
                destinations[from].push(0);

                for (key, (slot, known)) in document[..=index].iter().zip(&mut placed) {
                    let (from, tokens) = (key.linear.0 as usize, u64::from(key.tokens));
                    let to_slot = key_lens.recv[to].len();
                    key_lens.recv[to].push(tokens);
                    let known_at = known.iter().position(|(rank, _)| *rank == to);
                    let copy_of = known_at.map(|at| known[at].1);
                    let replica = known_at.unwrap_or(known.len());
                    if known_at.is_none() {
                        known.push((to, to_slot));
                        destinations[from][*slot] = known.len();
                    }
                    keys.push(Move { from, replica, slot: *slot, to, to_slot, tokens, copy_of });
                }
            }
        }
        key_lens.send.clone_from(&query_lens.send);
        let slots = |lens: &[Vec<u64>]| lens.iter().map(Vec::len).collect::<Vec<_>>();
        let replicas = destinations.iter().map(|counts| counts.iter().copied().max().unwrap_or(0));
        let sends = slots(&query_lens.send);
        let key_slots = replicas.zip(&sends).map(|(replicas, &slots)| SendSlots { replicas: Some(replicas), slots });
        Self {
            world_size: ranks,
            keys: Moves { list: keys, send_slots: key_slots.collect(), recv_slots: slots(&key_lens.recv), unused: -1 },
            queries: Moves {
                list: queries,
                send_slots: sends.iter().map(|&slots| SendSlots { replicas: None, slots }).collect(),
                recv_slots: slots(&query_lens.recv),
                unused: 0,
            },
            query_lens,
            key_lens,
            destinations,
        }
    }

    fn query_key_value(&self, query_row: u64, sizes: &RowSizes) -> Result<FastAllToAll, Error> {
        let tensors = [(&self.queries, query_row), (&self.keys, sizes.key), (&self.keys, sizes.key)];
        let mask = |(counts, slots): (&Vec<usize>, &SendSlots)| {
            let replicas = slots.replicas.unwrap_or(0);
            counts.iter().map(|&count| (0..replicas).map(|replica| u8::from(replica < count)).collect()).collect()
        };
        Ok(FastAllToAll {
            seq_lens: vec![self.query_lens.clone(), self.key_lens.clone()],
            tensor_shape: vec![self.query_shape(query_row / sizes.element), self.key_shape(sizes.key / sizes.element)],
            kv_replica_mask: Some(self.destinations.iter().zip(&self.keys.send_slots).map(mask).collect()),
            ..Layout::new(self.world_size, &tensors)?.into()
        })
    }

    fn queries_only(&self, row: u64, sizes: &RowSizes) -> Result<FastAllToAll, Error> {
        Ok(FastAllToAll {
            seq_lens: vec![self.query_lens.clone()],
            tensor_shape: vec![self.query_shape(row / sizes.element)],
            ..Layout::new(self.world_size, &[(&self.queries, row)])?.into()
        })
    }

    fn query_shape(&self, elements: u64) -> LogicalShape {
        let shapes = |lens: &[Vec<u64>]| lens.iter().map(|lens| vec![lens.iter().sum(), elements]).collect();
        LogicalShape { send: shapes(&self.query_lens.send), recv: shapes(&self.query_lens.recv) }
    }

    fn key_shape(&self, elements: u64) -> LogicalShape {
        let send = self.key_lens.send.iter().zip(&self.keys.send_slots);
        let recv = self.key_lens.recv.iter().map(|lens| vec![lens.iter().sum(), elements]);
        LogicalShape {
            send: send.map(|(lens, slots)| vec![slots.replicas.unwrap_or(0) as u64, lens.iter().sum(), elements]).collect(),
            recv: recv.collect(),
        }
    }

    fn gradient_sums(&self) -> Vec<GradientSums> {
        let mut copies: Vec<Vec<Vec<u64>>> = self.keys.recv_slots.iter().map(|slots| vec![Vec::new(); *slots]).collect();
        let mut main: Vec<Vec<u8>> = self.keys.recv_slots.iter().map(|slots| vec![1; *slots]).collect();
        let starts: Vec<Vec<u64>> = self.key_lens.recv.iter().map(|lens| starts(lens)).collect();
        for step in &self.keys.list {
            if let Some(first) = step.copy_of {
                copies[step.to][first].push(starts[step.to][step.to_slot]);
                main[step.to][step.to_slot] = 0;
            }
        }
        let padded = |(mut copy_start_id, main_copy_mask): (Vec<Vec<u64>>, Vec<u8>)| {
            let num_copies: Vec<u64> = copy_start_id.iter().map(|copies| copies.len() as u64).collect();
            let most = num_copies.iter().copied().max().unwrap_or(0).max(1);
            copy_start_id.iter_mut().for_each(|copies| copies.resize(most as usize, 0));
            GradientSums { num_copies, copy_start_id, main_copy_mask }
        };
        copies.into_iter().zip(main).map(padded).collect()
    }
}

impl From<Layout> for FastAllToAll {
    fn from(layout: Layout) -> Self {
        Self {
            sender_send_disp: layout.sender_send_disp,
            sender_transfer_sz: layout.sender_transfer_sz,
            sender_recv_disp: layout.sender_recv_disp,
            recver_transfer_sz: layout.recver_transfer_sz,
            send_memcpy: layout.send_memcpy,
            recv_memcpy: layout.recv_memcpy,
            seq_lens: Vec::new(),
            tensor_shape: Vec::new(),
            kv_replica_mask: None,
            kv_grad_send_dedup: None,
        }
    }
}
