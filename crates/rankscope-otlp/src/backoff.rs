//! When to try again: twice as long after each failure up to a bound, at a random moment of it so that many watchers do not come at once, or when the
//! other side says.

use std::time::Duration;

/// After a first failure.
const FIRST: Duration = Duration::from_secs(1);
/// However often it failed.
const LONGEST: Duration = Duration::from_secs(60);
/// However long the other side says: it may be wrong, or somebody else.
const ASKED_MAX: Duration = Duration::from_secs(300);

/// How often it has failed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// How long to wait after one more failure, of which the other side says to come back after `asked`. `chance` is from all of its values alike.
    pub fn fail(&mut self, asked: Option<Duration>, chance: u32) -> Duration {
        let longest = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        // From half of it on.
        let own = longest.mul_f64(0.5 + 0.5 * f64::from(chance) / f64::from(u32::MAX));
        asked.map_or(own, |asked| asked.min(ASKED_MAX).max(own))
    }

    /// It went well.
    pub fn succeed(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn waiting_grows_is_bounded_and_never_shorter_than_asked(
            asked in prop::collection::vec(prop::option::of(0u64..1_000_000), 1..40),
            chance in any::<u32>(),
        ) {
            let mut backoff = Backoff::default();
            for (failures, asked) in asked.into_iter().map(|asked| asked.map(Duration::from_secs)).enumerate() {
                let wait = backoff.fail(asked, chance);
                let longest = Duration::from_secs(1 << failures.min(6)).min(LONGEST);
                prop_assert!(wait >= longest / 2 && wait <= ASKED_MAX);
                prop_assert!(asked.map_or(wait <= longest, |asked| wait >= asked.min(ASKED_MAX)));
            }
            backoff.succeed();
            prop_assert!(backoff.fail(None, chance) <= FIRST);
        }
    }
}
