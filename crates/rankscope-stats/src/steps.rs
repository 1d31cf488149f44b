//! Steps as what is repeated: the rank interval of the shift, with the number of steps that they are worth.
//!
//! The shift is the median of all differences between a step of the test and one of the base (Hodges and Lehmann), and its interval
//! runs from the k-th smallest to the k-th largest of them (Moses). k follows from the variance of Mann and Whitney's statistic,
//! larger by [`Resemblance::inflation`] because steps resemble each other. It refuses to bound what too few steps cannot bound.

use crate::differences::Differences;
use crate::estimate::{Estimate, median, widened};
use crate::ranks::Resemblance;
use crate::student;

/// The steps of two sides.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    differences: Differences,
    /// How much steps resemble each other. The logarithms of steps do so as much: ranks are the same.
    pub(crate) resemblance: Resemblance,
}

impl Steps {
    /// Of all runs together. None without values on a side.
    pub(crate) fn of(base: &[Vec<f64>], test: &[Vec<f64>]) -> Option<Self> {
        let resemblance = Resemblance::of(base, test);
        Differences::of(base.concat(), test.concat()).map(|differences| Self { differences, resemblance })
    }

    /// Of their logarithms; none unless all values are positive.
    pub(crate) fn logarithms(&self) -> Option<Self> {
        let logarithms = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
        let [base, test] = self.differences.sides();
        let positive = base[0] > 0.0 && test[0] > 0.0;
        let differences = positive.then(|| Differences::of(logarithms(base), logarithms(test))).flatten()?;
        Some(Self { differences, resemblance: self.resemblance })
    }

    /// The median of each side.
    pub(crate) fn medians(&self) -> [f64; 2] {
        self.differences.sides().map(median)
    }

    /// How many steps each side has.
    pub(crate) fn counts(&self) -> [f64; 2] {
        self.differences.sides().map(|side| side.len() as f64)
    }

    /// The median of all differences.
    pub(crate) fn shift(&self) -> f64 {
        self.differences.median()
    }

    /// The shift and its interval at level `alpha`, on each side wider by `widening`.
    pub(crate) fn estimate(&self, alpha: f64, widening: f64) -> Estimate {
        let bounds = self.depth(alpha).map(|k| {
            let last = self.differences.count() - 1;
            (self.differences.kth(k), self.differences.kth(last - k))
        });
        let interval = bounds.and_then(|bounds| widened(bounds, widening));
        Estimate { shift: self.shift(), interval, p: self.p(widening) }
    }

    /// How far the base's own median may be off: half of the interval between two of its order statistics. None: unbounded.
    pub(crate) fn base_half_width(&self, alpha: f64) -> Option<f64> {
        let base = self.differences.sides()[0];
        let (n, inflation) = (base.len() as f64, self.resemblance.inflation());
        let t = student::quantile(alpha, (n / inflation - 1.0).max(2.0))?;
        let depth = (n / 2.0 - t * (n * inflation).sqrt() / 2.0).floor();
        let k = (depth >= 0.0).then_some(depth as usize)?;
        Some((base[base.len() - 1 - k] - base[k]) / 2.0)
    }

    /// How many differences lie outside the interval on each side. None: even the outermost do not bound the shift.
    pub(crate) fn depth(&self, alpha: f64) -> Option<u64> {
        let [n, m] = self.counts();
        depth(n, m, self.resemblance.inflation(), alpha)
    }

    /// The chance of so many differences beyond `widening` on one side of zero, if there were no more than that.
    fn p(&self, widening: f64) -> f64 {
        // What is no width explains everything.
        if widening.is_nan() || widening < 0.0 {
            return 1.0;
        }
        // Equal numbers of differences on both sides are what no shift gives; those that lie on the border are shared.
        let beyond = |smaller: u64, at_most: u64| (smaller + at_most) as f64 / 2.0;
        let all = self.differences.count() as f64;
        let above = all - beyond(self.differences.below(widening), self.differences.at_most(widening));
        let below = beyond(self.differences.below(-widening), self.differences.at_most(-widening));
        let excess = above.max(below) - all / 2.0;
        let ([n, m], inflation) = (self.counts(), self.resemblance.inflation());
        if excess > 0.0 { student::p(excess / deviation(n, m, inflation), freedom(n, m, inflation)) } else { 1.0 }
    }
}

/// As [`Steps::depth`], of `n` and `m` steps.
pub(crate) fn depth(n: f64, m: f64, inflation: f64, alpha: f64) -> Option<u64> {
    let t = student::quantile(alpha, freedom(n, m, inflation))?;
    let k = (n * m / 2.0 - t * deviation(n, m, inflation)).floor();
    (k >= 0.0).then_some(k as u64)
}

/// Degrees of freedom of the steps' worth.
pub(crate) fn freedom(n: f64, m: f64, inflation: f64) -> f64 {
    ((n + m) / inflation - 2.0).max(2.0)
}

/// Standard deviation of Mann and Whitney's statistic.
fn deviation(n: f64, m: f64, inflation: f64) -> f64 {
    (n * m * (n + m + 1.0) / 12.0 * inflation).sqrt()
}
