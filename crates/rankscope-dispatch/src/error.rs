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
    /// A network cannot be like this.
    #[error("{field}: {what}")]
    BadNetwork {
        /// The field of the network file.
        field: &'static str,
        /// What it has to be.
        what: &'static str,
    },
    /// A line of a benchmark's output cannot be read.
    #[error("line {line}: {what}")]
    BadBenchmark {
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A benchmark's output lacks something that has to be given then.
    #[error("{what}")]
    UnknownBenchmark {
        /// What is missing, and how to give it.
        what: &'static str,
    },
    /// Too few rows of different sizes to fit a line to.
    #[error("{have} usable rows; it takes {need} of different sizes to tell a start from a rate")]
    TooFewSamples {
        /// Usable rows.
        have: usize,
        /// What it takes.
        need: usize,
    },
    /// An exchange that no transport could execute.
    #[error("rank {rank} of an exchange: {what}")]
    Exchange {
        /// Whose part is wrong.
        rank: u32,
        /// What is wrong with it.
        what: String,
    },
    /// A step that cannot be played.
    #[error("the step: {what}")]
    BadStep {
        /// What it has to be.
        what: &'static str,
    },
}
