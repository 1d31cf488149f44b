//! The original's byte-level metadata, by its names and in its shapes: from logical metadata without de-duplication, and from a
//! planner's output with it (dispatch spec 2.8 and 2.9).
//!
//! This is the form to compare with: the four matrices are dense and every rank sees all others. What executes is an
//! [`Exchange`](crate::Exchange), which holds the same bytes sparsely; [`FastAllToAll::exchange`] turns one into the other.

mod execute;
mod layout;
mod logical;
mod planner;

pub use logical::{LogicalOutput, LogicalResend, compute_backward_resend_e2e_metadata, compute_e2e_fa2a_metadata};
pub use planner::{GradientSums, PlannerOptions, PlannerOutput, from_planner_output};

/// Rows by rank of the sender, columns by rank of the receiver, unless the field says otherwise.
pub type PairMatrix = Vec<Vec<u64>>;

/// One all-to-all of fused messages, as the original describes it to its kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastAllToAll {
    /// Where the message from i to j starts in the send buffer of i.
    pub sender_send_disp: PairMatrix,
    /// Bytes from i to j.
    pub sender_transfer_sz: PairMatrix,
    /// Where the message from i to j starts in the receive buffer of j.
    pub sender_recv_disp: PairMatrix,
    /// Bytes that i receives from j.
    pub recver_transfer_sz: PairMatrix,
    /// Per tensor and rank: where each shard of the rank starts in its send buffer.
    pub send_memcpy: Vec<Vec<Offsets>>,
    /// Per tensor and rank: where each received shard starts in the receive buffer, in the order in which it is kept.
    pub recv_memcpy: Vec<Vec<Offsets>>,
    /// Tokens of the shards, of queries and of keys.
    pub seq_lens: Vec<SeqLens>,
    /// Shapes of queries and of keys.
    pub tensor_shape: Vec<LogicalShape>,
    /// Per rank and shard: which of its replicas exist.
    pub kv_replica_mask: Option<Vec<Vec<Vec<u8>>>>,
    /// Per attention rank: which gradients are copies of the same shard, to be added before they are sent.
    pub kv_grad_send_dedup: Option<Vec<GradientSums>>,
}

/// Byte offsets of the shards of one tensor on one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// One per shard.
    Shards(Vec<i64>),
    /// One per replica and shard, replicas outside, because gradients return as one plane per replica.
    Replicas(Vec<Vec<i64>>),
}

/// Tokens of the shards of every rank, before and after the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeqLens {
    /// By rank and slot.
    pub send: Vec<Vec<u64>>,
    /// By rank and slot.
    pub recv: Vec<Vec<u64>>,
}

/// Shapes of one tensor on every rank: tokens and elements; replicas, tokens and elements for keys where they live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalShape {
    /// By rank.
    pub send: Vec<Vec<u64>>,
    /// By rank.
    pub recv: Vec<Vec<u64>>,
}

impl FastAllToAll {
    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> usize {
        self.sender_transfer_sz.len()
    }

    /// Where each rank's message to itself starts in its send buffer.
    #[must_use]
    pub fn my_rank_send_offset(&self) -> Vec<u64> {
        diagonal(&self.sender_send_disp)
    }

    /// Where it starts in the receive buffer.
    #[must_use]
    pub fn my_rank_recv_offset(&self) -> Vec<u64> {
        diagonal(&self.sender_recv_disp)
    }

    /// How long it is.
    #[must_use]
    pub fn my_rank_send_sz(&self) -> Vec<u64> {
        diagonal(&self.sender_transfer_sz)
    }

    /// Where the message from j starts in the receive buffer of i: what an alltoallv calls its receive displacements.
    #[must_use]
    pub fn receive_displacements(&self) -> PairMatrix {
        transposed(&self.sender_recv_disp)
    }

    /// The way back: every copy and every message turned round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            sender_send_disp: transposed(&self.sender_recv_disp),
            sender_transfer_sz: self.recver_transfer_sz.clone(),
            sender_recv_disp: transposed(&self.sender_send_disp),
            recver_transfer_sz: self.sender_transfer_sz.clone(),
            send_memcpy: self.recv_memcpy.clone(),
            recv_memcpy: self.send_memcpy.clone(),
            seq_lens: self
                .seq_lens
                .iter()
                .map(|SeqLens { send, recv }| SeqLens { send: recv.clone(), recv: send.clone() })
                .collect(),
            tensor_shape: self
                .tensor_shape
                .iter()
                .map(|LogicalShape { send, recv }| LogicalShape { send: recv.clone(), recv: send.clone() })
                .collect(),
            kv_replica_mask: self.kv_replica_mask.clone(),
            kv_grad_send_dedup: None,
        }
    }
}

fn diagonal(matrix: &PairMatrix) -> Vec<u64> {
    matrix.iter().enumerate().map(|(index, row)| row[index]).collect()
}

fn transposed(matrix: &PairMatrix) -> PairMatrix {
    (0..matrix.len()).map(|column| matrix.iter().map(|row| row[column]).collect()).collect()
}
