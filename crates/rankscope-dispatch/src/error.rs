//! What can be wrong with a plan, and whose fault it is. Every variant names the place.

use rankscope_time::Rank;
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
    /// The ranks are too small for the documents.
    #[error("document {document} finds no room: {world_size} ranks of {tokens_per_rank} tokens are full")]
    NoRoom {
        /// Position of the first document that does not fit.
        document: usize,
        /// Ranks of the job.
        world_size: u32,
        /// Tokens that one rank takes.
        tokens_per_rank: u64,
    },
    /// A plan cannot allow this much above the mean.
    #[error("eps is {eps}, and must be zero or more")]
    Eps {
        /// What was given.
        eps: f64,
    },
    /// Weights of ranks are numbers from zero, one for each rank, and not all zero.
    #[error("weights of ranks: {what}")]
    Weights {
        /// What is wrong with them.
        what: String,
    },
    /// No cut makes a rank faster, says a table of times.
    #[error("rank {rank} stays above its limit: the table of times says that no cut makes it faster")]
    CannotBalance {
        /// The rank that has too much.
        rank: u32,
    },
    /// A table of measured times cannot be interpolated.
    #[error("a table of times: {what}")]
    TimeTable {
        /// What is wrong with it.
        what: String,
    },
    /// The original's greedy planner knows documents that lie on a rank in one run, or in a head and a tail.
    #[error("document {document}, shard {shard}: a third run on rank {rank}, and the greedy planner takes one or two")]
    NotAPair {
        /// Position of the document in the batch.
        document: usize,
        /// Position of the shard in its document.
        shard: usize,
        /// The rank that holds too many runs.
        rank: Rank,
    },
    /// An exchange that no transport could execute.
    #[error("rank {rank} of an exchange: {what}")]
    Exchange {
        /// Whose part is wrong.
        rank: u32,
        /// What is wrong with it.
        what: String,
    },
}
