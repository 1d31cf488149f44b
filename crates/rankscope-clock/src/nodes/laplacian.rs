//! The weighted Laplacian of a graph with one node held at zero, and what solves it.
//!
//! Conjugate gradients (Hestenes and Stiefel 1952), preconditioned by an incomplete Cholesky factor that keeps the off-diagonal
//! entries and corrects the diagonal only (Meijerink and van der Vorst 1977). Nodes are numbered outwards from the one held at
//! zero and eliminated inwards, which makes the factor exact on trees and almost exact on rings, where plain conjugate gradients
//! need as many steps as there are nodes; on random graphs either needs a dozen. A full factor is out of the question: that of
//! an expander of ten thousand nodes is dense.

/// The structure, and the weights of the moment.
#[derive(Debug)]
pub(super) struct Laplacian {
    /// Where each row begins in `columns`, and where the last one ends.
    rows: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f64>,
    diagonal: Vec<f64>,
    /// Inverse pivots of the incomplete factor.
    pivots_inverse: Vec<f64>,
    /// The two entries of each edge.
    slots: Vec<[u32; 2]>,
}

/// Far more than any graph we know needs; a guard against the unknown ones.
const STEPS_MAX: usize = 20_000;

impl Laplacian {
    /// Over `nodes` nodes, of which node 0 is held at zero, with `edges` in any order, parallel ones allowed.
    pub(super) fn new(nodes: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut entries: Vec<(u32, u32)> = edges.clone().flat_map(|(a, b)| [(a, b), (b, a)]).collect();
        entries.sort_unstable();
        entries.dedup();
        let rows: Vec<u32> = (0..=nodes as u32).map(|row| entries.partition_point(|(node, _)| *node < row) as u32).collect();
        let columns: Vec<u32> = entries.into_iter().map(|(_, column)| column).collect();
        let slot = |a: u32, b: u32| {
            let start = rows[a as usize];
            let row = &columns[start as usize..rows[a as usize + 1] as usize];
            start + row.partition_point(|column| *column < b) as u32
        };
        let slots = edges.map(|(a, b)| [slot(a, b), slot(b, a)]).collect();
        let weights = vec![0.0; columns.len()];
        Self { rows, columns, weights, diagonal: vec![0.0; nodes], pivots_inverse: vec![0.0; nodes], slots }
    }

    /// Takes new weights, one for each edge in the order they were given in.
    pub(super) fn reweigh(&mut self, weights: impl Iterator<Item = f64>) {
        self.weights.fill(0.0);
        for (slots, weight) in self.slots.iter().zip(weights) {
            self.weights[slots[0] as usize] += weight;
            self.weights[slots[1] as usize] += weight;
        }
        for row in (0..self.diagonal.len()).rev() {
            let (mut sum, mut eliminated) = (0.0, 0.0);
            for (column, weight) in self.row(row) {
                sum += weight;
                if column > row {
                    eliminated += weight * weight * self.pivots_inverse[column];
                }
            }
            self.diagonal[row] = sum;
            // What rounding leaves of a pivot that ought to be positive must not blow up.
            self.pivots_inverse[row] = 1.0 / (sum - eliminated).max(sum * 1e-12).max(f64::MIN_POSITIVE);
        }
    }

    /// Improves `x` until the residual of `L x = b` has shrunk to `tolerance` of `b`.
    pub(super) fn solve(&self, b: &[f64], x: &mut [f64], tolerance: f64) {
        let mut residual = vec![0.0; b.len()];
        self.apply(x, &mut residual);
        for (r, b) in residual.iter_mut().zip(b) {
            *r = b - *r;
        }
        let enough = tolerance * dot(b, b).sqrt();
        let (mut z, mut image) = (vec![0.0; b.len()], vec![0.0; b.len()]);
        self.precondition(&residual, &mut z);
        let mut direction = z.clone();
        let mut power = dot(&residual, &z);
        for _ in 0..STEPS_MAX {
            if dot(&residual, &residual).sqrt() <= enough || power <= 0.0 {
                return;
            }
            self.apply(&direction, &mut image);
            let step = power / dot(&direction, &image);
            for node in 1..b.len() {
                x[node] += step * direction[node];
                residual[node] -= step * image[node];
            }
            self.precondition(&residual, &mut z);
            let next = dot(&residual, &z);
            for node in 1..b.len() {
                direction[node] = z[node] + next / power * direction[node];
            }
            power = next;
        }
    }

    /// `y = L x`, as far as the free nodes are concerned.
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        for row in 1..x.len() {
            let pulled: f64 = self.row(row).map(|(column, weight)| weight * x[column]).sum();
            y[row] = self.diagonal[row] * x[row] - pulled;
        }
    }

    /// `z` from `r` through the incomplete factor: inwards, then outwards again.
    fn precondition(&self, r: &[f64], z: &mut [f64]) {
        for row in (1..r.len()).rev() {
            let eliminated: f64 = self.outer(row).map(|(column, weight)| weight * z[column]).sum();
            z[row] = (r[row] + eliminated) * self.pivots_inverse[row];
        }
        for row in 1..r.len() {
            let solved: f64 = self.inner(row).map(|(column, weight)| weight * z[column]).sum();
            z[row] += solved * self.pivots_inverse[row];
        }
    }

    fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.rows[row] as usize..self.rows[row + 1] as usize;
        self.columns[range.clone()].iter().map(|column| *column as usize).zip(self.weights[range].iter().copied())
    }

    fn outer(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        self.row(row).skip_while(move |(column, _)| *column < row)
    }

    /// Without node 0, which is held at zero.
    fn inner(&self, row: usize) -> impl Iterator<Item = (usize, f64)> {
        self.row(row).skip_while(|(column, _)| *column == 0).take_while(move |(column, _)| *column < row)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// Solves for a known answer and returns the worst error.
    fn error(nodes: usize, edges: &[(u32, u32)]) -> f64 {
        let mut rng = Rng::new(3);
        let mut laplacian = Laplacian::new(nodes, edges.iter().copied());
        laplacian.reweigh((0..edges.len()).map(|_| 0.5 + rng.unit()));
        let truth: Vec<f64> = (0..nodes).map(|node| if node == 0 { 0.0 } else { rng.normal() }).collect();
        let (mut b, mut x) = (vec![0.0; nodes], vec![0.0; nodes]);
        laplacian.apply(&truth, &mut b);
        laplacian.solve(&b, &mut x, 1e-12);
        x.iter().zip(&truth).map(|(x, truth)| (x - truth).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn known_answers_come_back() {
        let ring: Vec<(u32, u32)> = (0..500).map(|i| (i, (i + 1) % 500)).collect();
        assert!(error(500, &ring) < 1e-6);
        let complete: Vec<(u32, u32)> = (0..20).flat_map(|i| (i + 1..20).map(move |j| (i, j))).collect();
        assert!(error(20, &complete) < 1e-9);
        assert!(error(3, &[(0, 1), (1, 0), (1, 2), (1, 2)]) < 1e-9);
        assert_eq!(error(1, &[]), 0.0);
    }
}
