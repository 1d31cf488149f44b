//! How often a running job is looked at: as often as asked, but never so often that looking takes more than its share of a core.

use std::time::Duration;

/// A look takes at most one part in so many of the time between two, however many ranks there are.
const SHARE: u32 = 20;

/// The longest between two looks.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(10);

/// How long to rest after a look that took `took`, where one is wanted `every` so long.
pub(crate) fn pause(every: Duration, took: Duration) -> Duration {
    every.max(took.saturating_mul(SHARE)).min(PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_take_long_are_fewer() {
        let second = Duration::from_secs(1);
        assert_eq!(pause(second, Duration::from_millis(5)), second);
        assert_eq!(pause(second, Duration::from_millis(250)), 5 * second);
        assert_eq!(pause(second, Duration::MAX), PAUSE_MAX);
    }
}
