//! [`TestClock`]: a host whose clocks are wrong on purpose, so that what is computed from them can be held against the truth.
//!
//! Ticks stay what they are; only what anchors say about the kernel's clocks is bent. Processes that share one kernel can so
//! play hosts that share none. It is a facility for tests and demonstrations, off unless somebody asks for it.

use std::fmt;
use std::sync::Arc;

/// What `CLOCK_MONOTONIC_RAW` shows instead of the truth. The kernel's other clocks are off by as much at the same moment.
#[derive(Clone)]
pub struct TestClock(Arc<dyn Fn(i64) -> i64 + Send + Sync>);

impl TestClock {
    /// A clock that shows `shown(true_ns)` nanoseconds at `true_ns`. It should rise with its argument, as a clock does.
    pub fn new(shown: impl Fn(i64) -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(shown))
    }

    /// How far it is ahead when the true clock shows `true_ns`.
    pub(crate) fn error_ns(&self, true_ns: i64) -> i64 {
        (self.0)(true_ns).saturating_sub(true_ns)
    }
}

impl PartialEq for TestClock {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TestClock {}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TestClock")
    }
}
