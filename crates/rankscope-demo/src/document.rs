//! What came of a demo: one JSON document, which the terminal is drawn from and the run directory keeps.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::folder::Folder;
use crate::plan::{Plan, STILL_FROM};
use crate::product::Blamed;
use crate::slow::Because;
use crate::verdict::{RankVerdict, Verdict};

/// The document. Keys are only added.
#[derive(Debug, Serialize)]
pub struct DemoDocument {
    /// Of the random numbers.
    pub seed: u64,
    /// Clocks, by the number of the rank.
    pub ranks: Vec<RankClock>,
    /// How far stamps are from the truth.
    pub event_error_ns: EventErrors,
    /// Share of stamps whose error is no greater than what was guaranteed for them.
    pub bound_coverage: f64,
    /// Collectives against causality.
    pub violations: Violations,
    /// Who was slow, and who is said to be.
    pub straggler: Straggler,
    /// The standstill, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standstill: Option<Standstill>,
    /// Steps of the training.
    pub steps: usize,
    /// Starts and ends of events that were held against the truth.
    pub stamps: usize,
    /// How long the ranks trained.
    pub trained_seconds: f64,
    /// How long all of it took.
    pub seconds: f64,
    /// The report's page.
    pub report: PathBuf,
    /// The timeline.
    pub timeline: PathBuf,
}

/// A rank's clock where its trace begins, against that of rank 0's host.
#[derive(Debug, Serialize)]
pub struct RankClock {
    /// Its number.
    pub rank: u32,
    /// What it was ahead.
    pub true_offset_ns: i64,
    /// What it gained.
    pub true_drift_ppb: i64,
    /// What it was ahead, as measured.
    pub estimated_offset_ns: i64,
    /// What it gained, as measured.
    pub estimated_drift_ppb: i64,
    /// What it was ahead at least, guaranteed.
    pub bound_lo_ns: Option<i64>,
    /// What it was ahead at most, guaranteed.
    pub bound_hi_ns: Option<i64>,
}

impl RankClock {
    /// How far the estimate is from the truth.
    pub fn error_ns(&self) -> i64 {
        self.estimated_offset_ns - self.true_offset_ns
    }

    /// What is guaranteed, from the estimate: from its first number to its second. None where nothing is.
    pub fn guaranteed_ns(&self) -> Option<(i64, i64)> {
        let (lo_ns, hi_ns) = self.bound_lo_ns.zip(self.bound_hi_ns)?;
        Some((lo_ns - self.estimated_offset_ns, hi_ns - self.estimated_offset_ns))
    }
}

/// How far stamps are from the truth as recorded, aligned, and at most by what is guaranteed.
#[derive(Debug, Serialize)]
pub struct EventErrors {
    /// As recorded: half of the stamps are closer.
    pub before_p50: u64,
    /// As recorded: 99 % are closer.
    pub before_p99: u64,
    /// As recorded: all are at least as close.
    pub before_max: u64,
    /// Aligned: half of the stamps are closer.
    pub after_p50: u64,
    /// Aligned: 99 % are closer.
    pub after_p99: u64,
    /// Aligned: all are at least as close.
    pub after_max: u64,
    /// Guaranteed for half of the stamps.
    pub guaranteed_p50: u64,
    /// Guaranteed for 99 %.
    pub guaranteed_p99: u64,
    /// Guaranteed for all.
    pub guaranteed_max: u64,
}

/// Collectives that somebody left before somebody else entered.
#[derive(Debug, Serialize)]
pub struct Violations {
    /// By the clocks as recorded.
    pub before: usize,
    /// By the aligned ones.
    pub after: usize,
    /// Of so many.
    pub collectives: usize,
}

/// Who was slow.
#[derive(Debug, Serialize)]
pub struct Straggler {
    /// Truly.
    pub rank: u32,
    /// Its work over that of the others, in a step.
    pub work: f64,
    /// Why it was slow, if not for more work of every kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<Because>,
    /// What was to take it longer, in each step.
    pub extra_ns: u64,
    /// Who the report says delayed the others most.
    pub reported: Option<u32>,
}

/// A job that stood still.
#[derive(Debug, Serialize)]
pub struct Standstill {
    /// The rank that did, while others waited for it.
    pub rank: u32,
    /// For how long.
    pub seconds: f64,
    /// Who was named meanwhile.
    pub named: Vec<u32>,
    /// What was said of it.
    pub summary: String,
}

impl Standstill {
    fn of(plan: &Plan, blamed: Blamed) -> Self {
        let seconds = plan.length.saturating_sub(STILL_FROM).as_secs_f64();
        Self { rank: plan.slow, seconds, named: blamed.ranks, summary: blamed.summary }
    }
}

impl DemoDocument {
    pub(crate) fn new(
        plan: &Plan,
        verdict: Verdict,
        reported: Option<u32>,
        blamed: Option<Blamed>,
        folder: &Folder,
        took: Duration,
    ) -> Self {
        let [before_p50, after_p50, guaranteed_p50] = verdict.errors.percentiles(50);
        let [before_p99, after_p99, guaranteed_p99] = verdict.errors.percentiles(99);
        let [before_max, after_max, guaranteed_max] = verdict.errors.percentiles(100);
        Self {
            seed: plan.seed,
            ranks: (0..).zip(&verdict.ranks).map(RankClock::of).collect(),
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
            straggler: Straggler::of(plan, reported),
            standstill: blamed.map(|blamed| Standstill::of(plan, blamed)),
            steps: verdict.steps,
            stamps: verdict.errors.stamps(),
            trained_seconds: plan.length.as_secs_f64(),
            seconds: took.as_secs_f64(),
            report: folder.path().join("report").join("report.html"),
            timeline: folder.path().join("timeline.pftrace"),
        }
    }
}

impl Straggler {
    fn of(plan: &Plan, reported: Option<u32>) -> Self {
        let computes_more = matches!(plan.because, None | Some(Because::Kernel));
        let work = if computes_more { plan.slowness } else { 1.0 };
        let extra_ns = plan.extra().as_nanos() as u64;
        Self { rank: plan.slow, work, because: plan.because, extra_ns, reported }
    }
}

impl RankClock {
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
