//! Anchors: ticks and the kernel's clocks read at one moment, as nearly as can be had.
//!
//! Each reading of a clock stands between two readings of ticks; of several tries the narrowest is kept, and its width says how
//! far the pair may be off. What an anchor is good for (turning ticks into time) happens where recordings are read.

use rankscope_recording::{Anchor, ClockId};

use crate::test_clock::TestClock;
use crate::ticks::{clock_ns, ticks};

/// The clocks an anchor is taken against.
pub(crate) const CLOCKS: [(ClockId, libc::clockid_t); 4] = [
    (ClockId::MONOTONIC_RAW, libc::CLOCK_MONOTONIC_RAW),
    (ClockId::MONOTONIC, libc::CLOCK_MONOTONIC),
    (ClockId::REALTIME, libc::CLOCK_REALTIME),
    (ClockId::BOOTTIME, libc::CLOCK_BOOTTIME),
];

/// Enough that one of them is not interrupted; a quarter of what it costs is one clock's.
const TRIES: usize = 24;

/// One anchor for every clock, now, as a host of this `test_clock` would take them.
pub(crate) fn take(test_clock: Option<&TestClock>) -> [Anchor; 4] {
    let mut anchors = CLOCKS.map(|(clock, id)| narrowest(clock, || clock_ns(id)));
    if let Some(test_clock) = test_clock {
        // The others were read some microseconds after the first, in which no clock's error changes by a nanosecond.
        let error_ns = test_clock.error_ns(anchors[0].ns);
        anchors.iter_mut().for_each(|anchor| anchor.ns = anchor.ns.saturating_add(error_ns));
    }
    anchors
}

fn narrowest(clock: ClockId, read_ns: impl Fn() -> i64) -> Anchor {
    let once = || {
        let before = ticks();
        let ns = read_ns();
        let width_ticks = ticks().saturating_sub(before);
        Anchor { clock, tick: before + width_ticks / 2, ns, width_ticks }
    };
    let first = once();
    (1..TRIES).map(|_| once()).fold(first, |best, next| if next.width_ticks < best.width_ticks { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_is_read_within_its_bracket() {
        let (first, second) = (take(None), take(None));
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.clock, b.clock);
            assert!(a.tick < b.tick && a.ns <= b.ns, "{a:?} {b:?}");
        }
    }

    #[test]
    fn a_test_clock_moves_all_clocks_alike() {
        const AHEAD_NS: i64 = 3_600_000_000_000;
        let late = TestClock::new(|true_ns| true_ns + AHEAD_NS);
        let (before, shown, after) = (take(None), take(Some(&late)), take(None));
        for ((before, shown), after) in before.iter().zip(&shown).zip(&after) {
            assert!((before.ns..=after.ns).contains(&(shown.ns - AHEAD_NS)), "{before:?} {shown:?} {after:?}");
            assert!((before.tick..after.tick).contains(&shown.tick));
        }
    }
}
