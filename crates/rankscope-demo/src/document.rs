//! What the demo tells: one JSON document, which the terminal is drawn from and the run directory keeps.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::folder::Folder;
use super::stage::Cast;
use super::verdict::{RankVerdict, Verdict};

/// The document. Keys are only added.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pub(super) seed: u64,
    pub(super) ranks: Vec<Rank>,
    pub(super) event_error_ns: EventErrors,
    /// Share of stamps whose error is no greater than what was guaranteed for them.
    pub(super) bound_coverage: f64,
    pub(super) violations: Violations,
    pub(super) straggler: Straggler,
    pub(super) steps: usize,
    /// Starts and ends of events that were held against the truth.
    pub(super) stamps: usize,
    pub(super) trained_seconds: f64,
    pub(super) seconds: f64,
    pub(super) report: PathBuf,
    pub(super) timeline: PathBuf,
}

/// A rank's clock where its trace begins, against that of rank 0's host.
#[derive(Debug, Serialize)]
pub(super) struct Rank {
    pub(super) rank: u32,
    pub(super) true_offset_ns: i64,
    pub(super) true_drift_ppb: i64,
    pub(super) estimated_offset_ns: i64,
    pub(super) estimated_drift_ppb: i64,
    pub(super) bound_lo_ns: Option<i64>,
    pub(super) bound_hi_ns: Option<i64>,
}

/// How far stamps are from the truth as recorded, aligned, and at most by what is guaranteed.
#[derive(Debug, Serialize)]
pub(super) struct EventErrors {
    pub(super) before_p50: u64,
    pub(super) before_p99: u64,
    pub(super) before_max: u64,
    pub(super) after_p50: u64,
    pub(super) after_p99: u64,
    pub(super) after_max: u64,
    pub(super) guaranteed_p50: u64,
    pub(super) guaranteed_p99: u64,
    pub(super) guaranteed_max: u64,
}

/// Collectives that somebody left before somebody else entered.
#[derive(Debug, Serialize)]
pub(super) struct Violations {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Of so many.
    pub(super) collectives: usize,
}

/// Who was slow.
#[derive(Debug, Serialize)]
pub(super) struct Straggler {
    /// Truly.
    pub(super) rank: u32,
    /// Its work over that of the others.
    pub(super) work: f64,
    /// Who the report says delayed the others most.
    pub(super) reported: Option<u32>,
}

impl Story {
    pub(super) fn new(cast: &Cast, verdict: Verdict, reported: Option<u32>, folder: &Folder, took: Duration) -> Self {
        let [before_p50, after_p50, guaranteed_p50] = verdict.errors.percentiles(50);
        let [before_p99, after_p99, guaranteed_p99] = verdict.errors.percentiles(99);
        let [before_max, after_max, guaranteed_max] = verdict.errors.percentiles(100);
        Self {
            seed: cast.seed,
            ranks: (0..).zip(&verdict.ranks).map(Rank::of).collect(),
            event_error_ns: EventErrors {
                before_p50,
                before_p99,
                before_max,
                after_p50,
                after_p99,
                after_max,
                guaranteed_p50,
                guaranteed_p99,
                guaranteed_max,
            },
            bound_coverage: verdict.errors.coverage(),
            violations: Violations {
                before: verdict.violations_before,
                after: verdict.violations_after,
                collectives: verdict.collectives,
            },
            straggler: Straggler { rank: cast.slow, work: cast.slowness, reported },
            steps: verdict.steps,
            stamps: verdict.errors.stamps(),
            trained_seconds: cast.length.as_secs_f64(),
            seconds: took.as_secs_f64(),
            report: folder.path().join("report").join("report.html"),
            timeline: folder.path().join("timeline.pftrace"),
        }
    }
}

impl Rank {
    fn of((rank, verdict): (u32, &RankVerdict)) -> Self {
        Self {
            rank,
            true_offset_ns: verdict.true_offset_ns,
            true_drift_ppb: verdict.true_drift_ppb,
            estimated_offset_ns: verdict.estimated_offset_ns,
            estimated_drift_ppb: verdict.estimated_drift_ppb,
            bound_lo_ns: verdict.bound_ns.0,
            bound_hi_ns: verdict.bound_ns.1,
        }
    }
}
