//! Values of nodes from measured differences, robustly.
//!
//! Minimises `sum rho((x_dst - x_src - difference) / sigma)` with Huber's `rho` (1964): squares as far as most edges agree,
//! absolute values beyond, by reweighting least squares until nothing moves. How far "most" agree is measured on the residuals
//! themselves, so that weights need be right only against each other. On a complete graph of `n` nodes and equal edges the
//! error against the reference is `sigma sqrt(2 / n)`.

use super::laplacian::Laplacian;
use crate::Rng;

/// One measured difference: `dst - src`, give or take `sigma`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference {
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) value: f64,
    pub(super) sigma: f64,
}

/// The values, and what they leave.
#[derive(Debug)]
pub(super) struct Solved {
    /// By node; node 0 is zero.
    pub(super) values: Vec<f64>,
    laplacian: Laplacian,
    /// How much more the edges disagree than their sigmas say; at least 1.
    scale: f64,
    weights: Vec<f64>,
}

/// Residuals up to this many scales are taken at face value: 95 % efficient where all noise is normal.
const HUBER: f64 = 1.345;

/// The median of absolute values of normal noise, as a part of its standard deviation.
const NORMAL_MEDIAN: f64 = 0.6745;

/// Edges that agree to within this part of their sigma are not told apart any more.
const SCALE_MIN: f64 = 0.05;

/// Rounds of reweighting at most, and the movement (in sigmas of the average edge) that ends them.
const ROUNDS_MAX: usize = 25;
const MOVED_MIN: f64 = 1e-3;

/// To how much of the right-hand side equations are solved.
const TOLERANCE: f64 = 1e-7;

/// Up to this many nodes sigmas are exact; one solution of equations for each.
const EXACT_NODES_MAX: usize = 256;

/// Beyond, they are estimated from this many random combinations of edges (Spielman and Srivastava 2008), to about a fifth.
const PROJECTIONS: usize = 12;

/// Solves for the values of `nodes` nodes, all of which `differences` must connect.
pub(super) fn solve(nodes: usize, differences: &[Difference]) -> Solved {
    let mut laplacian = Laplacian::new(nodes, differences.iter().map(|one| (one.src, one.dst)));
    let plain = |one: &Difference| one.sigma.powi(-2);
    let mut weights: Vec<f64> = differences.iter().map(plain).collect();
    let mut values = vec![0.0; nodes];
    settle(&mut laplacian, differences, &weights, &mut values);
    let typical = median(differences.iter().map(|one| one.sigma));
    let mut scale = spread(differences, &values);
    for _ in 0..ROUNDS_MAX {
        let before = values.clone();
        for (weight, one) in weights.iter_mut().zip(differences) {
            let off = (one.residual(&values) / one.sigma).abs();
            *weight = plain(one) * (HUBER * scale.max(SCALE_MIN) / off).min(1.0);
        }
        settle(&mut laplacian, differences, &weights, &mut values);
        scale = spread(differences, &values);
        let moved = values.iter().zip(&before).map(|(now, before)| (now - before).abs()).fold(0.0, f64::max);
        if moved <= MOVED_MIN * typical {
            break;
        }
    }
    Solved { values, laplacian, scale: scale.max(1.0), weights }
}

impl Difference {
    /// What the difference measured beyond that of `values`.
    pub(super) fn residual(&self, values: &[f64]) -> f64 {
        self.value - (values[self.dst as usize] - values[self.src as usize])
    }
}

fn settle(laplacian: &mut Laplacian, differences: &[Difference], weights: &[f64], values: &mut [f64]) {
    laplacian.reweigh(weights.iter().copied());
    let forces = differences.iter().zip(weights).map(|(one, weight)| weight * one.value);
    laplacian.solve(&divergence(values.len(), differences, forces), values, TOLERANCE);
}

/// What flows into each free node, given what flows along each edge.
pub(super) fn divergence(nodes: usize, differences: &[Difference], flows: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![0.0; nodes];
    for (one, flow) in differences.iter().zip(flows) {
        sums[one.dst as usize] += flow;
        sums[one.src as usize] -= flow;
    }
    sums[0] = 0.0;
    sums
}

/// The standard deviation of residuals in sigmas, from their median: outliers do not move it. A tree leaves no residuals, and
/// the sigmas stand as they are.
fn spread(differences: &[Difference], values: &[f64]) -> f64 {
    let spare = differences.len().saturating_sub(values.len().saturating_sub(1));
    if spare == 0 {
        return 1.0;
    }
    // Solving takes up its share of the noise; what is left is smaller by this.
    let left = (spare as f64 / differences.len() as f64).sqrt();
    median(differences.iter().map(|one| (one.residual(values) / one.sigma).abs())) / NORMAL_MEDIAN / left
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

impl Solved {
    /// One standard deviation of each value.
    pub(super) fn sigmas(&self, differences: &[Difference]) -> Vec<f64> {
        let variances = if self.values.len() <= EXACT_NODES_MAX { self.exact() } else { self.projected(differences) };
        variances.into_iter().map(|variance| variance.max(0.0).sqrt() * self.scale).collect()
    }

    /// The diagonal of the inverse.
    fn exact(&self) -> Vec<f64> {
        let nodes = self.values.len();
        let mut unit = vec![0.0; nodes];
        let mut column = vec![0.0; nodes];
        let mut diagonal = vec![0.0; nodes];
        for node in 1..nodes {
            unit[node] = 1.0;
            column.fill(0.0);
            self.laplacian.solve(&unit, &mut column, TOLERANCE);
            diagonal[node] = column[node];
            unit[node] = 0.0;
        }
        diagonal
    }

    /// The mean square of what random noise on the edges does to each node. Against the mean of all nodes, that is, since what
    /// it does to node 0 is in all of them, and a dozen draws of one number are few; the covariance with the mean, which leads
    /// back to node 0, is exact for the price of one more draw.
    fn projected(&self, differences: &[Difference]) -> Vec<f64> {
        let nodes = self.values.len();
        let mut rng = Rng::new(nodes as u64);
        let mut drawn = vec![0.0; nodes];
        self.laplacian.solve(&vec![1.0 / nodes as f64; nodes], &mut drawn, 1e-3);
        let of_mean = mean(&drawn);
        let mut variances: Vec<f64> = drawn.iter().map(|with_mean| 2.0 * with_mean - of_mean).collect();
        for _ in 0..PROJECTIONS {
            let noise = self.weights.iter().map(|weight| if rng.bits() & 1 == 0 { weight.sqrt() } else { -weight.sqrt() });
            drawn.fill(0.0);
            self.laplacian.solve(&divergence(nodes, differences, noise), &mut drawn, 1e-2);
            let center = mean(&drawn);
            for (sum, value) in variances.iter_mut().zip(&drawn) {
                *sum += (value - center).powi(2) / PROJECTIONS as f64;
            }
        }
        variances[0] = 0.0;
        variances
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
