//! Anchors: ticks and the kernel's clocks read at one moment, as nearly as can be had.
//!
//! Each reading of a clock stands between two readings of ticks; of several tries the narrowest is kept, and its width says how
//! far the pair may be off. What an anchor is good for (turning ticks into time) happens where recordings are read.

use rankscope_formats::recording::{Anchor, ClockId};

use crate::ticks::{clock_ns, ticks};

/// The clocks an anchor is taken against.
const CLOCKS: [(ClockId, libc::clockid_t); 4] = [
    (ClockId::MONOTONIC_RAW, libc::CLOCK_MONOTONIC_RAW),
    (ClockId::MONOTONIC, libc::CLOCK_MONOTONIC),
    (ClockId::REALTIME, libc::CLOCK_REALTIME),
    (ClockId::BOOTTIME, libc::CLOCK_BOOTTIME),
];

/// Enough that one of them is not interrupted; a quarter of what it costs is one clock's.
const TRIES: usize = 24;

/// One anchor for every clock, now.
pub(crate) fn take() -> [Anchor; 4] {
    CLOCKS.map(|(clock, id)| narrowest(clock, || clock_ns(id)))
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
        let (first, second) = (take(), take());
        for (a, b) in first.iter().zip(&second) {
            assert_eq!(a.clock, b.clock);
            assert!(a.tick < b.tick && a.ns <= b.ns, "{a:?} {b:?}");
        }
    }
}
