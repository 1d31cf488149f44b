//! What can be wrong with a plan, and whose fault it is. Every variant names the place.

use rankscope_time::Rank;
use thiserror::Error;

use crate::network::Level;
use crate::{Direction, ExchangeFault, SplitFault, TensorName};

/// What a cap limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capped {
    /// Bytes sent.
    Sends,
    /// Bytes received.
    Receives,
    /// Bytes of queries and context in buffers.
    Holds,
}

impl std::fmt::Display for Capped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sends => "sends",
            Self::Receives => "receives",
            Self::Holds => "holds in buffers",
        })
    }
}

/// Why something could not be planned, derived or checked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A job has at least one rank.
    #[error("a plan needs at least one rank")]
    NoRanks,
    /// More ranks than any job has.
    #[error("{world_size} ranks; a plan has at most {}", crate::Batch::RANKS_MAX)]
    TooManyRanks {
        /// How many were asked for.
        world_size: u32,
    },
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
    /// An array does not have the shape that the others imply.
    #[error("{what}: the shape is {found:?} and must be {expected:?}")]
    Shape {
        /// The array, by the original's name.
        what: &'static str,
        /// The shape it must have.
        expected: Vec<usize>,
        /// The shape it has.
        found: Vec<usize>,
    },
    /// An array does not have the number of axes that its function takes.
    #[error("{what}: an array of {found} axes; {expected}")]
    Axes {
        /// The array, by the original's name.
        what: &'static str,
        /// What the function takes.
        expected: &'static str,
        /// Axes it has.
        found: usize,
    },
    /// A padded array too large to be meant.
    #[error("an array of shape {shape:?} is too large")]
    TooLarge {
        /// The shape that was asked for.
        shape: Vec<usize>,
    },
    /// A shard with fewer than no tokens.
    #[error("rank {rank}, slot {slot}: a shard of {tokens} tokens; lengths are not negative")]
    NegativeLength {
        /// The rank that holds it.
        rank: usize,
        /// Its place on the rank.
        slot: usize,
        /// The length that was given.
        tokens: i64,
    },
    /// A destination that is neither a rank nor -1.
    #[error("rank {rank}, slot {slot}, replica {replica}: destination {destination} is neither -1 nor a rank from 0 to {}", world_size - 1)]
    Destination {
        /// The rank that sends.
        rank: usize,
        /// The place of the shard on it.
        slot: usize,
        /// Which of its destinations.
        replica: usize,
        /// The destination that was given.
        destination: i64,
        /// Ranks of the job.
        world_size: usize,
    },
    /// A key/value shard whose place at a query cannot be derived.
    #[error("rank {rank}, slot {slot}, replica {replica} of the keys and values: {problem}")]
    KeyValue {
        /// The rank that holds it.
        rank: usize,
        /// Its place on the rank.
        slot: usize,
        /// Which of its copies.
        replica: usize,
        /// What contradicts what.
        problem: &'static str,
    },
    /// Tokens that the degree of context parallelism does not divide.
    #[error("{tokens} tokens per rank are not divisible by the CP degree {degree}")]
    NotDivisible {
        /// Tokens per rank.
        tokens: u64,
        /// The largest degree asked for.
        degree: u32,
    },
    /// A degree of context parallelism for which there is no dispatch.
    #[error("CP degree {degree} over {world_size} ranks: {must}")]
    Degree {
        /// The degree asked for.
        degree: u32,
        /// Ranks of the job.
        world_size: u32,
        /// What would be legal.
        must: &'static str,
    },
    /// Fewer tokens than sequences that must each have one.
    #[error("{tokens} tokens cannot be cut into {sequences} sequences of at least one")]
    TooFewTokens {
        /// Tokens per rank.
        tokens: u32,
        /// Sequences per rank.
        sequences: u32,
    },
    /// A sequence of a custom mapping that contradicts itself.
    #[error("rank {rank}, sequence {sequence}: {problem}")]
    Sequence {
        /// The rank that holds it.
        rank: usize,
        /// Its place on the rank.
        sequence: usize,
        /// What contradicts what.
        problem: String,
    },
    /// A value does not fit the narrower column it is exported to.
    #[error("{column}, entry {entry}: {value} does not fit into {to}")]
    Narrow {
        /// The column, by the original's name.
        column: &'static str,
        /// Position in the column.
        entry: usize,
        /// The value.
        value: i64,
        /// The type of the column.
        to: &'static str,
    },
    /// A copy that leaves one of its two buffers.
    #[error("rank {rank}, slot {slot}: {tokens} tokens from {from} to {to} of rank {peer} leave a buffer")]
    OutOfBuffer {
        /// The rank that sends.
        rank: usize,
        /// The place of the shard on it.
        slot: usize,
        /// Tokens of the copy.
        tokens: usize,
        /// First token to read.
        from: usize,
        /// The rank that receives.
        peer: usize,
        /// First token to write.
        to: usize,
    },
    /// A sum of tokens, bytes or work left the range of 64 bits.
    #[error("{what} do not fit into 64 bits")]
    Overflow {
        /// What was summed.
        what: &'static str,
    },
    /// A document is longer than positions of 32 bits reach.
    #[error("document {document} has {tokens} tokens; the most are {} (32 bits)", u32::MAX)]
    DocumentTooLong {
        /// Position of the document in the batch.
        document: usize,
        /// Its tokens.
        tokens: u64,
    },
    /// A task of a plan that splits keys, and cannot be.
    #[error("document {document}, task {task}: {fault}")]
    SplitTask {
        /// Position of the task in the order of documents, queries and keys.
        task: usize,
        /// Position of the document in the batch.
        document: usize,
        /// What is wrong.
        fault: SplitFault,
    },
    /// Documents that are not the same in every group of heads.
    #[error(
        "{documents} documents are not {groups} groups of heads of the same ones: document {document} is none of the first group's"
    )]
    HeadGroups {
        /// Groups of heads.
        groups: u32,
        /// Documents of the batch.
        documents: usize,
        /// The first that differs, or where another would have to be.
        document: usize,
    },
    /// A score that no task computes.
    #[error("document {document}: no task computes query {query} with key {key}")]
    SplitGap {
        /// Position of the document in the batch.
        document: usize,
        /// Position of the query.
        query: u32,
        /// Position of the key.
        key: u32,
    },
    /// A count or an offset left the range of the 32 bits that it has in the plan or in the original's tensors.
    #[error("{what} do not fit into 32 bits")]
    Overflow32 {
        /// What was counted.
        what: &'static str,
    },
    /// The ranks are too small for the documents.
    #[error("document {document} does not fit: {world_size} ranks of {tokens_per_rank} tokens are full")]
    NoRoom {
        /// Position of the first document that does not fit.
        document: usize,
        /// Ranks of the job.
        world_size: u32,
        /// Tokens that one rank takes.
        tokens_per_rank: u64,
    },
    /// A document that cannot be cut into chunks of one length.
    #[error(
        "document {document}: {tokens} tokens cannot be cut into {chunks} equal chunks; pad it to a multiple of {chunks}, and give the \
         padded lengths"
    )]
    UnequalChunks {
        /// Which, over all groups of ranks.
        document: usize,
        /// How long it is.
        tokens: u32,
        /// Two for each rank of its group.
        chunks: u32,
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
    /// A rank is above a cap, and no move that was tried helps.
    #[error("rank {rank} {what} {bytes} bytes, {} more than its cap allows; no move helps", bytes - cap)]
    Cap {
        /// Which rank.
        rank: Rank,
        /// What it does too much of.
        what: Capped,
        /// How much.
        bytes: u64,
        /// How much it may.
        cap: u64,
    },
    /// A rank has too much work, and whoever has room would be above a cap with it.
    #[error("rank {rank} stays above its limit: the caps on bytes leave no rank that may take work from it")]
    NobodyMayTake {
        /// Which rank.
        rank: Rank,
    },
    /// The exact planner cannot say.
    #[error("the exact planner: {what}")]
    Exact {
        /// Why.
        what: String,
    },
    /// No cut makes a rank faster, says a table of times.
    #[error("rank {rank} stays above its limit: by the time table no cut makes it faster")]
    CannotBalance {
        /// The rank that has too much.
        rank: Rank,
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
    #[error("rank {rank} of an exchange: {fault}")]
    Exchange {
        /// Whose part is wrong.
        rank: Rank,
        /// What is wrong with it.
        fault: ExchangeFault,
    },
    /// A rank was asked for that the job does not have.
    #[error("rank {rank} is not one of 0 to {}", world_size - 1)]
    NoSuchRank {
        /// The rank.
        rank: Rank,
        /// Ranks of the job.
        world_size: u32,
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
    /// The rows of one level cannot be fitted.
    #[error("level {}: {source}", level.as_str())]
    LevelFit {
        /// Which level.
        level: Level,
        /// Why not.
        source: Box<Error>,
    },
    /// Nothing was measured.
    #[error("no measurements")]
    NoMeasurements,
    /// Other rows arrived than must: a defect of this crate.
    #[error("{}: rank {rank} received other {tensor} rows than it should have; this is a bug", direction.as_str())]
    Arrived {
        /// In which exchange.
        direction: Direction,
        /// Who received.
        rank: Rank,
        /// Of which tensor.
        tensor: TensorName,
    },
    /// A gradient that is not the sum of what was sent: a defect of this crate.
    #[error("backward: rank {rank}, token {token}: {tensor} of ones is not {uses}; this is a bug")]
    GradientSum {
        /// Whose token.
        rank: Rank,
        /// Its place on the rank.
        token: usize,
        /// Of which tensor.
        tensor: TensorName,
        /// How many ones were sent for it.
        uses: u64,
    },
    /// A row that this path cannot pad.
    #[error("{tensor} rows of {bytes} bytes: they must be a multiple of {multiple}")]
    RowAlignment {
        /// What the rows are.
        tensor: &'static str,
        /// Bytes of a row.
        bytes: u64,
        /// What they must be a multiple of.
        multiple: u64,
    },
    /// Options that exclude each other.
    #[error("{what}")]
    Options {
        /// Which, and what to do.
        what: &'static str,
    },
    /// Bytes that are no plan.
    #[error("byte {at} of the plan: {what}")]
    Encoding {
        /// Where.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// A count or displacement that does not fit the 32 bits of the call it is for.
    #[error("{what} of {bytes} bytes does not fit into 32 bits in units of {unit_bytes} bytes; {advice}")]
    Counts {
        /// Which of the arguments.
        what: &'static str,
        /// Its value.
        bytes: u64,
        /// The unit that was asked for.
        unit_bytes: u64,
        /// What would fit.
        advice: &'static str,
    },
    /// More tokens on a rank than the 32 bits of a kernel's arguments hold.
    #[error(
        "{tokens} tokens on one rank do not fit into the 32 bits of a kernel's lengths; share keys per document, or move tasks"
    )]
    Tokens {
        /// How many.
        tokens: u64,
    },
    /// A step that cannot be played.
    #[error("the step: {what}")]
    BadStep {
        /// What it has to be.
        what: &'static str,
    },
}
