//! Why a job tells nothing of a plan or of a network.

use thiserror::Error;

/// Why no recorded exchange can be held against the plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangesError {
    /// Nothing is exchanged by the plan.
    #[error("the plan has no exchange")]
    EmptyPlan,
    /// No trace has a collective of that kind.
    #[error("there is no all-to-all in this run; record it with a profiler that sees collectives")]
    NoAllToAll,
    /// Those that there are have other numbers of ranks.
    #[error(
        "the plan is for {ranks} ranks, and the {count} all-to-alls of this run are among {least} to {most}. Give the plan of this run"
    )]
    OtherRanks {
        /// Ranks of the plan.
        ranks: usize,
        /// All-to-alls of the run.
        count: usize,
        /// Ranks of the smallest.
        least: usize,
        /// Ranks of the largest.
        most: usize,
    },
    /// Each lacks a rank, or is said to be another's.
    #[error("none of the {count} all-to-alls among {ranks} ranks is complete and fits the plan")]
    NoneFits {
        /// All-to-alls of as many ranks as the plan has.
        count: usize,
        /// Ranks of the plan.
        ranks: usize,
    },
}

/// No collective of a job was found on every rank with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no collective of this run was found on every rank with its size")]
pub struct NothingMeasured;
