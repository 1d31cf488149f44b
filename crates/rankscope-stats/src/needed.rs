//! How many runs or steps would decide, if they vary as the present ones do.

use crate::evidence::Needed;
use crate::{runs, series, steps, student};

/// Runs a side that we recommend.
const RECOMMENDED: usize = 5;

/// Nobody makes more runs, or runs longer than this, to settle one question.
const MOST_RUNS: usize = 1_000;
const MOST_STEPS: usize = 1_000_000;

/// The steps at hand and what they bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtHand {
    /// Steps or runs of each side.
    pub(crate) counts: [f64; 2],
    /// How many steps are worth one.
    pub(crate) inflation: f64,
    /// Half of the interval, without what widens it.
    pub(crate) half_width: f64,
    /// Half of the interval may be this wide.
    pub(crate) wanted: f64,
    /// What steps or runs do not reduce: uncertainty of clocks.
    pub(crate) fixed: f64,
    pub(crate) alpha: f64,
}

/// Steps a run that leave enough for any verdict.
pub(crate) fn any_evidence() -> Needed {
    Needed::Steps(series::whole_run(series::LEAST))
}

/// Steps a run that bound the shift at all.
pub(crate) fn any_bounds(inflation: f64, alpha: f64) -> Option<Needed> {
    least(series::LEAST, MOST_STEPS, |n| steps::depth(n as f64, n as f64, inflation, alpha).is_some())
        .map(|n| Needed::Steps(series::whole_run(n)))
}

impl AtHand {
    /// Runs, where runs are the unit.
    pub(crate) fn runs(&self) -> Option<Needed> {
        let [n, m] = self.counts;
        let deviation = self.half_width / (student::quantile(self.alpha, n + m - 2.0)? * (1.0 / n + 1.0 / m).sqrt());
        self.runs_of(deviation, runs::RUNS_MIN)
    }

    /// Steps, where the spread between runs is known and widens the interval by `spread`; or runs, if no number of steps would do.
    pub(crate) fn steps_or_runs(&self, spread: f64, deviation_of_runs: f64) -> Option<Needed> {
        let reach = self.wanted - self.fixed - spread;
        self.steps_within(reach).or_else(|| self.runs_of(deviation_of_runs.hypot(self.deviation_of_medians()?), runs::RUNS_MIN))
    }

    /// Runs, where nothing is known of how they vary: what their steps alone make necessary, and never fewer than recommended.
    pub(crate) fn runs_at_least(&self) -> Option<Needed> {
        self.runs_of(self.deviation_of_medians()?, RECOMMENDED)
    }

    fn steps_within(&self, reach: f64) -> Option<Needed> {
        let [n, m] = self.counts;
        let quantile = |n: f64, m: f64| student::quantile(self.alpha, steps::freedom(n, m, self.inflation));
        let now = self.half_width / (quantile(n, m)? * (1.0 / n + 1.0 / m).sqrt());
        let from = n.min(m) as usize;
        let enough = |steps: usize| {
            let steps = steps as f64;
            quantile(steps, steps).is_some_and(|t| now * t * (2.0 / steps).sqrt() < reach)
        };
        least(from, MOST_STEPS, enough).map(|n| Needed::Steps(series::whole_run(n)))
    }

    /// How much medians of runs of such steps vary because of the steps alone.
    fn deviation_of_medians(&self) -> Option<f64> {
        let [n, m] = self.counts;
        let t = student::quantile(self.alpha, steps::freedom(n, m, self.inflation))?;
        Some(self.half_width / t / std::f64::consts::SQRT_2)
    }

    fn runs_of(&self, deviation: f64, from: usize) -> Option<Needed> {
        let reach = self.wanted - self.fixed;
        let half_width = |runs: usize| {
            let runs = runs as f64;
            student::quantile(self.alpha, 2.0 * runs - 2.0).map(|t| t * deviation * (2.0 / runs).sqrt())
        };
        least(from, MOST_RUNS, |runs| half_width(runs).is_some_and(|half| half < reach)).map(Needed::Runs)
    }
}

/// The least number from `from` to `most` that is enough, where whatever is larger than one that is enough is enough, too.
fn least(from: usize, most: usize, enough: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut low, mut high) = (from, most);
    if !enough(high) {
        return None;
    }
    while low < high {
        let middle = low.midpoint(high);
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: AtHand = AtHand { counts: [5.0; 2], inflation: 1.0, half_width: 1.0, wanted: 0.5, fixed: 0.0, alpha: 0.05 };

    #[test]
    fn thirteen_steps_leave_ten() {
        assert_eq!(any_evidence(), Needed::Steps(13));
    }

    #[test]
    fn half_the_width_needs_less_than_four_times_the_runs() {
        // t falls, too: 2.306 at 8 degrees of freedom, 2.042 at 30.
        assert_eq!(RUNS.runs(), Some(Needed::Runs(16)));
    }

    #[test]
    fn a_shift_that_is_the_margin_is_never_decided() {
        assert_eq!(AtHand { wanted: 0.0, ..RUNS }.runs(), None);
        assert_eq!(AtHand { fixed: 0.5, ..RUNS }.runs(), None);
    }

    #[test]
    fn steps_cannot_undo_the_spread_between_runs() {
        let steps = AtHand { counts: [25.0; 2], ..RUNS };
        assert!(matches!(steps.steps_or_runs(0.1, 0.05), Some(Needed::Steps(n)) if n > 30));
        assert!(matches!(steps.steps_or_runs(0.6, 0.3), Some(Needed::Runs(n)) if n > 3));
    }

    #[test]
    fn steps_that_resemble_each_other_need_to_be_more() {
        let Some(Needed::Steps(few)) = any_bounds(1.0, 0.05) else { panic!() };
        let Some(Needed::Steps(many)) = any_bounds(4.0, 0.05) else { panic!() };
        assert!(few == 13 && many > 20, "{few} {many}");
    }
}
