//! Many metrics at once: one in twenty would raise a false alarm at 5 %, so p values are adjusted for their number.
//!
//! A p value that is no number counts as 1.

/// Holm's adjusted p values, in the order given. Those of at most `alpha` may all be called: the chance that any is false is at most
/// `alpha`, however the metrics hang together.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        largest = largest.max(probability(p[index]) * (p.len() - rank) as f64);
        adjusted[index] = largest.min(1.0);
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p values, in the order given: of those of at most `q`, a share of at most `q` is false on average.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        smallest = smallest.min(probability(p[index]) * p.len() as f64 / (rank + 1) as f64);
        adjusted[index] = smallest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| probability(p[*a]).total_cmp(&probability(p[*b])));
    order
}

fn probability(p: f64) -> f64 {
    if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R: `p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.5), "holm")` and `"BH"`.
    const P: [f64; 5] = [0.01, 0.04, 0.03, 0.005, 0.5];

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {expected:?}");
    }

    #[test]
    fn adjusted_values_are_those_of_r() {
        close(&holm(&P), &[0.04, 0.09, 0.09, 0.025, 0.5]);
        close(&benjamini_hochberg(&P), &[0.025, 0.05, 0.05, 0.025, 0.5]);
    }

    #[test]
    fn no_number_is_no_evidence_and_nothing_is_nothing() {
        assert_eq!(holm(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert_eq!(benjamini_hochberg(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }

    #[test]
    fn nothing_gets_smaller_and_benjamini_and_hochberg_are_never_stricter() {
        let (holm, bh) = (holm(&P), benjamini_hochberg(&P));
        for index in 0..P.len() {
            assert!(P[index] <= bh[index] && bh[index] <= holm[index]);
        }
    }
}
