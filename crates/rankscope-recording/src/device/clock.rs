//! [`OntoRecording`]: from the clock of a source on to the recording's time, by the recorder's own readings of both.

use crate::event::ClockId;
use crate::system::Anchor;
use crate::ticks::TickMap;

/// From a clock of the host on to the recording's time.
pub(super) struct OntoRecording {
    /// What both showed at one moment: the clock, the recording. The clock's rise.
    knots: Vec<(i64, i64)>,
}

impl OntoRecording {
    pub(super) fn new(anchors: &[Anchor], ticks: &TickMap, clock: ClockId) -> Self {
        let readings = anchors.iter().filter(|anchor| anchor.clock == clock);
        let mut knots: Vec<(i64, i64)> = readings.map(|anchor| (anchor.ns, ticks.ns(anchor.tick))).collect();
        knots.sort_unstable();
        knots.dedup_by_key(|knot| knot.0);
        Self { knots }
    }

    /// The recording's time when the clock showed `theirs`: between readings on the line, beyond them at the distance of the nearest.
    pub(super) fn ns(&self, theirs: i64) -> i64 {
        let at = self.knots.partition_point(|knot| knot.0 <= theirs);
        let (before, after) = (at.checked_sub(1).map(|at| self.knots[at]), self.knots.get(at).copied());
        let theirs = i128::from(theirs);
        let [(from, ours), (to, ours_to)] = match (before, after) {
            (Some(before), Some(after)) => [before, after].map(wide),
            (Some(knot), None) | (None, Some(knot)) => [wide(knot), (i128::from(knot.0) + 1, i128::from(knot.1) + 1)],
            (None, None) => [(0, 0), (1, 1)],
        };
        let ns = ours + (theirs - from).saturating_mul(ours_to - ours) / (to - from);
        i64::try_from(ns).unwrap_or(if ns > 0 { i64::MAX } else { i64::MIN })
    }
}

fn wide((theirs, ours): (i64, i64)) -> (i128, i128) {
    (theirs.into(), ours.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_the_readings_between_them_and_keep_their_distance_beyond() {
        let onto = OntoRecording { knots: vec![(100, 1_000), (200, 1_200), (300, 1_200)] };
        let pairs = [(0, 900), (100, 1_000), (150, 1_100), (250, 1_200), (300, 1_200), (310, 1_210)];
        for (theirs, ours) in pairs {
            assert_eq!(onto.ns(theirs), ours, "{theirs}");
        }
        assert_eq!(OntoRecording { knots: Vec::new() }.ns(7), 7);
    }

    #[test]
    fn readings_that_cannot_be_do_not_overflow() {
        let onto = OntoRecording { knots: vec![(i64::MIN, i64::MAX), (i64::MAX, i64::MIN)] };
        assert_eq!((onto.ns(i64::MIN), onto.ns(i64::MAX)), (i64::MAX, i64::MIN));
        let _somewhere = onto.ns(i64::MAX - 1);
    }
}
