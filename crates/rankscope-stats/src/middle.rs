//! The middle of a few hundred values and how far they usually lie from it, by medians, which outliers do not move.

use crate::estimate::median;

/// Median deviations of the normal distribution in one standard deviation.
const OF_NORMAL: f64 = 1.4826;

/// A middle, and a scatter in units of the normal distribution's standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Middle {
    /// The median.
    pub median: f64,
    /// The median distance from it, scaled so that it is the standard deviation where values are normal.
    pub deviation: f64,
}

impl Middle {
    /// Of values in any order, which are left in another. None where there are none; what is no finite number is passed over.
    pub fn of(values: &mut Vec<f64>) -> Option<Self> {
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        if values.is_empty() {
            return None;
        }
        let middle = median(values);
        values.iter_mut().for_each(|value| *value = (*value - middle).abs());
        values.sort_unstable_by(f64::total_cmp);
        Some(Self { median: middle, deviation: OF_NORMAL * median(values) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::Rng;

    #[test]
    fn outliers_move_neither_the_middle_nor_the_scatter() {
        let mut rng = Rng::new(1);
        let mut values: Vec<f64> = (0..10_000).map(|_| 5.0 + 2.0 * rng.normal()).collect();
        values.extend([1e9; 100]);
        values.push(f64::NAN);
        let middle = Middle::of(&mut values).unwrap();
        assert!((middle.median - 5.0).abs() < 0.1 && (middle.deviation - 2.0).abs() < 0.1, "{middle:?}");
    }

    #[test]
    fn nothing_has_no_middle() {
        assert_eq!(Middle::of(&mut vec![f64::INFINITY]), None);
        assert_eq!(Middle::of(&mut vec![3.0]), Some(Middle { median: 3.0, deviation: 0.0 }));
    }
}
