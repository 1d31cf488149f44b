//! A shift with its interval and p value, and what both units need to get one.

/// What two samples say about their shift.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Test less base.
    pub(crate) shift: f64,
    /// None: unbounded.
    pub(crate) interval: Option<(f64, f64)>,
    /// The chance of such a shift without a difference.
    pub(crate) p: f64,
}

/// Bounds, further apart on each side. None where `by` is no width.
pub(crate) fn widened((low, high): (f64, f64), by: f64) -> Option<(f64, f64)> {
    let (low, high) = (low - by, high + by);
    (by >= 0.0 && low.is_finite() && high.is_finite()).then_some((low, high))
}

/// The median of sorted values, of which there are some.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

/// The median of each run.
pub(crate) fn medians(runs: &[Vec<f64>]) -> Vec<f64> {
    let median_of = |run: &Vec<f64>| {
        let mut sorted = run.clone();
        sorted.sort_by(f64::total_cmp);
        median(&sorted)
    };
    runs.iter().filter(|run| !run.is_empty()).map(median_of).collect()
}

/// The mean of sorted values, of which there are some: exact where all are equal.
pub(crate) fn mean(sorted: &[f64]) -> f64 {
    let first = sorted[0];
    first + sorted.iter().map(|value| (value - first) / sorted.len() as f64).sum::<f64>()
}

/// The root of the sum of squares of deviations from the mean, which neither overflows nor vanishes.
pub(crate) fn deviations(sorted: &[f64]) -> f64 {
    let mean = mean(sorted);
    let largest = sorted.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    largest * sorted.iter().map(|value| ((value - mean) / largest).powi(2)).sum::<f64>().sqrt()
}
