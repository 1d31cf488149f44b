//! Which process of a node is the living one.
//!
//! Every packet carries a number that says when its process began, in hundredths of a second of its host clock, and wraps. The
//! newest process counts, so what a dead one sent is a relic. A clock may have been set back between two processes, though:
//! once the one that is known has been silent for a while, any other may take its place.

use rankscope_time::Span;

use crate::{HostInstant, MonotonicInstant};

/// The number of a process that begins at `start`.
pub(super) fn of(start: HostInstant) -> u32 {
    start.nanos_since_epoch().div_euclid(UNIT_NS) as u32
}

/// Whether process `candidate` counts, where `known` did and was heard last at `heard`.
pub(super) fn succeeds(candidate: u32, known: u32, heard: Option<MonotonicInstant>, now: MonotonicInstant) -> bool {
    let is_newer = candidate != known && candidate.wrapping_sub(known) < 1 << 31;
    is_newer || heard.is_none_or(|heard| now - heard > SILENCE)
}

const UNIT_NS: i64 = 10_000_000;

/// Longer than any packet is under way.
const SILENCE: Span = Span::from_nanos(5_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_process_counts_and_the_older_one_only_after_a_silence() {
        let at = |seconds: i64| MonotonicInstant::from_nanos_since_epoch(seconds * 1_000_000_000);
        assert!(succeeds(8, 7, Some(at(100)), at(100)));
        assert!(succeeds(1, u32::MAX, Some(at(100)), at(100)), "numbers wrap");
        assert!(!succeeds(7, 8, Some(at(100)), at(105)));
        assert!(succeeds(7, 8, Some(at(100)), at(106)));
        assert!(succeeds(7, 8, None, at(0)), "it said that it goes");
        let second = HostInstant::from_nanos_since_epoch(1_000_000_000);
        assert_eq!(of(second), 100);
    }
}
