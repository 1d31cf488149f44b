//! One all-to-all of a whole job, as bytes: what every rank copies into its send buffer, which runs of it go to whom and to
//! where, and how the receiver takes them apart again.
//!
//! The tensors of an exchange travel fused: a pair of ranks exchanges one message. A rank's part needs nothing of the other
//! parts, so a transport can be handed one [`RankExchange`] and no more. What a rank sends itself takes room in its buffers
//! like any other message. Messages without bytes are not listed.

mod blocks;
mod build;
mod direction;
mod fault;
mod outline;
mod parts;
mod pass;
mod planes;
mod split;
mod validate;
mod volume;

use std::fmt;

use rankscope_time::Rank;

use crate::Traffic;

pub use direction::{Contexts, Direction};
pub use fault::{ExchangeFault, Step, Way, Written};
pub use pass::Pass;
pub use volume::ContextTokens;

/// One all-to-all of a whole job: fused messages and the copies that pack and unpack them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What is moved. Positions in this list name tensors everywhere else.
    pub tensors: Vec<TensorRows>,
    /// What each rank does, by rank.
    pub ranks: Vec<RankExchange>,
}

/// A tensor of rows, one row per token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorRows {
    /// What its rows are.
    pub name: TensorName,
    /// Bytes of a row where the tensor lies; rows follow each other without a gap.
    pub row_bytes: u64,
    /// Bytes of a row in a message: the row, then padding.
    pub wire_row_bytes: u64,
    /// How two rows of a token become one.
    pub join: Join,
}

/// How two rows of a token become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// They are added, element by element: gradients.
    Add,
    /// Each is an output over part of the keys, followed by the log-sum-exp of every head as [`ElementType::lse_bytes`] says; they
    /// are weighed by that.
    ///
    /// [`ElementType::lse_bytes`]: crate::movement::ElementType::lse_bytes
    Merge {
        /// Heads of a row.
        heads: u32,
    },
}

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TensorName {
    /// Queries.
    Query,
    /// Keys.
    Key,
    /// Values.
    Value,
    /// Attention outputs, followed by the log-sum-exp columns where there are any. Where keys are split, outputs over some of them.
    Output,
    /// Gradients of the queries.
    QueryGradient,
    /// Gradients of the keys.
    KeyGradient,
    /// Gradients of the values.
    ValueGradient,
    /// Gradients of the outputs. Where keys are split, a rank that has part of an output knows neither the log-sum-exp of all of it
    /// nor the sum of output times gradient, of which a backward pass needs one number each for every head; both follow.
    OutputGradient,
    /// What a backward pass on another rank needs of a query token: query, output, output gradient and log-sum-exp in one row.
    QueryOutputGradient,
}

/// What one rank does in an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankExchange {
    /// Whose part this is.
    pub rank: Rank,
    /// What leaves the send buffer, by receiver; the rank itself is included.
    pub sends: Vec<Message>,
    /// What arrives in the receive buffer, by sender; the rank itself is included.
    pub receives: Vec<Message>,
    /// Size of the send buffer.
    pub send_bytes: u64,
    /// Size of the receive buffer.
    pub receive_bytes: u64,
    /// Rows of each tensor before the exchange.
    pub input_rows: Vec<u64>,
    /// Rows of each tensor after the exchange. Rows that no copy writes are zero.
    pub output_rows: Vec<u64>,
    /// From tensors to the send buffer.
    pub pack: Vec<RowCopy>,
    /// From the receive buffer to tensors. Two copies may read the same bytes: keys and values are sent once per receiver.
    pub unpack: Vec<RowCopy>,
    /// Rows joined within the input tensors, in order, before packing: gradients of the copies of a de-duplicated row, and outputs of
    /// tasks that share a query on one rank.
    pub sums_before: Vec<RowSum>,
    /// Rows joined within the output tensors, in order, after unpacking: the planes in which gradients, and partial outputs, return.
    pub sums_after: Vec<RowSum>,
}

/// A run of bytes between the buffers of two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other end.
    pub peer: Rank,
    /// Where the run starts in this rank's buffer.
    pub at: u64,
    /// Where it starts in the peer's buffer.
    pub peer_at: u64,
    /// How long it is.
    pub bytes: u64,
}

/// Consecutive rows of a tensor and their place in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCopy {
    /// Position in [`Exchange::tensors`].
    pub tensor: u32,
    /// First row.
    pub row: u64,
    /// How many rows.
    pub rows: u64,
    /// Where the first row starts in the buffer, in bytes; row `i` of the copy starts `i` wire rows later.
    pub at: u64,
}

/// Rows of a tensor that are joined to other rows of it, as its [`Join`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSum {
    /// Position in [`Exchange::tensors`].
    pub tensor: u32,
    /// First row of the sum.
    pub into: u64,
    /// First row of what is added.
    pub from: u64,
    /// How many rows.
    pub rows: u64,
}

impl Exchange {
    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        u32::try_from(self.ranks.len()).expect("ranks are counted in 32 bits")
    }

    /// Bytes per pair of ranks.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let sends = |from: &RankExchange| {
            let from_rank = from.rank;
            from.sends.clone().into_iter().map(move |message| (from_rank, message.peer, message.bytes))
        };
        Traffic::new(self.world_size(), self.ranks.iter().flat_map(sends))
    }
}

impl TensorName {
    /// The name for people and for files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Key => "key",
            Self::Value => "value",
            Self::Output => "output",
            Self::QueryGradient => "query_gradient",
            Self::KeyGradient => "key_gradient",
            Self::ValueGradient => "value_gradient",
            Self::OutputGradient => "output_gradient",
            Self::QueryOutputGradient => "query_output_gradient",
        }
    }
}

impl fmt::Display for TensorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
