//! [`Gauge`] and [`Rate`]: one track each. A value is recorded when it is another than before, as a track keeps its value until the next.

use std::time::Instant;

use rankscope_record::{Category, NameId, Scope, counter_f64, intern};

/// A track of values.
#[derive(Debug)]
pub(crate) struct Gauge {
    name: NameId,
    last: Option<f64>,
}

impl Gauge {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: intern(name, Category::HARDWARE_COUNTERS, Scope::UserScope), last: None }
    }

    pub(crate) fn set(&mut self, value: f64) {
        if self.last != Some(value) {
            counter_f64(self.name, value);
            self.last = Some(value);
        }
    }
}

/// A track of how fast a total grows.
#[derive(Debug)]
pub(crate) struct Rate {
    gauge: Gauge,
    /// What one of the total is in the track's unit, a second.
    scale: f64,
    last: Option<(Instant, u64)>,
}

impl Rate {
    pub(crate) fn new(name: &str, scale: f64) -> Self {
        Self { gauge: Gauge::new(name), scale, last: None }
    }

    /// The total is `total` now. The first one tells nothing, and neither does one that fell: its counter began anew.
    pub(crate) fn set(&mut self, now: Instant, total: u64) {
        if let Some(rate) = self.since(now, total) {
            self.gauge.set(rate);
        }
        self.last = Some((now, total));
    }

    fn since(&self, now: Instant, total: u64) -> Option<f64> {
        let (at, before) = self.last?;
        let grown = total.checked_sub(before)?;
        let seconds = now.checked_duration_since(at)?.as_secs_f64();
        (seconds > 0.0).then(|| grown as f64 * self.scale / seconds)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_rate_is_what_was_added_by_the_time_it_took() {
        let began = Instant::now();
        let mut rate = Rate::new("bytes (1/s)", 4.0);
        assert_eq!(rate.since(began, 10), None, "nothing before it");
        rate.set(began, 10);
        assert_eq!(rate.since(began + Duration::from_millis(500), 110), Some(800.0));
        assert_eq!(rate.since(began + Duration::from_millis(500), 9), None, "it began anew");
        assert_eq!(rate.since(began, 110), None, "no time has gone by");
    }
}
