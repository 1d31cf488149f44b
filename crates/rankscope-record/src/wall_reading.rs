//! [`WallReading`]: the wall clock beside the raw one.
//!
//! The wall clock is read between two readings of the raw one, so it was right somewhere between them whatever happens. A preemption
//! only makes that wide: of a few tries the narrowest has none.

use crate::ticks::clock_ns;

/// The wall clock and the raw one, read at about one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallReading {
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub wall_ns: i64,
    /// `CLOCK_MONOTONIC_RAW` then, in nanoseconds: the middle of the two readings around the wall clock's.
    pub raw_ns: i64,
    /// How far apart those were.
    pub width_ns: u64,
}

impl WallReading {
    /// The narrowest of so many `tries`, of which there is one at least.
    pub fn narrowest(tries: u32) -> Self {
        let first = Self::once(clock_ns);
        (1..tries)
            .map(|_| Self::once(clock_ns))
            .fold(first, |best, next| if next.width_ns < best.width_ns { next } else { best })
    }

    fn once(mut clock_ns: impl FnMut(libc::clockid_t) -> i64) -> Self {
        let before_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW);
        let wall_ns = clock_ns(libc::CLOCK_REALTIME);
        let width_ns = clock_ns(libc::CLOCK_MONOTONIC_RAW).saturating_sub(before_ns).max(0);
        Self { wall_ns, raw_ns: before_ns.saturating_add(width_ns / 2), width_ns: width_ns.unsigned_abs() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_wall_clock_was_read_within_the_width(costs_ns in prop::array::uniform3(0_i64..1_000_000), ahead_ns in any::<i32>()) {
            let (mut looks, mut now_ns) = (0, 5_000_i64);
            let anchor = WallReading::once(|clock| {
                now_ns += costs_ns[looks];
                looks += 1;
                if clock == libc::CLOCK_REALTIME { now_ns + i64::from(ahead_ns) } else { now_ns }
            });
            let truth_ns = anchor.wall_ns - i64::from(ahead_ns);
            prop_assert!(truth_ns.abs_diff(anchor.raw_ns) <= anchor.width_ns.div_ceil(2));
        }
    }

    #[test]
    fn both_clocks_go_on() {
        let (first, second) = (WallReading::narrowest(16), WallReading::narrowest(16));
        assert!(first.raw_ns < second.raw_ns && first.wall_ns > 1_500_000_000_000_000_000, "{first:?} {second:?}");
    }
}
