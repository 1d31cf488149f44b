//! From snapshot pairs to a map: the clock of a tracer on the clock of its host.
//!
//! A pair is as good as the bracket it was read in is narrow, and a reader that was interrupted has a wide one. So time is cut
//! into stretches of a few pairs, of each the narrowest counts, and lines run between those. Where the lines before and after
//! a knot disagree by more than their brackets allow, a daemon was steering one of the clocks, and the knot's uncertainty
//! grows by as much; a steering that begins and ends between two pairs leaves no trace here. Where one clock was set, the
//! series is cut, and what covers most of the time asked for is taken: a map cannot jump.

use rankscope_time::{ClockMap, Instant, Knot, MapError, Rate};
use rankscope_trace::SnapshotPair;

/// A tracer's clock, mapped.
#[derive(Debug)]
pub struct TracerMap<A, B> {
    /// The map; one knot is a constant offset.
    pub map: ClockMap<A, B>,
    /// Pairs that became knots.
    pub knots: usize,
    /// Pairs that gave way to narrower ones, and pairs that run backwards.
    pub passed_over: usize,
    /// How often one of the clocks was set.
    pub steps: usize,
}

/// Pairs of which the narrowest counts.
const PAIRS_A_KNOT: usize = 4;

/// Beyond this rate, between two knots, one clock was set: NTP steers by 500 ppm at most, adjtime by as much again.
const STEERED_PPM_MAX: i128 = 1_500;

/// What readings close to each other may be off whatever their rate.
const STEP_MIN_NS: i128 = 2_000;

/// What two clocks of one host may drift apart where no pair tells: as steered as NTP does.
const DRIFT_BOUND: Rate = Rate::from_ppb(500_000);

/// The map through `pairs` that covers most of the time from `from_ns` to `until_ns` on the tracer's clock.
///
/// # Errors
/// [`MapError::Empty`] where there is no pair.
pub fn tracer_map<A, B>(pairs: &[SnapshotPair], from_ns: i64, until_ns: i64) -> Result<TracerMap<A, B>, MapError> {
    let narrow = narrowest(pairs);
    let runs = without_steps(&narrow);
    let covered = |run: &&[Knot]| {
        let (first, last) = (run[0].from_ns, run[run.len() - 1].from_ns);
        (last.min(until_ns).saturating_sub(first.max(from_ns)), last.saturating_sub(first))
    };
    let run = runs.iter().copied().max_by_key(covered).ok_or(MapError::Empty)?;
    let knots = bent(run);
    let count = knots.len();
    let map = ClockMap::from_knots(knots, DRIFT_BOUND)?;
    Ok(TracerMap { map, knots: count, passed_over: pairs.len() - narrow.len(), steps: runs.len() - 1 })
}

/// The first and the last pair, and between them the narrowest of each stretch; increasing on the tracer's clock.
fn narrowest(pairs: &[SnapshotPair]) -> Vec<Knot> {
    let mut sorted: Vec<Knot> = pairs
        .iter()
        .map(|pair| Knot { from_ns: pair.tracer_ns, to_ns: pair.host_ns, uncertainty_ns: pair.half_width_ns })
        .collect();
    sorted.sort_by_key(|knot| (knot.from_ns, knot.uncertainty_ns));
    sorted.dedup_by_key(|knot| knot.from_ns);
    if sorted.len() <= 2 * PAIRS_A_KNOT {
        return sorted;
    }
    let best = |stretch: &[Knot]| stretch.iter().min_by_key(|knot| knot.uncertainty_ns).copied();
    let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
    let mut knots: Vec<Knot> = sorted.chunks(PAIRS_A_KNOT).filter_map(best).collect();
    // The ends are kept where they are no worse than what they extend: a trace ends beyond the last narrow pair.
    let usual_ns = {
        let mut widths: Vec<u64> = knots.iter().map(|knot| knot.uncertainty_ns).collect();
        widths.sort_unstable();
        widths[widths.len() / 2]
    };
    let good = |knot: &Knot| knot.uncertainty_ns <= usual_ns.saturating_mul(2).saturating_add(100);
    if good(&first) && knots.first() != Some(&first) {
        knots.insert(0, first);
    }
    if good(&last) && knots.last() != Some(&last) {
        knots.push(last);
    }
    knots
}

