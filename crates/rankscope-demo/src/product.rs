//! What the demo needs of the product that it demonstrates: a run read as any job is read, and a report of it. It knows no more of
//! either, so that it judges what users get.

use std::path::Path;

use rankscope_time::{ClockMap, RankClock, ReferenceClock};

use crate::error::BoxedError;

/// Reads and reports, as it does for every other job.
pub trait Product {
    /// Reports on the run directory `run`, into it. Returns the rank that delayed the others most by that report.
    ///
    /// # Errors
    /// Whatever keeps it from that.
    fn report(&self, run: &Path) -> Result<Option<u32>, BoxedError>;

    /// Judges why the job in the run directory `run`, whose processes are there, stands still.
    ///
    /// # Errors
    /// Whatever keeps it from that.
    fn judge(&self, run: &Path) -> Result<Blamed, BoxedError>;

    /// Reads the run directory `run` and puts its ranks on the best clocks there are.
    ///
    /// # Errors
    /// Whatever keeps it from that.
    fn read(&self, run: &Path) -> Result<AlignedJob, BoxedError>;
}

/// Who is to blame for a standstill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blamed {
    /// The ranks.
    pub ranks: Vec<u32>,
    /// The reason, in a sentence or two.
    pub summary: String,
}

/// A job on one clock.
#[derive(Clone, Debug)]
pub struct AlignedJob {
    /// By the number of the rank.
    pub ranks: Vec<AlignedRank>,
    /// Collectives that every rank must enter before any leaves, matched on all of their ranks.
    pub collectives: Vec<Vec<CollectiveSpan>>,
    /// Steps of rank 0.
    pub steps: usize,
}

/// The clock of a rank's trace, as estimated.
#[derive(Clone, Debug)]
pub struct AlignedRank {
    /// From its stamps to the reference.
    pub map: ClockMap<RankClock, ReferenceClock>,
    /// Its first stamp, for which the following holds.
    pub begin_ns: i64,
    /// What it is ahead of the reference.
    pub offset_ns: i64,
    /// What it gains.
    pub drift_ppb: i64,
    /// Between what that offset is guaranteed to be, where it is.
    pub bound_ns: (Option<i64>, Option<i64>),
}

/// One rank's side of a collective, by its stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveSpan {
    /// The rank.
    pub rank: usize,
    /// When it entered.
    pub start_ns: i64,
    /// When it left.
    pub end_ns: i64,
}
