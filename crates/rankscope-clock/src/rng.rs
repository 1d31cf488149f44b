//! SplitMix64 (Steele, Lea and Flood 2014): a counter pushed through a mixing function.
//!
//! Chosen because it is twelve lines that will never change under us, as a generator from a crate may: probe graphs and
//! simulations of one seed stay the same for ever, on every machine. Streams for several purposes come from several lanes. It
//! is no source of secrets.

/// A stream of numbers that depends on its seed alone.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream for one purpose: streams of different `lane`s of one seed have nothing to do with each other.
    pub fn lane(seed: u64, lane: u64) -> Self {
        Self(mix(seed ^ mix(lane.wrapping_add(GOLDEN))))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number below `bound`, or 0 where `bound` is 0. The bias of `bound / 2^64` does not matter to a test.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A duration around `mean_ns`: up to `percent` per cent more or less.
    pub fn around(&mut self, mean_ns: i64, percent: u64) -> i64 {
        let reach = (mean_ns.unsigned_abs() * percent / 100) as i64;
        mean_ns - reach + self.below(2 * reach as u64 + 1) as i64
    }

    /// A number in 0 … 1, never 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution (Box and Muller 1958, one of the two).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A number of the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// 2^64 over the golden ratio, made odd: the increment for which the counter's values are spread most evenly.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_seed_zero_is_the_published_one() {
        let mut rng = Rng::new(0);
        assert_eq!(rng.bits(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.bits(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut rng = Rng::lane(7, 3);
        assert!((0..1000).all(|_| rng.below(10) < 10));
        assert_eq!(rng.below(0), 0);
        assert!((0..1000).map(|_| rng.around(1000, 10)).all(|ns| (900..=1100).contains(&ns)));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let mut rng = Rng::new(5);
        let count = 100_000;
        let mut mean = |draw: fn(&mut Rng) -> f64| (0..count).map(|_| draw(&mut rng)).sum::<f64>() / f64::from(count);
        assert!(mean(Rng::normal).abs() < 0.02);
        assert!((mean(|rng| rng.normal().powi(2)) - 1.0).abs() < 0.03);
        assert!((mean(Rng::exponential) - 1.0).abs() < 0.02);
    }
}
