//! Ranks of values within one series, and how much each resembles the one before.

/// Ranks of `values`, 1 for the smallest; equal ones share the mean of theirs.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = from as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|index| ranks[*index] = shared);
        from += equal.len();
    }
    ranks
}

/// How much a step resembles the one before it, by its rank in its run, and what steps are worth because of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Resemblance {
    /// Correlation with the step before, without its bias in short runs, 0 to [`LARGEST`].
    pub(crate) rho: f64,
}

/// Beyond, twenty steps or more are worth one, and few runs tell by how much.
const LARGEST: f64 = 0.95;

impl Resemblance {
    /// Of both sides, by sums of products, so that a long run says more than a short one. What shifts or stretches a run leaves it alone.
    pub(crate) fn of(base: &[Vec<f64>], test: &[Vec<f64>]) -> Self {
        let runs = base.iter().chain(test);
        let mut each: Vec<[f64; 2]> = runs.clone().map(|run| sums_of(&centred(&ranks(run)))).collect();
        // In an order of their own, so that neither the order of runs nor that of sides matters to the last bit.
        each.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        let [product, square] = each.iter().fold([0.0; 2], |sum, [product, square]| [sum[0] + product, sum[1] + square]);
        let steps: usize = runs.map(Vec::len).sum();
        let r = if square > 0.0 { product / square } else { 0.0 };
        Self::unbiased(r, 1.0, 3.0, steps as f64 / each.len().max(1) as f64)
    }

    /// A correlation found in `n` steps comes out too small, by `shift/n` and by a part of `shrink/n`.
    pub(crate) fn unbiased(r: f64, shift: f64, shrink: f64, n: f64) -> Self {
        let rho = (r + shift / n) / (1.0 - shrink / n);
        Self { rho: if rho.is_finite() { rho.clamp(0.0, LARGEST) } else { LARGEST } }
    }

    /// How many steps are worth one independent step.
    pub(crate) fn inflation(self) -> f64 {
        (1.0 + self.rho) / (1.0 - self.rho)
    }
}

/// Numbers less their mean.
fn centred(numbers: &[f64]) -> Vec<f64> {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    numbers.iter().map(|number| number - mean).collect()
}

/// Products of neighbours and squares of numbers whose mean is zero.
pub(crate) fn sums_of(centred: &[f64]) -> [f64; 2] {
    let product = centred.windows(2).map(|pair| pair[0] * pair[1]).sum();
    [product, centred.iter().map(|x| x * x).sum()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!(ranks(&[]).is_empty());
    }

    fn rho(run: &[f64]) -> f64 {
        Resemblance::of(&[run.to_vec()], &[run.to_vec()]).rho
    }

    #[test]
    fn steps_that_climb_resemble_and_steps_that_alternate_do_not() {
        let climb: Vec<f64> = (0..100).map(f64::from).collect();
        let alternate: Vec<f64> = (0..100).map(|step| f64::from(step % 2)).collect();
        assert_eq!((rho(&climb), rho(&alternate)), (LARGEST, 0.0));
    }

    #[test]
    fn a_constant_run_resembles_itself_only_by_the_correction() {
        assert!((rho(&[7.0; 20]) - (1.0 / 20.0) / (1.0 - 3.0 / 20.0)).abs() < 1e-15);
    }
}
