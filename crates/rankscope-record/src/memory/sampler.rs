//! [`ByteSampler`]: which allocations to look at, so that every byte has the same chance.
//!
//! Points are strewn over the bytes that a thread allocates, as a Poisson process with one point in R bytes; a block is
//! sampled if a point falls into it. A block of s bytes is then sampled with probability 1 − e^(−s/R), and stands for
//! 1 / (1 − e^(−s/R)) blocks like it, which makes every sum over blocks unbiased whatever their sizes. What is not here: what
//! becomes of a sampled block.

use std::num::NonZeroU64;

/// Bytes between two points, on average, unless told otherwise: what tcmalloc's and Perfetto's profilers take.
pub const DEFAULT_MEAN_BYTES: NonZeroU64 = NonZeroU64::new(512 << 10).expect("a positive number");

/// The points of one thread.
#[derive(Clone, Copy, Debug)]
pub struct ByteSampler {
    random: u64,
    to_next_bytes: u64,
}

impl ByteSampler {
    /// Threads with different seeds sample independently.
    pub fn new(seed: u64, mean_bytes: NonZeroU64) -> Self {
        // The generator must not start at zero; the multiplication parts seeds that are close together.
        let mut sampler = Self { random: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, to_next_bytes: 0 };
        sampler.draw(mean_bytes);
        sampler
    }

    /// One that has to be replaced before use, for places that must be constant.
    pub(super) const fn unseeded() -> Self {
        Self { random: 1, to_next_bytes: 0 }
    }

    /// Passes over a block of so many bytes: whether a point falls into it.
    #[inline]
    pub fn falls_into(&mut self, bytes: u64, mean_bytes: NonZeroU64) -> bool {
        if bytes < self.to_next_bytes {
            self.to_next_bytes -= bytes;
            return false;
        }
        // The distance from the end of the block on is distributed as it was from its start: nothing is carried over.
        self.draw(mean_bytes);
        true
    }

    /// Distance to the next point, rounded up: P(⌈d⌉ > s) = P(d > s) for whole s, so rounding changes no probability.
    #[expect(clippy::cast_possible_truncation, reason = "positive and far below 2^63: at most 37 times the mean")]
    #[cold]
    fn draw(&mut self, mean_bytes: NonZeroU64) {
        let uniform = (self.bits() >> 11) as f64 * (0.5_f64).powi(53);
        let distance = -(1.0 - uniform).ln() * mean_bytes.get() as f64;
        self.to_next_bytes = (distance.ceil() as u64).max(1);
    }

    /// Marsaglia's xorshift with a multiplication: three shifts, good upper bits.
    const fn bits(&mut self) -> u64 {
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// How many blocks a sampled block of so many bytes stands for. An empty block is never sampled and stands for none.
pub fn weight(bytes: u64, mean_bytes: NonZeroU64) -> f64 {
    if bytes == 0 {
        return 0.0;
    }
    // exp_m1 keeps its digits where the block is tiny beside the mean.
    -1.0 / (-(bytes as f64) / mean_bytes.get() as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: NonZeroU64 = NonZeroU64::new(4096).expect("a positive number");

    /// Sizes from a byte to many times the mean, each often.
    fn sizes() -> impl Iterator<Item = u64> {
        (0..4000_u64).map(|number| [1, 8, 24, 100, 1000, 4096, 10_000, 100_000][(number * 7 % 8) as usize])
    }

    /// Bytes and blocks, estimated from what one seed samples.
    fn estimate(seed: u64) -> (f64, f64) {
        let mut sampler = ByteSampler::new(seed, MEAN);
        sizes().filter(|bytes| sampler.falls_into(*bytes, MEAN)).fold((0.0, 0.0), |(bytes, blocks), size| {
            let weight = weight(size, MEAN);
            (bytes + weight * size as f64, blocks + weight)
        })
    }

    #[test]
    fn estimates_are_unbiased_with_the_variance_of_the_theory() {
        const SEEDS: u64 = 2000;
        let estimates: Vec<(f64, f64)> = (0..SEEDS).map(estimate).collect();
        type Of = (fn(&(f64, f64)) -> f64, fn(u64) -> f64);
        let measures: [Of; 2] = [(|pair| pair.0, |size| size as f64), (|pair| pair.1, |_| 1.0)];
        for (estimated, true_value) in measures {
            let truth: f64 = sizes().map(true_value).sum();
            // Var(Σ w v 1[sampled]) = Σ v² (1 − p) / p.
            let variance: f64 = sizes().map(|size| true_value(size).powi(2) * (weight(size, MEAN) - 1.0)).sum();
            let mean = estimates.iter().map(estimated).sum::<f64>() / SEEDS as f64;
            let standard_error = (variance / SEEDS as f64).sqrt();
            assert!((mean - truth).abs() < 4.0 * standard_error, "{mean} for {truth}, off by more than 4 of {standard_error}");
            let spread = estimates.iter().map(|pair| (estimated(pair) - truth).powi(2)).sum::<f64>() / SEEDS as f64;
            assert!((0.8..1.25).contains(&(spread / variance)), "variance {spread}, expected {variance}");
        }
    }

    #[test]
    fn a_block_is_sampled_as_often_as_its_size_says() {
        const ROUNDS: u32 = 200_000;
        for bytes in [1_u64, 100, 4096, 20_000] {
            let mut sampler = ByteSampler::new(bytes, MEAN);
            let sampled = (0..ROUNDS).filter(|_| sampler.falls_into(bytes, MEAN)).count() as f64;
            let chance = 1.0 / weight(bytes, MEAN);
            let sigma = (f64::from(ROUNDS) * chance * (1.0 - chance)).sqrt();
            assert!((sampled - f64::from(ROUNDS) * chance).abs() < 4.0 * sigma, "{bytes} bytes: {sampled} of {ROUNDS}");
        }
    }

    #[test]
    fn weights_are_finite_at_both_ends() {
        assert_eq!(weight(0, MEAN), 0.0);
        assert_eq!(weight(u64::MAX, MEAN), 1.0);
        assert!((weight(1, DEFAULT_MEAN_BYTES) - 524_288.5).abs() < 1e-3);
        let mut sampler = ByteSampler::new(0, MEAN);
        assert!((0..100_000).all(|_| !sampler.falls_into(0, MEAN)));
        let mut every_byte = ByteSampler::new(u64::MAX - 1, NonZeroU64::MIN);
        assert!(every_byte.falls_into(1 << 40, NonZeroU64::MIN));
    }
}
