//! Runs as they are compared: without their first steps, and without values that are no numbers.

use crate::settings::Side;

/// Steps at the start of a run of `n` that are left out: five, or a quarter of a short run.
pub fn warm_up(n: usize) -> usize {
    5.min(n / 4)
}

/// The length of a run of which `n` steps are left without its warm-up.
pub fn whole_run(n: usize) -> usize {
    (n..).find(|whole| whole - warm_up(*whole) >= n).unwrap_or(n)
}

/// Steps below which a run is no evidence.
pub(crate) const LEAST: usize = 10;

/// Whether differences and sums of such values are numbers, too.
pub(crate) fn usable(value: f64) -> bool {
    value.abs() <= 1e300
}

/// One side, ready to be compared.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cleaned {
    /// Runs of which at least [`LEAST`] steps are left.
    pub(crate) runs: Vec<Vec<f64>>,
    /// The others.
    pub(crate) short: Vec<Vec<f64>>,
    pub(crate) dropped_warmup: usize,
    pub(crate) not_finite: usize,
}

impl Cleaned {
    pub(crate) fn of(side: &Side<'_>) -> Self {
        let mut cleaned = Self::default();
        for run in side.runs {
            let (early, rest) = run.split_at(warm_up(run.len()));
            // One zero, not two: what is subtracted from it then has one sign.
            let kept: Vec<f64> = rest.iter().copied().filter(|value| usable(*value)).map(|value| value + 0.0).collect();
            cleaned.dropped_warmup += early.len();
            cleaned.not_finite += rest.len() - kept.len();
            if kept.len() < LEAST { cleaned.short.push(kept) } else { cleaned.runs.push(kept) }
        }
        cleaned
    }

    /// How many steps there are to compare.
    pub(crate) fn steps(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// The runs to compare or, if none is long enough, whatever there is.
    pub(crate) fn at_hand(&self) -> &[Vec<f64>] {
        if self.runs.is_empty() { &self.short } else { &self.runs }
    }
}

/// Whether two sides are the same runs, in whatever order.
pub(crate) fn same(base: &Side<'_>, test: &Side<'_>) -> bool {
    let sorted = |side: &Side<'_>| {
        let bits = |run: &&[f64]| run.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
        let mut runs: Vec<Vec<u64>> = side.runs.iter().map(bits).collect();
        runs.sort();
        runs
    };
    let lengths = |side: &Side<'_>| side.runs.iter().map(|run| run.len()).sum::<usize>();
    base.runs.len() == test.runs.len() && lengths(base) == lengths(test) && sorted(base) == sorted(test)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_a_short_run_and_five_steps_of_a_long_one_are_warm_up() {
        assert_eq!([0, 1, 3, 4, 13, 19, 20, 1000].map(warm_up), [0, 0, 0, 1, 3, 4, 5, 5]);
        assert_eq!([0, 1, 10, 30].map(whole_run), [0, 1, 13, 35]);
        assert!((0..200).all(|n| whole_run(n) - warm_up(whole_run(n)) == n));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let long: Vec<f64> = (0..20).map(|step| if step == 7 { f64::NAN } else { f64::from(step) }).collect();
        let cleaned = Cleaned::of(&Side { runs: &[&long, &[1.0, f64::INFINITY], &[]] });
        assert_eq!((cleaned.runs.len(), cleaned.short.len()), (1, 2));
        assert_eq!((cleaned.dropped_warmup, cleaned.not_finite, cleaned.steps()), (5, 2, 14));
    }
}
