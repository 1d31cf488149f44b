//! Exact slopes: one integer over another.

use std::cmp::Ordering;

use super::Point;

/// `rise` over `run`, both in nanoseconds. Not reduced: `2/4` equals `1/2` by comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slope {
    pub(super) rise: i128,
    /// Above zero.
    pub(super) run: i64,
}

impl Slope {
    /// Of the line from `left` to `right`, which lies further right.
    pub(super) fn between(left: Point, right: Point) -> Self {
        Self { rise: i128::from(right.y) - i128::from(left.y), run: right.x - left.x }
    }

    pub(super) fn from_ppb(ppb: i64) -> Self {
        Self { rise: i128::from(ppb), run: 1_000_000_000 }
    }

    /// The nearest slope that is a multiple of a billionth of a ppb: enough for a float, for where exactness ends anyway.
    pub(super) fn nearest_ppb(ppb: f64) -> Self {
        // A clamp, because products of what a float can hold would leave `i128`.
        Self { rise: (ppb.clamp(-1e12, 1e12) * 1e6).round() as i128, run: 1_000_000_000_000_000 }
    }

    pub(super) fn ppb(self) -> f64 {
        self.rise as f64 / self.run as f64 * 1e9
    }

    /// `run` times what the line through `point` has at 0. Exact.
    pub(super) fn intercept_times_run(self, point: Point) -> i128 {
        i128::from(point.y) * i128::from(self.run) - self.rise * i128::from(point.x)
    }
}

impl std::ops::Neg for Slope {
    type Output = Self;
    fn neg(self) -> Self {
        Self { rise: -self.rise, run: self.run }
    }
}

impl PartialEq for Slope {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Slope {}
impl PartialOrd for Slope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Slope {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rise * i128::from(other.run)).cmp(&(other.rise * i128::from(self.run)))
    }
}
