//! How long nothing may happen: signs and times in, a decision out. No clock is read here.

use std::time::{Duration, Instant};

use super::signs::Signs;

/// Looks within the time that nothing may happen.
const LOOKS: u32 = 10;

/// Between two looks, at most: they read what is recorded.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(30);

/// Whoever waits.
pub(super) struct Patience {
    after: Duration,
    last: Option<Signs>,
    since: Instant,
    is_judged: bool,
}

impl Patience {
    /// With patience for `after`, from `now` on.
    pub(super) fn new(after: Duration, now: Instant) -> Self {
        Self { after, last: None, since: now, is_judged: false }
    }

    /// Between two looks.
    pub(super) fn look_every(&self) -> Duration {
        (self.after / LOOKS).clamp(Duration::from_millis(10), LOOK_EVERY_MAX)
    }

    /// Whether patience is over, once for each time that nothing happens.
    pub(super) fn is_over(&mut self, signs: Signs, now: Instant) -> bool {
        if self.last != Some(signs) {
            // What is there at the first look came since the beginning.
            (self.since, self.is_judged) = (now, false);
            self.last = Some(signs);
            return false;
        }
        let is_over = !self.is_judged && now.saturating_duration_since(self.since) >= self.after;
        self.is_judged |= is_over;
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_over_once_for_each_standstill() {
        let begin = Instant::now();
        let mut patience = Patience::new(Duration::from_secs(300), begin);
        let mut look = |second: u64, signs: u64| patience.is_over(Signs::of(signs), begin + Duration::from_secs(second));
        assert!(!look(30, 1) && !look(320, 1), "300 s have not passed since the first look");
        assert!(look(330, 1));
        assert!(!look(2_000, 1), "once is enough");
        assert!(!look(2_030, 2) && !look(2_300, 2), "it went on");
        assert!(look(2_330, 2));
        assert_eq!(patience.look_every(), Duration::from_secs(30));
    }
}
