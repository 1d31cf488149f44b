//! Count, sum, least and most of some lengths: what tables tell of work that ran many times.

use serde::{Deserialize, Serialize};

/// Lengths of work of one sort, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_ns: i64,
    /// The shortest; 0 of none.
    pub min_ns: i64,
    /// The longest; 0 of none.
    pub max_ns: i64,
}

impl Spread {
    /// One more.
    pub fn add(&mut self, ns: i64) {
        self.join(Self { count: 1, sum_ns: ns, min_ns: ns, max_ns: ns });
    }

    /// All of `others` too.
    pub fn join(&mut self, others: Self) {
        if others.count == 0 {
            return;
        }
        *self = Self {
            count: self.count + others.count,
            sum_ns: self.sum_ns.saturating_add(others.sum_ns),
            min_ns: if self.count == 0 { others.min_ns } else { self.min_ns.min(others.min_ns) },
            max_ns: if self.count == 0 { others.max_ns } else { self.max_ns.max(others.max_ns) },
        };
    }

    /// The mean; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }
}

/// A [`Spread`] and its median.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// Count, sum, least and most.
    pub spread: Spread,
    /// The middle one, the lower of two, in nanoseconds; none of none, nor where several exports were joined.
    pub median_ns: Option<i64>,
}

impl Lengths {
    /// Those of `lengths`, in nanoseconds.
    pub fn of(mut lengths: Vec<i64>) -> Self {
        let mut spread = Spread::default();
        lengths.iter().for_each(|ns| spread.add(*ns));
        let middle = lengths.len().saturating_sub(1) / 2;
        let median_ns = (!lengths.is_empty()).then(|| *lengths.select_nth_unstable(middle).1);
        Self { spread, median_ns }
    }

    /// All of `others` too. The median of two lists does not follow from theirs.
    pub fn join(&mut self, others: Self) {
        let median_ns = match (self.spread.count, others.spread.count) {
            (_, 0) => self.median_ns,
            (0, _) => others.median_ns,
            _ => None,
        };
        self.spread.join(others.spread);
        self.median_ns = median_ns;
    }
}

/// A [`Spread`], and what else follows from lengths that are all known: how far they lie from their mean, and which are in the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Count, sum, least and most.
    pub spread: Spread,
    /// Sum of their squares; the greatest number where it does not fit.
    squares: u128,
    /// The two in the middle, which are one of an odd number; none of none, nor where several exports were joined.
    middle: Option<[i64; 2]>,
}

impl Distribution {
    /// Those of `lengths`, in nanoseconds, which are put in another order.
    pub fn of(lengths: &mut [i64]) -> Self {
        let mut spread = Spread::default();
        let mut squares = 0_u128;
        for ns in lengths.iter() {
            spread.add(*ns);
            squares = squares.saturating_add(u128::from(ns.unsigned_abs()).pow(2));
        }
        Self { spread, squares, middle: middle(lengths) }
    }

    /// The mean of the two in the middle, or the one in the middle; none where it is not known.
    pub fn median_ns(&self) -> Option<f64> {
        self.middle_of(|ns| Some(ns as f64))
    }

    /// How fast each was, if each did `amount`; none where one took no time.
    pub fn rates(&self, amount: u64) -> Option<Rates> {
        let rate = |ns: i64| (ns > 0).then(|| amount as f64 / ns as f64 / 1e3);
        let (min, max) = (rate(self.spread.max_ns)?, rate(self.spread.min_ns)?);
        Some(Rates { median: self.middle_of(rate), min, max })
    }

    /// The median of what `each` makes of a length, which has to rise or fall with it.
    fn middle_of(&self, each: impl Fn(i64) -> Option<f64>) -> Option<f64> {
        let [below, above] = self.middle?;
        Some(f64::midpoint(each(below)?, each(above)?))
    }

    /// The standard deviation of a sample; none of fewer than two, nor where a sum does not fit.
    pub fn std_ns(&self) -> Option<f64> {
        if self.spread.count < 2 || self.spread.sum_ns == i64::MAX || self.squares == u128::MAX {
            return None;
        }
        let (count, sum) = (u128::from(self.spread.count), u128::from(self.spread.sum_ns.unsigned_abs()));
        let pairs = count * (count - 1);
        // In integers, because little remains of the difference of two large sums.
        let deviation = count.checked_mul(self.squares)?.checked_sub(sum.pow(2))?;
        Some((deviation as f64 / pairs as f64).sqrt())
    }

    /// All of `others` too. The median of two lists does not follow from theirs.
    pub fn join(&mut self, others: Self) {
        let middle = match (self.spread.count, others.spread.count) {
            (_, 0) => self.middle,
            (0, _) => others.middle,
            _ => None,
        };
        self.spread.join(others.spread);
        (self.squares, self.middle) = (self.squares.saturating_add(others.squares), middle);
    }
}

/// How fast work of one sort was, each by itself, in 10^12 a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The median; none where it is not known.
    pub median: Option<f64>,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

/// The two of `lengths` in the middle.
fn middle(lengths: &mut [i64]) -> Option<[i64; 2]> {
    let above = lengths.len() / 2;
    if lengths.is_empty() {
        return None;
    }
    let is_odd = lengths.len() % 2 == 1;
    let (shorter, middle, _) = lengths.select_nth_unstable(above);
    let middle = *middle;
    Some(if is_odd { [middle; 2] } else { [shorter.iter().copied().max().unwrap_or(middle), middle] })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn median_and_deviation_are_those_of_the_sorted_list(lengths in proptest::collection::vec(0_i64..1 << 40, 1..50)) {
            let told = Distribution::of(&mut lengths.clone());
            let mut sorted = lengths.clone();
            sorted.sort_unstable();
            let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
            prop_assert_eq!(told.median_ns(), Some((low as f64 + high as f64) / 2.0));
            let mean = lengths.iter().sum::<i64>() as f64 / lengths.len() as f64;
            let squares: f64 = lengths.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum();
            let expected = (lengths.len() > 1).then(|| (squares / (lengths.len() as f64 - 1.0)).sqrt());
            prop_assert_eq!(told.std_ns().is_some(), expected.is_some());
            if let Some((told, expected)) = told.std_ns().zip(expected) {
                prop_assert!((told - expected).abs() <= 1e-6 * expected.max(1.0), "{} {}", told, expected);
            }
        }

        #[test]
        fn two_lists_have_the_deviation_of_both_and_no_median(
            one in proptest::collection::vec(0_i64..1 << 40, 0..20),
            two in proptest::collection::vec(0_i64..1 << 40, 0..20),
        ) {
            let mut joined = Distribution::of(&mut one.clone());
            joined.join(Distribution::of(&mut two.clone()));
            let whole = Distribution::of(&mut [&one[..], &two].concat());
            prop_assert_eq!((joined.spread, joined.std_ns()), (whole.spread, whole.std_ns()));
            let median = if one.is_empty() || two.is_empty() { whole.median_ns() } else { None };
            prop_assert_eq!(joined.median_ns(), median);
        }
    }

    #[test]
    fn what_does_not_fit_has_no_deviation() {
        let huge = Distribution::of(&mut [i64::MAX; 4]);
        assert_eq!((huge.std_ns(), huge.median_ns()), (None, Some(i64::MAX as f64)));
    }
}
