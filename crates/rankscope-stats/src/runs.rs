//! Runs as what is repeated: the medians of the runs of each side, and Student's t with a common variance.
//!
//! What a run has that another has not (another node, another placement, a warmer machine) is in all of its steps. Only runs
//! repeat it, so where there are three a side their steps serve for nothing but the median of each.

use crate::estimate::{Estimate, deviations, mean, medians, widened};
use crate::settings::RunSpread;
use crate::student;

/// From how many runs on each side a verdict is about runs.
pub const RUNS_MIN: usize = 3;

/// The medians of the runs of two sides, two or more each.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// Sorted, so that the order of runs does not matter to the last bit.
    sides: [Vec<f64>; 2],
}

impl Runs {
    /// None with fewer than two runs on a side.
    pub(crate) fn of(base: &[Vec<f64>], test: &[Vec<f64>]) -> Option<Self> {
        Self::of_medians([medians(base), medians(test)])
    }

    fn of_medians(mut sides: [Vec<f64>; 2]) -> Option<Self> {
        sides.iter_mut().for_each(|side| side.sort_by(f64::total_cmp));
        sides.iter().all(|side| side.len() >= 2).then_some(Self { sides })
    }

    /// Of their logarithms; none unless all are positive.
    pub(crate) fn logarithms(&self) -> Option<Self> {
        let logarithms = |side: &Vec<f64>| side.iter().map(|median| median.ln()).collect();
        let positive = self.sides.iter().all(|side| side[0] > 0.0);
        positive.then(|| Self { sides: [0, 1].map(|side| logarithms(&self.sides[side])) })
    }

    /// The mean of the medians of each side.
    pub(crate) fn means(&self) -> [f64; 2] {
        [0, 1].map(|side| mean(&self.sides[side]))
    }

    /// How many runs each side has.
    pub(crate) fn counts(&self) -> [f64; 2] {
        [0, 1].map(|side| self.sides[side].len() as f64)
    }

    /// The shift and its interval at level `alpha`, on each side wider by `widening`.
    pub(crate) fn estimate(&self, alpha: f64, widening: f64) -> Estimate {
        let [base, test] = self.means();
        let (shift, error, df) = (test - base + 0.0, self.error(), self.freedom());
        let half = student::quantile(alpha, df).map(|t| t * error);
        let interval = half.and_then(|half| widened((shift - half, shift + half), widening));
        let excess = shift.abs() - widening;
        let p = if excess > 0.0 && widening >= 0.0 { student::p(excess / error, df) } else { 1.0 };
        Estimate { shift, interval, p }
    }

    /// How far the base's own mean may be off.
    pub(crate) fn base_half_width(&self, alpha: f64) -> Option<f64> {
        let base = &self.sides[0];
        let df = (base.len() - 1) as f64;
        let error = deviations(base) / (df * base.len() as f64).sqrt();
        student::quantile(alpha, df).map(|t| t * error)
    }

    fn freedom(&self) -> f64 {
        let [n, m] = self.counts();
        n + m - 2.0
    }

    /// Standard error of the shift.
    fn error(&self) -> f64 {
        let [n, m] = self.counts();
        let [base, test] = [0, 1].map(|side| deviations(&self.sides[side]));
        base.hypot(test) / self.freedom().sqrt() * (1.0 / n + 1.0 / m).sqrt()
    }
}

/// The interval of the difference of the means of `base` and `test`, which have one value a run, at level `alpha`: Student's with a common
/// variance. Two sides of the same values do not differ. None with fewer than [`RUNS_MIN`] runs on a side, or where nothing bounds it.
pub fn between_runs(base: &[f64], test: &[f64], alpha: f64) -> Option<(f64, f64)> {
    if base.len() < RUNS_MIN || test.len() < RUNS_MIN {
        return None;
    }
    let runs = Runs::of_medians([base.to_vec(), test.to_vec()])?;
    if runs.sides[0] == runs.sides[1] { Some((0.0, 0.0)) } else { runs.estimate(alpha, 0.0).interval }
}

/// The spread between runs by the medians of at least two of them; none with fewer, or where their mean is zero.
///
/// Medians that are no finite numbers do not count.
pub fn run_spread(medians: &[f64]) -> Option<RunSpread> {
    let mut sorted: Vec<f64> = medians.iter().copied().filter(|median| crate::series::usable(*median)).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < 2 {
        return None;
    }
    let relative = deviations(&sorted) / ((sorted.len() - 1) as f64).sqrt() / mean(&sorted).abs();
    relative.is_finite().then_some(RunSpread { relative, runs: Some(sorted.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_t_test() {
        // scipy.stats.ttest_ind([105, 103, 108], [100, 101, 99]): its p value and confidence_interval().
        let runs = Runs::of_medians([vec![100.0, 101.0, 99.0], vec![105.0, 103.0, 108.0]]).unwrap();
        let found = runs.estimate(0.05, 0.0);
        let (low, high) = found.interval.unwrap();
        assert!((found.shift - 16.0 / 3.0).abs() < 1e-12, "{found:?}");
        for (found, expected) in [(low, 0.9924393740985451), (high, 9.674227292568112), (found.p, 0.026997302257346475)] {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn one_value_a_run_has_the_interval_of_a_series_of_it() {
        let (base, test) = ([100.0, 101.0, 99.0], [105.0, 103.0, 108.0]);
        let repeated = |values: [f64; 3]| values.map(|value| [value; 16]);
        let of_series = |base: [[f64; 16]; 3], test: [[f64; 16]; 3]| {
            let (base, test) = (base.each_ref().map(<[f64; 16]>::as_slice), test.each_ref().map(<[f64; 16]>::as_slice));
            let settings = crate::Settings::new(crate::Direction::Neutral);
            crate::compare(&crate::Side { runs: &base }, &crate::Side { runs: &test }, &settings).interval
        };
        assert_eq!(between_runs(&base, &test, 0.05), of_series(repeated(base), repeated(test)));
        assert_eq!(between_runs(&base, &[99.0, 100.0, 101.0], 0.05), Some((0.0, 0.0)));
        assert_eq!(between_runs(&base, &test[..2], 0.05), None);
    }

    #[test]
    fn runs_that_do_not_differ_have_no_spread_and_one_run_has_none_known() {
        assert_eq!(run_spread(&[0.1, 0.1, 0.1]).unwrap().relative, 0.0);
        assert_eq!(run_spread(&[0.1]), None);
        assert_eq!(run_spread(&[-1.0, 1.0]), None);
        assert_eq!(run_spread(&[f64::NAN, 1.0]), None);
    }

    #[test]
    fn the_spread_is_the_standard_deviation_over_the_mean() {
        let spread = run_spread(&[99.0, 100.0, 101.0]).unwrap();
        assert!((spread.relative - 0.01).abs() < 1e-15);
        assert_eq!(spread.runs, Some(3));
    }

    #[test]
    fn equal_medians_give_exactly_nothing() {
        let runs = Runs::of_medians([vec![0.1; 3], vec![0.1; 5]]).unwrap();
        assert_eq!(runs.estimate(0.05, 0.0), Estimate { shift: 0.0, interval: Some((0.0, 0.0)), p: 1.0 });
    }
}
