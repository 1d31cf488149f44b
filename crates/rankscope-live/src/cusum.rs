//! [`Cusum`]: sums up what values are beyond their usual scatter, and says when the sum is too large for chance.
//!
//! Page's one-sided sum, on values in units of their standard deviation. Each is clipped, so that one step that takes a hundred times
//! as long is one sign and not proof: heavy tails raise no alarm by themselves. Nothing is averaged in advance, so a large shift is
//! seen within five values and a small one as soon as it has summed up.

/// What a value may be above the middle without counting, in standard deviations: half of the smallest shift that is looked for.
const ALLOWANCE: f64 = 1.0;
/// The sum that is too large for chance.
const LIMIT: f64 = 15.0;
/// Where it begins anew: above zero, so that what goes on is seen again sooner, and what was chance has to climb once more (the head
/// start of Lucas and Crosier 1982).
const HEAD_START: f64 = 2.0;
/// No value counts for more, either way.
const CLIP: f64 = 4.0;

/// The sum so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cusum {
    sum: f64,
}

impl Cusum {
    /// Takes a value in standard deviations from the middle. True where the sum has become too large; it then begins anew, with a head start. What is
    /// no number is passed over.
    pub fn take(&mut self, z: f64) -> bool {
        if z.is_nan() {
            return false;
        }
        self.sum = (self.sum + z.clamp(-CLIP, CLIP) - ALLOWANCE).max(0.0);
        let is_too_large = self.sum > LIMIT;
        if is_too_large {
            self.sum = HEAD_START;
        }
        is_too_large
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_large_shift_takes_five_values_and_a_spike_of_any_size_is_not_one() {
        let mut sum = Cusum::default();
        assert!((0..5).all(|_| !sum.take(1e9)));
        assert!(sum.take(1e9), "5 values of 3 each make 15, and more is too large");
        let mut sum = Cusum::default();
        assert!((0..10_000).all(|at| !sum.take(if at % 10 == 0 { f64::INFINITY } else { 0.0 })));
    }

    #[test]
    fn what_is_within_the_allowance_never_sums_up() {
        let mut sum = Cusum::default();
        assert!((0..100_000).all(|_| !sum.take(ALLOWANCE)));
        assert_eq!(sum, Cusum::default());
    }

    proptest! {
        #[test]
        fn whatever_comes_the_sum_stays_between_zero_and_its_limit(values in proptest::collection::vec(proptest::num::f64::ANY, 0..200)) {
            let mut sum = Cusum::default();
            for value in values {
                sum.take(value);
                prop_assert!((0.0..=LIMIT).contains(&sum.sum));
            }
        }
    }
}
