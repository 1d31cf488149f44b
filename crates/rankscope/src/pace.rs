//! How often a running job is looked at: as often as asked, but never so often that watching it takes more than its share of a core.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Watching takes at most one part in so many of a core, however many ranks there are: a little less than the twentieth that is promised, for
/// what is not seen from here, as what a terminal does with a screen.
const SHARE: u32 = 24;

/// The longest between two looks.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Looks, each after what the one before took of processors is paid for.
pub(crate) struct Pace {
    every: Duration,
    spent: Duration,
}

impl Pace {
    /// A look `every` so long, if that costs little.
    pub(crate) fn of(every: Duration) -> Self {
        Self { every, spent: spent() }
    }

    /// From the beginning of the last look to that of the next one, by all that this process did since it was asked before.
    pub(crate) fn pause(&mut self) -> Duration {
        let before = std::mem::replace(&mut self.spent, spent());
        pause(self.every, self.spent.saturating_sub(before))
    }
}

fn pause(every: Duration, spent: Duration) -> Duration {
    every.max(spent.saturating_mul(SHARE)).min(PAUSE_MAX)
}

/// The time on processors of this process until now.
fn spent() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_cost_much_are_fewer() {
        let second = Duration::from_secs(1);
        assert_eq!(pause(second, Duration::from_millis(5)), second);
        assert_eq!(pause(second, Duration::from_millis(250)), 6 * second);
        assert_eq!(pause(second, Duration::MAX), PAUSE_MAX);
    }

    #[test]
    fn what_was_done_between_two_looks_is_paid_for() {
        let mut pace = Pace::of(Duration::ZERO);
        let before = spent();
        while spent() - before < Duration::from_millis(2) {
            std::hint::black_box(0);
        }
        assert!(pace.pause() >= 48 * Duration::from_millis(1));
    }
}
