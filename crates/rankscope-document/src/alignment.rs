//! How every rank came on to one clock: `alignment.json`, schema 1.
//!
//! Times are integer nanoseconds. An offset is what a rank's clock is ahead, and is subtracted.

use serde::{Deserialize, Serialize};

use crate::{AlignmentStage, ClockMethod, Note};

/// The clocks of a job and what was done with them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AlignmentDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// What was aligned, for headings.
    pub title: String,
    /// How the clocks are known, by and large, as in the report.
    pub method: ClockMethod,
    /// Whether the bounds rest on measured packets or on the causality of collectives, which is weaker.
    pub weaker: bool,
    /// What offsets are against: `rank 0`, `node 0`.
    pub reference: String,
    /// Collectives matched on all of their ranks.
    pub matched: u64,
    /// Collectives that are not.
    pub unmatched: u64,
    /// Every rank, ascending.
    pub ranks: Vec<RankAlignment>,
    /// What the reader should know.
    pub notes: Vec<Note>,
}

/// One rank's way to the reference.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RankAlignment {
    /// The rank.
    pub rank: u32,
    /// Its node, where known.
    pub node: Option<u32>,
    /// How its clock is known.
    pub method: ClockMethod,
    /// The stages of its map, in order.
    pub stages: Vec<AlignmentStage>,
    /// Whether its stamps were moved.
    pub applied: bool,
    /// The moment on the rank's clock that offset and bound are of.
    pub at_ns: i64,
    /// What its clock is ahead of the reference.
    pub offset_ns: i64,
    /// What it gains on the reference.
    pub drift_ppb: i64,
    /// Least that the offset can be; none if nothing bounds it.
    pub bound_lo_ns: Option<i64>,
    /// Greatest.
    pub bound_hi_ns: Option<i64>,
    /// The bound is no proof: stamps contradicted each other.
    pub degraded: bool,
    /// Events moved.
    pub events: u64,
    /// Of these, such as lie outside of what was measured, by stage: as many as their share of the time from the rank's first span to
    /// its last, and 0 only if all of that time was measured.
    pub extrapolated: Vec<u64>,
    /// Least of what is added to a stamp from the rank's first span to its last.
    pub correction_min_ns: i64,
    /// Greatest.
    pub correction_max_ns: i64,
    /// The worst that is claimed for any stamp; none where nothing is known of the clock.
    pub uncertainty_max_ns: Option<u64>,
    /// Clocks of tracers whose device events were put on the host's clock first, and how many events that were.
    pub tracers: Vec<TracerAlignment>,
}

/// A tracer's clock that was put on its host's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TracerAlignment {
    /// Its name.
    pub clock: String,
    /// Pairs of readings that the map goes through.
    pub knots: usize,
    /// Pairs that gave way to narrower ones.
    pub passed_over: usize,
    /// How often one of the clocks was set.
    pub steps: usize,
    /// Events moved.
    pub events: u64,
    /// Of these, such as lie outside of the pairs.
    pub extrapolated: u64,
}
