//! Figures of two sides beside each other: every rank's time by class, the mean of the ranks, and collectives by what they move.
//!
//! These are the figures that workbooks and plots list. They say nothing about evidence but for a word beside each row: what is known of
//! a metric is in `metrics`. Two conventions differ in signs, so a document says which one it follows.

use serde::{Deserialize, Serialize};

use crate::CollectiveKind;
use crate::vocabulary::vocabulary;

/// A test beside the base, figure by figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideBySide {
    /// The label of the base.
    pub base: String,
    /// The label of the test.
    pub test: String,
    /// What signs and missing figures mean.
    pub convention: Convention,
    /// The time of each rank by class, in order of ranks and of names.
    pub ranks: Vec<TimeBeside>,
    /// The mean of all ranks.
    pub summary: Vec<TimeBeside>,
    /// Collectives by name, type and size: how long a transfer takes once all ranks have come.
    pub collectives: Vec<CollectiveBeside>,
    /// The time that each rank spends in them, waiting included.
    pub rank_collectives: Vec<RankCollectiveBeside>,
}

/// One figure of both sides. What does not exist is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Of the base.
    pub base: Option<f64>,
    /// Of the test.
    pub test: Option<f64>,
    /// Test minus base.
    pub diff: Option<f64>,
    /// The difference in percent of the base. Positive means more in the test, or better, as the convention says.
    pub percent_change: Option<f64>,
    /// Test over base.
    pub ratio: Option<f64>,
}

/// A class of time of one rank, or of the mean of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeBeside {
    /// The rank; null for the mean.
    pub rank: Option<u32>,
    /// The class: `computation_time`.
    pub name: String,
    /// The time in nanoseconds; that of a mean is no whole number of them.
    pub time: Beside,
    /// Percent of the rank's total in the base.
    pub base_percent: Option<f64>,
    /// The same in the test.
    pub test_percent: Option<f64>,
    /// The difference of these, in percentage points.
    pub diff_percent: Option<f64>,
    /// What is said of it.
    pub status: BesideStatus,
}

/// Collectives that move the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollectiveBeside {
    /// Name as recorded, or the kind's.
    pub name: String,
    /// The operation.
    pub kind: CollectiveKind,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements each rank puts in.
    pub in_elements: Option<u64>,
    /// Bytes that bandwidths count.
    pub bytes: Option<u64>,
    /// The process group, where several move the same.
    pub process_group: Option<String>,
    /// Mean of the shortest time that any rank spends in one, in nanoseconds.
    pub latency: Beside,
    /// Bytes over that time: 1e9 a second, or 2^30 where the convention is aorta's.
    pub algbw: Beside,
    /// The same times the operation's factor.
    pub busbw: Beside,
    /// Sum of these times, in nanoseconds.
    pub total: Beside,
    /// How many.
    pub count: Beside,
    /// What is said of the latency.
    pub status: BesideStatus,
}

/// Time of one rank in collectives that move the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankCollectiveBeside {
    /// The rank; null where the convention leaves it out.
    pub rank: Option<u32>,
    /// Name as recorded, or the kind's.
    pub name: String,
    /// Element type as recorded.
    pub dtype: String,
    /// Elements it puts in.
    pub in_elements: Option<u64>,
    /// The process group, where several move the same.
    pub process_group: Option<String>,
    /// Sum of its time in them, in nanoseconds.
    pub sum: Beside,
    /// Mean of it.
    pub mean: Beside,
    /// Shortest.
    pub min: Beside,
    /// Longest.
    pub max: Beside,
    /// How many.
    pub count: Beside,
    /// What is said of the mean.
    pub status: BesideStatus,
}

vocabulary! {
    /// What signs and missing figures mean.
    Convention {
        /// Every percentage is test minus base: a positive time takes longer. What one side lacks is null, and called new or gone.
        Rankscope = "rankscope",
        /// aorta's: positive is better, whatever the metric; without a base the change is 0 %; what one side lacks is left out.
        Aorta = "aorta",
    }
}

vocabulary! {
    /// What is said of a row, in a word: that of a verdict, or one of these.
    BesideStatus {
        /// aorta's: above its threshold.
        Better = "Better",
        /// aorta's: below its threshold.
        Worse = "Worse",
        /// aorta's: between its thresholds.
        Similar = "Similar",
        /// In the test only.
        New = "new",
        /// In the base only.
        Gone = "gone",
        /// Better, by more than the margin.
        Improved = "improved",
        /// Worse, by more than the margin.
        Regressed = "regressed",
        /// Another value, of a metric that has no better and worse.
        Changed = "changed",
        /// The same within the margin.
        Equivalent = "equivalent",
        /// Not decided.
        Inconclusive = "inconclusive",
        /// The two runs differ; whether their configurations do is not known.
        Differs = "differs",
        /// The two runs do not differ visibly.
        NoDifferenceSeen = "no_difference_seen",
        /// Too few observations to say anything.
        NoEvidence = "no_evidence",
    }
}

/// The values of a metric on every side, for plots of how they are distributed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricSeries {
    /// Its name, as in `metrics`.
    pub name: String,
    /// The values of each side, in the order of the sides.
    pub sides: Vec<SideSeries>,
}

/// The values of a metric on one side: nanoseconds, a value a step, warm-up left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideSeries {
    /// The side.
    pub label: String,
    /// A list for each run. Of more values than the document takes, evenly spaced ones.
    pub runs: Vec<Vec<f64>>,
    /// How many values there are in all.
    pub count: usize,
}

/// Two sides of a ranking beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairOfSides {
    /// The one that is taken for the base.
    pub base: String,
    /// The other.
    pub test: String,
    /// Difference of the time of a step, test minus base, in nanoseconds.
    pub shift: Option<f64>,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// The difference as a share of the base.
    pub ratio: Option<f64>,
    /// How likely a difference as large is if nothing changed, corrected for all pairs (Holm).
    pub p_adjusted: Option<f64>,
    /// What the evidence says, once all pairs are looked at together.
    pub verdict: crate::ChangeVerdict,
}
