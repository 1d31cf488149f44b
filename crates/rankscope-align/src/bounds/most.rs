//! [`Most`]: how much one clock may be ahead of another at most, which may be anything.
//!
//! Sums of two are cut off where an `i64` ends, upwards in either case: what is cut off bounds less and excludes no clock.

/// The greatest difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Most(i64);

/// No bound. Small enough that two of them add up without overflow.
const FREE: i64 = i64::MAX / 4;

impl Default for Most {
    fn default() -> Self {
        Self(FREE)
    }
}

impl Most {
    /// A difference of `ns` at most; of more than some seventy years is no bound.
    pub(crate) fn of(ns: i64) -> Self {
        Self(ns.clamp(-FREE, FREE))
    }

    /// What is left where one bound follows another.
    #[inline(always)]
    pub(crate) fn then(self, next: Self) -> Self {
        if self.is_free() || next.is_free() { Self(FREE) } else { Self((self.0 + next.0).max(-FREE)) }
    }

    /// The tighter of the two.
    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Wider by `ns`, or tighter where that is negative; where there is no bound there stays none.
    pub(crate) fn widened(self, ns: i64) -> Self {
        if self.is_free() { self } else { Self::of(self.0.saturating_add(ns)) }
    }

    #[inline(always)]
    pub(crate) fn is_free(self) -> bool {
        self.0 >= FREE
    }

    /// The difference, where it is bounded.
    pub(crate) fn known(self) -> Option<i64> {
        Some(self.0).filter(|_| !self.is_free())
    }

    /// The difference, a very large one where it is not bounded.
    pub(crate) fn ns(self) -> i64 {
        self.0
    }
}
