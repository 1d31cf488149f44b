//! Mean, median, least and most.

/// Of at least one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) mean: f64,
    /// Of an even number of values, the middle between the two in the middle.
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl Spread {
    /// Of `values`; none of none.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { mean, median: median(&values)?, min, max })
    }

    /// Least and most of lengths of time, which are whole nanoseconds.
    pub(super) fn ends_ns(self) -> (i64, i64) {
        (self.min as i64, self.max as i64)
    }
}

/// The median of `sorted` values; none of none.
pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let (low, high) = (sorted.get(sorted.len().checked_sub(1)? / 2)?, sorted.get(sorted.len() / 2)?);
    Some(low.midpoint(*high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_the_middle() {
        let spread = |values: &[f64]| {
            Spread::of(values.iter().copied()).map(|spread| (spread.mean, spread.median, spread.min, spread.max))
        };
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[5.0]), Some((5.0, 5.0, 5.0, 5.0)));
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some((4.0, 2.0, 1.0, 9.0)));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some((2.5, 2.5, 1.0, 4.0)));
    }
}
