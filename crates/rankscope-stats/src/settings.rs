//! What is asked of a comparison: how sure, how much is too little to matter, and what is known beside the two series.

/// One side of a comparison: a series a run, a value a step, in order of time. The warm-up is still in them.
///
/// Values are lengths, counts or rates. Absolute stamps do not come here: an `f64` cannot hold them.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// One series a run.
    pub runs: &'a [&'a [f64]],
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Time, memory, waits.
    LowerIsBetter,
    /// Bandwidth, throughput, utilisation.
    HigherIsBetter,
    /// Neither: counts, shapes. The verdict is [`Changed`](crate::Verdict::Changed), never improved or regressed.
    Neutral,
}

/// Options of [`compare`](crate::compare). One that makes no sense (not a number, negative, a level outside 0 to 1) decides
/// nothing: the verdict is then [`Inconclusive`](crate::Verdict::Inconclusive).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Chance of an interval that does not hold the truth, and so of a false alarm. 0.05.
    pub alpha: f64,
    /// A relative change that is too small to matter: 0.01 is one percent of the baseline.
    pub margin: f64,
    /// How much runs of the same program differ, where that is known from other runs. Used where a side has fewer than three
    /// runs; without it such a comparison says only how these two runs differ.
    pub run_spread: Option<RunSpread>,
    /// By how much the difference may be wrong because clocks are, in the unit of the values. For metrics across ranks; 0 for
    /// what one rank measures by itself.
    pub clock_uncertainty: f64,
    /// Which way is better.
    pub direction: Direction,
}

impl Settings {
    /// A level of 5 %, and the margin that is usual for such a metric: 2 % where higher is better (bandwidth), else 1 % (time).
    pub fn new(direction: Direction) -> Self {
        let margin = if direction == Direction::HigherIsBetter { 0.02 } else { 0.01 };
        Self { alpha: 0.05, margin, run_spread: None, clock_uncertainty: 0.0, direction }
    }

    /// With another chance of false alarms.
    pub fn with_alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }

    /// With another margin, relative to the baseline.
    pub fn with_margin(self, margin: f64) -> Self {
        Self { margin, ..self }
    }

    /// With a known spread between runs.
    pub fn with_run_spread(self, run_spread: RunSpread) -> Self {
        Self { run_spread: Some(run_spread), ..self }
    }

    /// With an uncertainty of clocks, in the unit of the values.
    pub fn with_clock_uncertainty(self, clock_uncertainty: f64) -> Self {
        Self { clock_uncertainty, ..self }
    }
}

/// How much the medians of runs of the same program differ from run to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSpread {
    /// Standard deviation between runs, relative to their mean: 0.003 is 0.3 %.
    pub relative: f64,
    /// How many runs it was computed from; none if somebody states it. Few runs tell it badly, and intervals allow for that.
    pub runs: Option<usize>,
}

impl RunSpread {
    /// A spread that is known from elsewhere.
    pub fn stated(relative: f64) -> Self {
        Self { relative, runs: None }
    }
}
