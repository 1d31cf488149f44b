//! Quantiles of any number of values in fixed memory.
//!
//! Values below 128 ns have a bucket each; above, buckets are 1/64 of their value wide. A quantile is the upper end of its
//! bucket, so it is never understated; the greatest value is kept exactly.

/// Counts of non-negative values.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
    squares: f64,
}

/// Buckets for each doubling.
const STEPS: u64 = 64;

impl Histogram {
    pub(super) fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.max = self.max.max(value);
        self.squares += (value as f64).powi(2);
    }

    /// The least value that `per_mille` of all values do not exceed.
    pub(super) fn quantile(&self, per_mille: u64) -> u64 {
        let rank = (self.total * per_mille).div_ceil(1_000).max(1);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        reached.map_or(0, |bucket| upper_end(bucket).min(self.max))
    }

    pub(super) fn max(&self) -> u64 {
        self.max
    }

    pub(super) fn rms(&self) -> f64 {
        (self.squares / self.total.max(1) as f64).sqrt()
    }
}

fn bucket(value: u64) -> usize {
    let doublings = u64::from((value / STEPS).max(1).ilog2());
    (doublings * STEPS + (value >> doublings)) as usize
}

fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let doublings = (bucket / STEPS).saturating_sub(1);
    ((bucket - doublings * STEPS + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let mut last = 0;
        for value in (0..100_000u64).chain((17..62).map(|shift| (1 << shift) + 12_345)) {
            let bucket = bucket(value);
            assert!(bucket >= last);
            last = bucket;
            let upper = upper_end(bucket);
            assert!(upper >= value && upper - value <= value / STEPS, "{value} in a bucket up to {upper}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(500), 0);
        (1..=100).for_each(|value| histogram.add(value));
        assert_eq!([500, 990, 1_000].map(|rank| histogram.quantile(rank)), [50, 99, 100]);
        histogram.add(1_000_000);
        assert_eq!((histogram.quantile(1_000), histogram.max()), (1_000_000, 1_000_000));
        assert!((histogram.rms() - (1e12f64 / 101.0).sqrt()).abs() < 1.0);
    }
}
