//! Instants that carry their clock, and the signed spans between them.
//!
//! Arithmetic saturates: a hostile file may hold any stamp, and a stamp pinned at the edge of time is easier to see in a
//! report than one that wrapped around to the other end.
//!
//! Two clocks do not subtract:
//!
//! ```compile_fail
//! use rankscope_time::{HostClock, Instant, RankClock};
//! let a = Instant::<RankClock>::from_nanos_since_epoch(1);
//! let b = Instant::<HostClock>::from_nanos_since_epoch(2);
//! let _ = b - a;
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::{Add, Neg, Sub};
use std::time::Duration;

/// The clock a rank's own trace was stamped with.
#[derive(Debug)]
pub enum RankClock {}

/// The wall clock of one host.
#[derive(Debug)]
pub enum HostClock {}

/// The one clock of the whole job.
#[derive(Debug)]
pub enum ReferenceClock {}

/// A point in time on clock `C`, in nanoseconds since that clock's epoch.
pub struct Instant<C> {
    nanos: i64,
    clock: PhantomData<fn() -> C>,
}

impl<C> Instant<C> {
    /// The instant `nanos` nanoseconds after the epoch of clock `C`.
    pub const fn from_nanos_since_epoch(nanos: i64) -> Self {
        Self { nanos, clock: PhantomData }
    }

    /// Nanoseconds since the epoch of clock `C`.
    pub const fn nanos_since_epoch(self) -> i64 {
        self.nanos
    }
}

// Derives would ask `C` to be `Clone`, `Eq` and so on, which a marker has no use for.
impl<C> Clone for Instant<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C> Copy for Instant<C> {}
impl<C> PartialEq for Instant<C> {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}
impl<C> Eq for Instant<C> {}
impl<C> PartialOrd for Instant<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<C> Ord for Instant<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}
impl<C> Hash for Instant<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}
impl<C> fmt::Debug for Instant<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.nanos)
    }
}

impl<C> Sub for Instant<C> {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.nanos.saturating_sub(earlier.nanos))
    }
}
impl<C> Add<Span> for Instant<C> {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self::from_nanos_since_epoch(self.nanos.saturating_add(span.0))
    }
}
impl<C> Sub<Span> for Instant<C> {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self::from_nanos_since_epoch(self.nanos.saturating_sub(span.0))
    }
}

/// A signed length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span, about 292 years.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The span of `duration`, or [`Span::MAX`] where that is shorter.
    pub fn from_duration(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }

    /// The span as a duration; none where it is negative.
    pub fn to_duration(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }

    /// The length without its sign.
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
}

/// In nanoseconds, exactly: `-1500 ns`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}
impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}
impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_the_edges_of_time() {
        let last = Instant::<HostClock>::from_nanos_since_epoch(i64::MAX);
        let first = Instant::<HostClock>::from_nanos_since_epoch(i64::MIN);
        assert_eq!(last - first, Span::MAX);
        assert_eq!(last + Span::from_nanos(1), last);
        assert_eq!(first - Span::from_nanos(1), first);
    }

    #[test]
    fn a_span_is_a_duration_unless_it_is_negative() {
        let span = Span::from_duration(Duration::from_micros(3));
        assert_eq!((span, span.to_duration()), (Span::from_nanos(3_000), Some(Duration::from_micros(3))));
        assert_eq!(Span::from_nanos(-1).to_duration(), None);
        assert_eq!(Span::from_duration(Duration::MAX), Span::MAX);
    }

    #[test]
    fn a_span_is_shown_to_the_nanosecond() {
        assert_eq!(Span::from_nanos(-1_234_567_890_123).to_string(), "-1234567890123 ns");
    }
}
