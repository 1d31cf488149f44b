//! From rows of offsets to a map: a straight line between every two, and the first and the last line go on.
//!
//! A row says `node - reference` at a moment `m`. Rows of old files give `m` on the reference's clock, all others on the node's:
//! with offsets of a second and clocks 10 ppm apart, taking one for the other costs 10 us. No value is smoothed or pulled
//! anywhere: who hands over such a file wants its clocks.

use rankscope_time::{ClockMap, Knot, MapError, RankClock, Rate, ReferenceClock};

/// One row: where a node's clock stood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetPoint {
    /// When, on the node's clock, or on the reference's.
    pub at_ns: i64,
    /// Whether `at_ns` is on the reference's clock.
    pub at_reference: bool,
    /// The node's clock minus the reference's.
    pub offset_ns: i64,
    /// What the node gained on the reference then; counts only where there is no other row.
    pub skew_ppb: i64,
    /// How far the offset may be off.
    pub half_width_ns: u64,
}

/// A map through rows.
#[derive(Debug)]
pub struct PointMap {
    /// From the node's clock to the reference's.
    pub map: ClockMap<RankClock, ReferenceClock>,
    /// Rows it goes through.
    pub used: usize,
    /// Rows that no increasing map can go through together with those before them.
    pub passed_over: usize,
}

/// How much two clocks may change their rate against each other beyond the rows, unseen.
const DRIFT_BOUND: Rate = Rate::from_ppb(1_000);

/// How far a lone row's rate is drawn.
const DRAWN_NS: i64 = 1_000_000_000;

/// The map through `points`, in whatever order they come.
///
/// # Errors
/// [`MapError::Empty`] for no points.
pub fn through(points: &[OffsetPoint]) -> Result<PointMap, MapError> {
    let mut knots: Vec<Knot> = points.iter().map(OffsetPoint::knot).collect();
    knots.sort_by_key(|knot| knot.from_ns);
    let mut chosen: Vec<Knot> = Vec::with_capacity(knots.len());
    for knot in knots {
        let fits = |last: &Knot| ClockMap::<RankClock, ReferenceClock>::from_knots(vec![*last, knot], DRIFT_BOUND).is_ok();
        if chosen.last().is_none_or(fits) {
            chosen.push(knot);
        }
    }
    let used = chosen.len();
    if let [only] = chosen[..] {
        let skew_ppb = points.first().map_or(0, |point| point.skew_ppb).clamp(-SKEW_PPB_MAX, SKEW_PPB_MAX);
        let (from_ns, to_ns) = (only.from_ns.saturating_add(DRAWN_NS), only.to_ns.saturating_add(DRAWN_NS - skew_ppb));
        chosen.push(Knot { from_ns, to_ns, ..only });
    }
    let map = ClockMap::from_knots(chosen, DRIFT_BOUND)?;
    Ok(PointMap { map, used, passed_over: points.len() - used })
}

/// No oscillator is off by a thousandth.
const SKEW_PPB_MAX: i64 = 1_000_000;

impl OffsetPoint {
    fn knot(&self) -> Knot {
        let own_ns = if self.at_reference { self.at_ns.saturating_add(self.offset_ns) } else { self.at_ns };
        Knot { from_ns: own_ns, to_ns: own_ns.saturating_sub(self.offset_ns), uncertainty_ns: self.half_width_ns }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::Instant;

    use super::*;

    fn mapped(map: &PointMap, ns: i64) -> i64 {
        map.map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch()
    }

    const NOW: i64 = 1_790_857_026_000_000_000;

    proptest! {
        #[test]
        fn a_straight_clock_is_found_again(
            ahead_ns in -2_000_000_000_i64..2_000_000_000,
            drift_ppb in -50_000_i64..50_000,
            windows in 2_usize..20,
            at_reference in any::<bool>(),
            at in -60_000_000_000_i64..60_000_000_000,
        ) {
            // The truth is a line over the reference's time, so that both sorts of row can be had from it.
            let offset = |reference: i64| ahead_ns + (i128::from(reference - NOW) * i128::from(drift_ppb) / 1_000_000_000) as i64;
            let point = |i: usize| {
                let reference = NOW + i as i64 * 4_000_000_000;
                let offset_ns = offset(reference);
                let at_ns = if at_reference { reference } else { reference + offset_ns };
                OffsetPoint { at_ns, at_reference, offset_ns, skew_ppb: 0, half_width_ns: 100 }
            };
            let points: Vec<_> = (0..windows).rev().map(point).collect();
            let map = through(&points).unwrap();
            prop_assert_eq!((map.used, map.passed_over), (windows, 0));
            let truth = NOW + at;
            let error = mapped(&map, truth + offset(truth)) - truth;
            // Offsets are whole, so a line through two of them may be off by one where it ends, and by its reach beyond.
            let reach = 2 + at.abs() / 4_000_000_000;
            prop_assert!(error.abs() <= reach, "{error}");
        }

        #[test]
        fn hostile_rows_make_a_map_or_are_passed_over(
            rows in prop::collection::vec((any::<i64>(), any::<bool>(), any::<i64>(), any::<i64>()), 1..20),
        ) {
            let point = |&(at_ns, at_reference, offset_ns, skew_ppb): &(i64, bool, i64, i64)| {
                OffsetPoint { at_ns, at_reference, offset_ns, skew_ppb, half_width_ns: u64::MAX }
            };
            let points: Vec<_> = rows.iter().map(point).collect();
            if let Ok(map) = through(&points) {
                prop_assert_eq!(map.used + map.passed_over, rows.len());
            }
        }
    }

    #[test]
    fn a_lone_row_goes_on_with_its_rate() {
        let point = OffsetPoint { at_ns: NOW, at_reference: false, offset_ns: 500, skew_ppb: 10_000, half_width_ns: 5 };
        let map = through(&[point]).unwrap();
        assert_eq!(mapped(&map, NOW), NOW - 500);
        assert_eq!(mapped(&map, NOW + 2_000_000_000), NOW + 2_000_000_000 - 500 - 20_000);
        assert!(matches!(through(&[]), Err(MapError::Empty)));
    }
}
