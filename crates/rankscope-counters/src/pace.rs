//! [`Pace`]: how often a source is looked at, by what a look costs.
//!
//! After a look that took `c` of processor time the next one comes no sooner than `c / share`, so that over any stretch the source takes
//! no more than its share of a core, plus one look. Time asleep in a driver is no cost: it takes nothing from the job. Looks come at multiples
//! of the period, so that sources that are dear come in one waking with those that are not.

use std::time::{Duration, Instant};

/// How often a source is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    period: Duration,
    share_ppm: u32,
    /// No look comes sooner; and when it would be.
    next: Option<(Instant, Instant)>,
}

impl Pace {
    /// Every `period`, as far as that takes no more than so many millionths of a core.
    pub fn new(period: Duration, share_ppm: u32) -> Self {
        Self { period, share_ppm: share_ppm.max(1), next: None }
    }

    /// The same, behind the last look, with another period and share.
    pub fn with(self, period: Duration, share_ppm: u32) -> Self {
        Self { next: self.next, ..Self::new(period, share_ppm) }
    }

    /// Whether it may be looked at now, as somebody is awake anyway.
    pub fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|(soonest, _)| soonest <= now)
    }

    /// When to wake for it; none before its first look, which comes at once.
    pub fn due(&self) -> Option<Instant> {
        self.next.map(|(_, due)| due)
    }

    /// It was looked at, beginning at `now`, for `cost` of processor time.
    pub fn looked(&mut self, now: Instant, cost: Duration) {
        let apart = cost.saturating_mul(1_000_000) / self.share_ppm;
        // A little early, so that a period is not missed by the scheduler's delay.
        let Some(soonest) = now.checked_add(apart.max(self.period - self.period / 8)) else { return };
        let was_due = self.next.map_or(now, |(_, due)| due);
        let periods = soonest.saturating_duration_since(was_due).as_nanos().div_ceil(self.period.as_nanos().max(1));
        let passed = self.period.saturating_mul(u32::try_from(periods).unwrap_or(u32::MAX).max(1));
        self.next = Some((soonest, was_due.checked_add(passed).unwrap_or(soonest).max(soonest)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks in a minute of waking when it is due, and a little late, each of which costs `cost`.
    fn looks(period: Duration, share_ppm: u32, cost: Duration, late: Duration) -> u32 {
        let began = Instant::now();
        let mut pace = Pace::new(period, share_ppm);
        let (mut now, mut count) = (began, 0);
        while now < began + Duration::from_secs(60) {
            assert!(pace.is_due(now));
            pace.looked(now, cost);
            count += 1;
            now = pace.due().unwrap() + late;
        }
        count
    }

    #[test]
    fn what_is_cheap_is_looked_at_every_time_however_late_one_wakes() {
        for late_us in [0, 100, 9_000] {
            let late = Duration::from_micros(late_us);
            assert_eq!(looks(Duration::from_millis(100), 1_000, Duration::from_micros(50), late), 600, "{late_us} us");
        }
    }

    #[test]
    fn no_source_takes_more_than_its_share() {
        for (period_ms, share_ppm) in [(10, 100), (100, 1_000), (1_000, 5_000)] {
            for cost_us in [1, 10, 100, 1_000, 100_000] {
                let (period, cost) = (Duration::from_millis(period_ms), Duration::from_micros(cost_us));
                let took = cost * (looks(period, share_ppm, cost, Duration::ZERO) - 1);
                assert!(took <= Duration::from_secs(60) * share_ppm / 1_000_000, "{period_ms} ms {share_ppm} ppm {cost_us} us");
            }
        }
    }

    #[test]
    fn what_is_dear_comes_in_one_waking_with_what_is_not() {
        let (began, period) = (Instant::now(), Duration::from_millis(100));
        let mut pace = Pace::new(period, 1_000);
        pace.looked(began, Duration::from_micros(213));
        assert_eq!(pace.due(), Some(began + 3 * period));
        assert!(!pace.is_due(began + 2 * period), "its share is not enough");
    }
}
