//! [`Pace`]: how often a source is looked at, by what a look costs.
//!
//! After a look that took `c` of processor time the next one comes no sooner than `c / share`, so that over any stretch the source takes
//! no more than its share of a core, plus one look. Time asleep in a driver is no cost: it takes nothing from the job.

use std::time::{Duration, Instant};

/// How often a source is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    period: Duration,
    share_ppm: u32,
    next: Option<Instant>,
}

impl Pace {
    /// Every `period`, as far as that takes no more than so many millionths of a core.
    pub fn new(period: Duration, share_ppm: u32) -> Self {
        Self { period, share_ppm: share_ppm.max(1), next: None }
    }

    /// Whether it is to be looked at now.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| next <= now)
    }

    /// It was looked at, beginning at `now`, for `cost` of processor time.
    pub fn looked(&mut self, now: Instant, cost: Duration) {
        let apart = cost.saturating_mul(1_000_000) / self.share_ppm;
        // A little early, so that a period is not missed by the scheduler's delay.
        let period = self.period - self.period / 8;
        self.next = now.checked_add(apart.max(period));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks in a minute of waking every `period`, each of which costs `cost`.
    fn looks(period: Duration, share_ppm: u32, cost: Duration) -> u32 {
        let began = Instant::now();
        let mut pace = Pace::new(period, share_ppm);
        let wakes = Duration::from_secs(60).as_micros() / period.as_micros();
        let mut count = 0;
        for wake in 0..u32::try_from(wakes).unwrap() {
            let now = began + period * wake;
            if pace.is_due(now) {
                pace.looked(now, cost);
                count += 1;
            }
        }
        count
    }

    #[test]
    fn what_is_cheap_is_looked_at_every_time() {
        assert_eq!(looks(Duration::from_millis(100), 1_000, Duration::from_micros(50)), 600);
    }

    #[test]
    fn no_source_takes_more_than_its_share() {
        for (period_ms, share_ppm) in [(10, 100), (100, 1_000), (1_000, 5_000)] {
            for cost_us in [1, 10, 100, 1_000, 100_000] {
                let cost = Duration::from_micros(cost_us);
                let took = cost * (looks(Duration::from_millis(period_ms), share_ppm, cost) - 1);
                assert!(took <= Duration::from_secs(60) * share_ppm / 1_000_000, "{period_ms} ms {share_ppm} ppm {cost_us} us");
            }
        }
    }
}
