//! What a comparison says: figures, intervals and a verdict.

use crate::settings::RunSpread;

/// What is repeated, and so what the interval is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Runs: at least three a side.
    Run,
    /// Steps of the runs at hand.
    Step,
}

/// What the ratio was computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Basis {
    /// The shift divided by the baseline, which is known well.
    Differences,
    /// Differences of logarithms, since the baseline itself is uncertain by 5 % or more.
    Logarithms,
}

/// What to conclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Better, by the margin or more, and not by chance.
    Improved,
    /// Worse, by the margin or more, and not by chance.
    Regressed,
    /// The metric of no direction changed, by the margin or more, and not by chance.
    Changed,
    /// The whole interval is within the margin, or the two sides are the same values.
    Equivalent,
    /// Neither: the evidence does not suffice.
    Inconclusive,
    /// These two runs differ by the margin or more. Nobody knows whether two runs of the same program would.
    Differs,
    /// These two runs do not differ by the margin as far as their steps tell. Nobody knows about other runs.
    NoDifferenceSeen,
    /// Fewer than ten steps are left on a side.
    NoEvidence,
}

/// How much more would decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Needed {
    /// So many runs on each side.
    Runs(usize),
    /// So many steps in each run, the warm-up included.
    Steps(usize),
}

/// Two sides compared. What is per side is in the order base, test. Positive means that test is larger.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// What is repeated.
    pub unit: Unit,
    /// The median of the base: of its steps, or the mean of its runs' medians where runs are the unit. None without values.
    pub base: Option<f64>,
    /// The same of the test.
    pub test: Option<f64>,
    /// Test less base, in the unit of the values: the median of the differences of all pairs of steps, or the difference of the
    /// means of the runs' medians. Not always the difference of the medians above.
    pub shift: Option<f64>,
    /// What the shift may be. None: unbounded, or no evidence.
    pub interval: Option<(f64, f64)>,
    /// The shift as part of the baseline: 0.01 is one percent more. None where the baseline is zero.
    pub ratio: Option<f64>,
    /// What the ratio may be.
    pub ratio_interval: Option<(f64, f64)>,
    /// Where ratio and verdict come from.
    pub basis: Basis,
    /// The chance of such a difference or a larger one if there were none but what clocks and the known spread between runs
    /// explain. Not corrected for other metrics: see [`holm`](crate::holm).
    pub p: Option<f64>,
    /// With two runs or more a side but fewer than three on one: the interval of the shift by runs, which gives no verdict.
    pub between_runs: Option<(f64, f64)>,
    /// The spread between runs that widened the interval.
    pub run_spread: Option<RunSpread>,
    /// Steps at the start of runs that were left out.
    pub dropped_warmup: [usize; 2],
    /// Values left out because they are no finite numbers.
    pub not_finite: [usize; 2],
    /// Runs left out because fewer than ten steps of them remain.
    pub short_runs: [usize; 2],
    /// Runs that were compared.
    pub runs: [usize; 2],
    /// Steps that were compared.
    pub steps: [usize; 2],
    /// How many independent steps they are worth.
    pub effective_steps: [f64; 2],
    /// How much a step resembles the one before it: the correlation of ranks that was allowed for, 0 to 0.95.
    pub rho: Option<f64>,
    /// What to conclude.
    pub verdict: Verdict,
    /// The difference is smaller than the margin, yet not zero: "equivalent, measurably +0.3 %".
    pub measurable: bool,
    /// What would decide. None where it is decided, or where no number would do.
    pub needed: Option<Needed>,
}
