//! When to try again: soon at first, then ever more rarely.

use rankscope_time::Span;

use crate::MonotonicInstant;

/// The first wait: a lost packet costs little, and a busy peer is not flooded.
const FIRST: Span = Span::from_nanos(50_000_000);

/// A deadline that moves away twice as far each time, up to a limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) due: MonotonicInstant,
    wait: Span,
    longest: Span,
}

impl Backoff {
    /// Due at once.
    pub(super) fn new(now: MonotonicInstant, longest: Span) -> Self {
        Self { due: now, wait: FIRST.min(longest), longest }
    }

    /// True when it is time, which is then put off.
    pub(super) fn take(&mut self, now: MonotonicInstant) -> bool {
        if now < self.due {
            return false;
        }
        self.due = now + self.wait;
        self.wait = (self.wait + self.wait).min(self.longest);
        true
    }
}