/// The runs of knots between steps of either clock.
fn without_steps(knots: &[Knot]) -> Vec<&[Knot]> {
    knots.chunk_by(|a, b| !is_step(a, b)).collect()
}

fn is_step(a: &Knot, b: &Knot) -> bool {
    let run = i128::from(b.from_ns) - i128::from(a.from_ns);
    let rise = i128::from(b.to_ns) - i128::from(a.to_ns);
    let widths = i128::from(a.uncertainty_ns) + i128::from(b.uncertainty_ns);
    let allowed = widths + run * STEERED_PPM_MAX / 1_000_000 + STEP_MIN_NS;
    rise <= 0 || rise > 2 * run || run > 2 * rise || (rise - run).abs() > allowed
}

/// The knots, less certain where the clocks bend.
fn bent(run: &[Knot]) -> Vec<Knot> {
    let mut knots = run.to_vec();
    for (place, around) in run.windows(3).enumerate() {
        let [a, knot, b] = around else { continue };
        let chord: Result<ClockMap<(), ()>, _> = ClockMap::from_knots(vec![*a, *b], Rate::ZERO);
        let Ok(chord) = chord else { continue };
        let at = Instant::from_nanos_since_epoch(knot.from_ns);
        let off_ns = (i128::from(chord.map(at).nanos_since_epoch()) - i128::from(knot.to_ns)).unsigned_abs();
        let explained = u128::from(chord.uncertainty_ns(at)) + u128::from(knot.uncertainty_ns);
        let bend_ns = u64::try_from(off_ns.saturating_sub(explained)).unwrap_or(u64::MAX);
        for knot in &mut knots[place..place + 3] {
            knot.uncertainty_ns = knot.uncertainty_ns.max(run_width(run, knot).saturating_add(bend_ns));
        }
    }
    knots
}

