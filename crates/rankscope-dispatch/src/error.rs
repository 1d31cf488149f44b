//! What can be wrong with a plan, and whose fault it is. Every variant names the place.

use thiserror::Error;

/// Why something could not be planned, derived or checked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A job has at least one rank.
    #[error("a plan needs at least one rank")]
    NoRanks,
    /// A shard lives on, or is sent to, a rank that the job does not have.
    #[error("document {document}, shard {shard}: rank {rank} is not one of 0 to {}", world_size - 1)]
    RankOutOfRange {
        /// Position of the document in the batch.
        document: usize,
        /// Position of the shard in its document.
        shard: usize,
        /// The rank that was given.
        rank: i64,
        /// Ranks of the job.
        world_size: u32,
    },
    /// A sum of tokens, bytes or work left the range of 64 bits.
    #[error("{what} do not fit into 64 bits")]
    Overflow {
        /// What was summed.
        what: &'static str,
    },
    /// An exchange that no transport could execute.
    #[error("rank {rank} of an exchange: {what}")]
    Exchange {
        /// Whose part is wrong.
        rank: u32,
        /// What is wrong with it.
        what: String,
    },
    /// A rank was asked for that the job does not have.
    #[error("rank {rank} is not one of 0 to {}", world_size - 1)]
    NoSuchRank {
        /// The rank.
        rank: u32,
        /// Ranks of the job.
        world_size: u32,
    },
}
