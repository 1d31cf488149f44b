//! Reading two clocks at once: the one between two readings of the other.
//!
//! The inner reading lies between the outer two whatever happens, so half their distance bounds the error. A preemption in
//! between only makes the distance long; the narrowest of a few tries has none.

use super::{Clock, Snapshot};

/// Two clocks read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sandwich {
    /// The middle of the two outer readings.
    pub outer_ns: i64,
    /// The reading between them.
    pub inner_ns: i64,
    /// How far `outer_ns` can be from the moment of the inner reading.
    pub half_width_ns: u64,
}

impl Sandwich {
    /// From readings in their order.
    pub fn of(before_ns: i64, inner_ns: i64, after_ns: i64) -> Self {
        let width_ns = after_ns.saturating_sub(before_ns);
        Self { outer_ns: before_ns.saturating_add(width_ns / 2), inner_ns, half_width_ns: width_ns.unsigned_abs().div_ceil(2) }
    }

    /// The outer clock being the base.
    pub fn snapshot(self) -> Snapshot {
        Snapshot { base_ns: self.outer_ns, other_ns: self.inner_ns, half_width_ns: self.half_width_ns }
    }
}

/// The narrowest of `tries` readings of `inner` between two of `outer`; at least one is made.
pub fn sandwich(outer: Clock, inner: Clock, tries: u32) -> Sandwich {
    let read = || {
        let before = outer.now_ns();
        let between = inner.now_ns();
        Sandwich::of(before, between, outer.now_ns())
    };
    (1..tries).fold(read(), |best, _| {
        let next = read();
        if next.half_width_ns < best.half_width_ns { next } else { best }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_within_half_the_width_of_both_readings() {
        assert_eq!(Sandwich::of(100, 7, 131), Sandwich { outer_ns: 115, inner_ns: 7, half_width_ns: 16 });
        assert_eq!(Sandwich::of(5, 7, 5).half_width_ns, 0);
    }

    #[test]
    fn the_outer_clock_moves_on_between_sandwiches() {
        let first = sandwich(Clock::MonotonicRaw, Clock::Realtime, 5);
        let second = sandwich(Clock::MonotonicRaw, Clock::Realtime, 5);
        assert!(second.outer_ns + second.half_width_ns as i64 >= first.outer_ns - first.half_width_ns as i64);
    }
}