/// The width that `knot` was read with.
fn run_width(run: &[Knot], knot: &Knot) -> u64 {
    run.binary_search_by_key(&knot.from_ns, |known| known.from_ns).map_or(0, |place| run[place].uncertainty_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::{HostClock, RankClock};

    use super::*;

    const NOW: i64 = 1_790_857_026_000_000_000;

    type Tracer = TracerMap<RankClock, HostClock>;

    /// A tracer's clock that counts from boot and drifts, read every 100 ms by a reader that is interrupted now and then.
    fn pairs(count: i64, drift_ppm: i64, offs: &[(i64, u64)]) -> Vec<SnapshotPair> {
        let read = |i: i64| {
            let (sign, width) = offs[i as usize % offs.len()];
            let tracer_ns = 5_000_000_000 + i * 100_000_000;
            let host_ns = NOW + i * (100_000_000 + drift_ppm * 100);
            SnapshotPair { tracer_ns, host_ns: host_ns + sign * width as i64, half_width_ns: width }
        };
        (0..count).map(read).collect()
    }

    proptest! {
        /// However pairs are off within their brackets, the truth lies within what the map claims.
        #[test]
        fn the_truth_is_within_the_uncertainty(
            drift_ppm in -200i64..200,
            offs in prop::collection::vec((-1i64..=1, prop_oneof![20u64..80, 20u64..80, 20u64..80, 1_000u64..50_000]), 1..23),
            count in 2i64..120,
            at in 0i64..12_000_000_000
        ) {
            let pairs = pairs(count, drift_ppm, &offs);
            let mapped: Tracer = tracer_map(&pairs, i64::MIN, i64::MAX).unwrap();
            let last = (count - 1) * 100_000_000;
            let at = at.min(last);
            let truth = NOW + at + at * drift_ppm / 1_000_000;
            let tracer = Instant::from_nanos_since_epoch(5_000_000_000 + at);
            let off = (mapped.map.map(tracer).nanos_since_epoch() - truth).unsigned_abs();
            // One nanosecond for the rounding of the truth itself. What lies beyond the knots is extrapolated.
            prop_assert!(mapped.map.extrapolates(tracer) || off <= mapped.map.uncertainty_ns(tracer) + 1, "{off}");
            prop_assert_eq!(mapped.steps, 0);
        }
    }

    #[test]
    fn narrow_pairs_decide() {
        let offs = [(1, 40_000), (0, 30), (-1, 9_000), (1, 500)];
        let mapped: Tracer = tracer_map(&pairs(100, 10, &offs), i64::MIN, i64::MAX).unwrap();
        assert_eq!((mapped.knots, mapped.passed_over), (25, 75));
        let middle = Instant::from_nanos_since_epoch(5_000_000_000 + 5_000_000_000);
        assert_eq!(mapped.map.map(middle).nanos_since_epoch(), NOW + 5_000_000_000 + 50_000);
        assert!(mapped.map.uncertainty_ns(middle) <= 31);
    }

    #[test]
    fn a_step_cuts_the_series() {
        let mut pairs = pairs(60, 0, &[(0, 30)]);
        pairs[40..].iter_mut().for_each(|pair| pair.host_ns += 5_000_000);
        let mapped: Tracer = tracer_map(&pairs, 0, i64::MAX).unwrap();
        assert_eq!(mapped.steps, 1);
        let at = |i: i64| mapped.map.map(Instant::from_nanos_since_epoch(5_000_000_000 + i * 100_000_000)).nanos_since_epoch();
        assert_eq!(at(20), NOW + 20 * 100_000_000);
        let late: Tracer = tracer_map(&pairs, 5_000_000_000 + 45 * 100_000_000, i64::MAX).unwrap();
        let after = late.map.map(Instant::from_nanos_since_epoch(5_000_000_000 + 50 * 100_000_000)).nanos_since_epoch();
        assert_eq!(after, NOW + 50 * 100_000_000 + 5_000_000);
    }

    #[test]
    fn a_bend_is_owned_up_to() {
        let mut pairs = pairs(80, 0, &[(0, 30)]);
        // Steered by 400 ppm from the fortieth pair on.
        for (i, pair) in pairs.iter_mut().enumerate().skip(40) {
            pair.host_ns += (i as i64 - 40) * 40_000;
        }
        let mapped: Tracer = tracer_map(&pairs, 0, i64::MAX).unwrap();
        let uncertain = |i: i64| mapped.map.uncertainty_ns(Instant::from_nanos_since_epoch(5_000_000_000 + i * 100_000_000));
        assert!(uncertain(10) <= 31 && uncertain(70) <= 31);
        assert!(uncertain(40) > 10_000);
    }

    #[test]
    fn one_pair_is_an_offset_and_none_is_an_error() {
        let one: Tracer = tracer_map(&pairs(1, 0, &[(0, 30)]), 0, 1).unwrap();
        assert_eq!(one.map.map(Instant::from_nanos_since_epoch(0)).nanos_since_epoch(), NOW - 5_000_000_000);
        assert!(tracer_map::<RankClock, HostClock>(&[], 0, 1).is_err());
    }

    #[test]
    fn hostile_pairs_do_not_overflow() {
        let wild = |tracer_ns, host_ns| SnapshotPair { tracer_ns, host_ns, half_width_ns: u64::MAX };
        let pairs: Vec<_> = [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, 0), (1, i64::MAX), (2, i64::MIN)]
            .map(|(t, h)| wild(t, h))
            .to_vec();
        let mapped: Result<Tracer, _> = tracer_map(&pairs, i64::MIN, i64::MAX);
        assert!(mapped.is_ok());
    }
}
