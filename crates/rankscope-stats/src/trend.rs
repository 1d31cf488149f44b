//! Whether a run drifts: rank correlation with the number of the step.
//!
//! The steps' resemblance is measured on what is left of the ranks when the straight line is taken out. With the line in, a steep
//! trend would look like resemblance and excuse itself.

use crate::ranks::{Resemblance, ranks, sums_of};
use crate::{series, student};

/// A rank correlation with the number of the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Spearman's correlation, -1 to 1. Positive: values grow.
    pub rho: f64,
    /// Its chance without a trend, allowing for steps that resemble the one before. Below 0.01 it is worth a flag.
    pub p: f64,
}

/// The trend of a series in order of time; none with fewer than ten values or without any variation. Values that are no finite numbers do
/// not count.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let kept: Vec<f64> = values.iter().copied().filter(|value| series::usable(*value)).collect();
    let n = kept.len() as f64;
    if kept.len() < series::LEAST {
        return None;
    }
    let middle = (n + 1.0) / 2.0;
    let ranks: Vec<f64> = ranks(&kept).into_iter().map(|rank| rank - middle).collect();
    let steps: Vec<f64> = (1..=kept.len()).map(|step| step as f64 - middle).collect();
    let [_, rank_squares] = sums_of(&ranks);
    let [_, step_squares] = sums_of(&steps);
    let products: f64 = ranks.iter().zip(&steps).map(|(rank, step)| rank * step).sum();
    if rank_squares == 0.0 {
        return None;
    }
    let rho = (products / (rank_squares * step_squares).sqrt()).clamp(-1.0, 1.0);
    let slope = products / step_squares;
    let left: Vec<f64> = ranks.iter().zip(&steps).map(|(rank, step)| rank - slope * step).collect();
    let df = (n / resemblance(&left, n).inflation() - 2.0).max(1.0);
    Some(Trend { rho, p: student::p(rho * (df / (1.0 - rho * rho)).sqrt(), df) })
}

/// Of what is left beside a line. The line takes its share of slow movement with it, so the bias is larger than about a mean.
fn resemblance(left: &[f64], n: f64) -> Resemblance {
    let [product, square] = sums_of(left);
    // A line that leaves nothing leaves no resemblance.
    let r = if square > f64::EPSILON * n.powi(3) { product / square } else { 0.0 };
    Resemblance::unbiased(r, 2.0, 4.0, n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_climb_is_a_trend_and_a_saw_is_not() {
        let climb: Vec<f64> = (0..30).map(f64::from).collect();
        let found = trend(&climb).unwrap();
        assert!(found.rho == 1.0 && found.p < 1e-6, "{found:?}");
        let saw: Vec<f64> = (0..40).map(|step| f64::from(step % 4)).collect();
        assert!(trend(&saw).unwrap().p > 0.3);
    }

    #[test]
    fn too_few_values_constants_and_no_numbers_have_no_trend() {
        assert_eq!(trend(&[1.0, 2.0, 3.0]), None);
        assert_eq!(trend(&[5.0; 50]), None);
        assert_eq!(trend(&[f64::NAN; 50]), None);
    }
}
