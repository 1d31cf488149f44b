//! What a rank computes: products of small matrices, by the number, and how many make a step as long as the demo wants it.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Rows and columns. Three matrices of them lie in the first cache, so nothing but arithmetic is measured.
const SIDE: usize = 32;

/// One layer of the model.
pub(crate) struct Layer {
    weights: [[f32; SIDE]; SIDE],
    activations: [[f32; SIDE]; SIDE],
    product: [[f32; SIDE]; SIDE],
}

impl Layer {
    /// A layer of weights that nobody will look at.
    pub(crate) fn new(seed: u64) -> Self {
        let value = |at: usize| ((seed as usize + at * 31) % 17) as f32 / 17.0;
        let matrix = |from: usize| std::array::from_fn(|row| std::array::from_fn(|column| value(from + row * SIDE + column)));
        Self { weights: matrix(0), activations: matrix(5), product: [[0.0; SIDE]; SIDE] }
    }

    /// So many products, one after the other. Where there are fewer processors than ranks, those take turns in between: else
    /// whoever begins first ends first, however much it has to do.
    pub(crate) fn multiply(&mut self, products: u32) {
        for product in 0..products {
            if product % TURN_PRODUCTS == TURN_PRODUCTS - 1 {
                std::thread::yield_now();
            }
            // The optimiser may not learn that every product is the same.
            black_box(&mut self.weights);
            for (row, weights) in self.product.iter_mut().zip(&self.weights) {
                row.fill(0.0);
                for (weight, activations) in weights.iter().zip(&self.activations) {
                    for (sum, activation) in row.iter_mut().zip(activations) {
                        *sum += weight * activation;
                    }
                }
            }
            black_box(&mut self.product);
        }
    }
}

/// How long one product takes on this machine when nothing else runs: the best of some tries.
pub(crate) fn product_ns() -> u64 {
    let mut layer = Layer::new(1);
    let mut once = || {
        let begun = Instant::now();
        layer.multiply(TRY_PRODUCTS);
        begun.elapsed().as_nanos() as u64 / u64::from(TRY_PRODUCTS)
    };
    (0..TRIES).map(|_| once()).min().unwrap_or(1).max(1)
}

/// Products of which `computing` is made of, at least one.
pub(crate) fn products_in(computing: Duration, product_ns: u64) -> u32 {
    u32::try_from(computing.as_nanos() as u64 / product_ns).unwrap_or(u32::MAX).max(1)
}

/// Some tenths of a millisecond.
const TURN_PRODUCTS: u32 = 32;

const TRIES: u32 = 20;
const TRY_PRODUCTS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_one() {
        let mut layer = Layer::new(3);
        layer.multiply(1);
        let by_hand: f32 = (0..SIDE).map(|k| layer.weights[4][k] * layer.activations[k][9]).sum();
        assert!((layer.product[4][9] - by_hand).abs() < 1e-3, "{} {by_hand}", layer.product[4][9]);
    }

    #[test]
    fn there_is_always_something_to_do() {
        assert_eq!(products_in(Duration::from_millis(1), 10_000), 100);
        assert_eq!(products_in(Duration::ZERO, 10_000), 1);
    }
}
