//! What the collectives alone say about the clocks, and which answers depend on it: `rankscope align --from-traces`.
//!
//! The weakest of all ways to know a clock: the intervals are the result, and where they are wide enough to change who is late,
//! that is in the document, too. Times are integer nanoseconds.

use serde::{Deserialize, Serialize};

use crate::ClockMethod;
use crate::vocabulary::vocabulary;

/// The clocks as the traces tell them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FromTracesDocument {
    /// Every rank, ascending.
    pub ranks: Vec<EstimatedClock>,
    /// Collectives matched on all of their ranks.
    pub matched: usize,
    /// Collectives that are not.
    pub unmatched: usize,
    /// `collectives`, or `as_recorded` where no time stamp is corrected.
    pub method: ClockMethod,
    /// Where offsets and bounds hold, on the lowest rank's clock: the start of the earliest trace.
    pub at_ns: i64,
    /// How far the ends of one collective lie apart once corrected. No bound.
    pub agreement_ns: Option<i64>,
    /// Whether every trace says its host.
    pub hosts_known: bool,
    /// What two clocks may drift apart by, in parts per billion, which the bounds assume.
    pub drift_max_ppb: i64,
    /// Ranks that are taken to have one clock.
    pub shared_clocks: Vec<Vec<u32>>,
    /// Answers that are others elsewhere inside the bounds.
    pub flips: Vec<ClockFlip>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// The estimate of one rank's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EstimatedClock {
    /// The rank.
    pub rank: u32,
    /// What its clock is ahead of the lowest rank's.
    pub offset_ns: i64,
    /// What it gains, in parts per billion.
    pub drift_ppb: i64,
    /// Least that the offset can be; none if nothing bounds it.
    pub bound_lo_ns: Option<i64>,
    /// Greatest.
    pub bound_hi_ns: Option<i64>,
    /// Whether its stamps are corrected.
    pub applied: bool,
}

/// An answer that changes when clocks are at an end of their bounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockFlip {
    /// Whose clocks are at that end.
    pub moved: Vec<u32>,
    /// Which end.
    pub end: BoundEnd,
    /// Which answer.
    pub conclusion: FlippedAnswer,
    /// What it is with the clocks as estimated: a rank, or how often; none for nobody.
    pub from: Option<u64>,
    /// What it is at the end of the bounds.
    pub to: Option<u64>,
    /// Whom a count is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
}

vocabulary! {
    /// An end of a clock's bounds.
    BoundEnd {
        /// The least that the clock can be ahead.
        Lo = "lo",
        /// The most.
        Hi = "hi",
    }
}

vocabulary! {
    /// An answer that may depend on the clocks.
    FlippedAnswer {
        /// Which rank is late.
        Late = "late",
        /// Which rank comes last most often.
        MostOftenLast = "most_often_last",
        /// How often a rank comes last.
        TimesLast = "times_last",
    }
}
