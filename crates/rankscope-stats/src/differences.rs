//! All differences between the values of two sides, without ever writing them down.
//!
//! The differences of two sorted series are a matrix whose rows and columns are sorted. How many of them are at most `v` is counted
//! along its edge in linear time, and the k-th smallest is found by halving the range of floating-point numbers: at most 64 counts,
//! exact, and no n^2 memory, be there ten steps or a million.

/// Differences `test - base` of two series that are not empty, finite and sorted.
#[derive(Clone, Debug)]
pub(crate) struct Differences {
    base: Vec<f64>,
    test: Vec<f64>,
}

impl Differences {
    /// Of values in any order. None without values on a side.
    pub(crate) fn of(mut base: Vec<f64>, mut test: Vec<f64>) -> Option<Self> {
        base.sort_by(f64::total_cmp);
        test.sort_by(f64::total_cmp);
        (!base.is_empty() && !test.is_empty()).then_some(Self { base, test })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.base.len() as u64 * self.test.len() as u64
    }

    /// Values of each side, sorted.
    pub(crate) fn sides(&self) -> [&[f64]; 2] {
        [&self.base, &self.test]
    }

    /// How many are smaller than `v`.
    pub(crate) fn below(&self, v: f64) -> u64 {
        self.counted(|difference| difference < v)
    }

    /// How many are at most `v`.
    pub(crate) fn at_most(&self, v: f64) -> u64 {
        self.counted(|difference| difference <= v)
    }

    /// The `k`-th smallest, from 0. `k` beyond the last counts as the last.
    pub(crate) fn kth(&self, k: u64) -> f64 {
        let k = k.min(self.count() - 1);
        let (mut low, mut high) = (key(self.smallest()), key(self.largest()));
        while low < high {
            let middle = low.midpoint(high);
            if self.at_most(number(middle)) > k {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        // The two zeros are one number.
        number(low) + 0.0
    }

    /// The median.
    pub(crate) fn median(&self) -> f64 {
        let count = self.count();
        let lower = self.kth((count - 1) / 2);
        if count % 2 == 1 { lower } else { (lower + self.kth(count / 2)) / 2.0 }
    }

    fn smallest(&self) -> f64 {
        self.test[0] - self.base[self.base.len() - 1]
    }

    fn largest(&self) -> f64 {
        self.test[self.test.len() - 1] - self.base[0]
    }

    /// How many are `wanted`, which is true up to some difference and false beyond.
    fn counted(&self, wanted: impl Fn(f64) -> bool) -> u64 {
        let (mut count, mut column) = (0, 0);
        for base in &self.base {
            while column < self.test.len() && wanted(self.test[column] - base) {
                column += 1;
            }
            count += column as u64;
        }
        count
    }
}

/// Numbers that are in the order of the floating-point numbers. Its own inverse but for the sign bit.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | SIGN }
}

fn number(key: u64) -> f64 {
    f64::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
}

const SIGN: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every difference, written down and sorted.
    fn naive(base: &[f64], test: &[f64]) -> Vec<f64> {
        let mut all: Vec<f64> = base.iter().flat_map(|a| test.iter().map(move |b| b - a)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![-1e6..1e6_f64, (-3..3_i32).prop_map(f64::from), Just(1e300), Just(-1e300), Just(1e-310)];
        proptest::collection::vec(value, 1..25)
    }

    proptest! {
        #[test]
        fn every_difference_is_the_one_that_sorting_all_of_them_gives(base in values(), test in values()) {
            let all = naive(&base, &test);
            let differences = Differences::of(base, test).unwrap();
            prop_assert_eq!(differences.count(), all.len() as u64);
            for (k, value) in all.iter().enumerate() {
                prop_assert_eq!(differences.kth(k as u64), *value);
                prop_assert_eq!(differences.below(*value), all.iter().filter(|other| *other < value).count() as u64);
                prop_assert_eq!(differences.at_most(*value), all.iter().filter(|other| *other <= value).count() as u64);
            }
            let n = all.len();
            prop_assert_eq!(differences.median(), if n % 2 == 1 { all[n / 2] } else { (all[n / 2 - 1] + all[n / 2]) / 2.0 });
        }

        #[test]
        fn keys_are_in_the_order_of_their_numbers(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(a.total_cmp(&b), key(a).cmp(&key(b)));
            prop_assert_eq!(number(key(a)).to_bits(), a.to_bits());
        }
    }

    #[test]
    fn a_side_without_values_has_no_differences() {
        assert!(Differences::of(vec![], vec![1.0]).is_none());
    }

    #[test]
    fn a_hundred_million_differences_are_not_written_down() {
        let base: Vec<f64> = (0..10_000).map(f64::from).collect();
        let test: Vec<f64> = base.iter().map(|value| value + 0.5).collect();
        assert_eq!(Differences::of(base, test).unwrap().median(), 0.5);
    }
}
