use proptest::prelude::*;

use super::*;
use crate::{HostClock, RankClock, ReferenceClock};

type ToHost = ClockMap<RankClock, HostClock>;
type ToReference = ClockMap<HostClock, ReferenceClock>;

const NOW: i64 = 1_790_857_026_000_000_000;

fn at<C>(nanos: i64) -> Instant<C> {
    Instant::from_nanos_since_epoch(nanos)
}

fn knot(from_ns: i64, to_ns: i64) -> Knot {
    Knot { from_ns, to_ns, uncertainty_ns: 10 }
}

/// Knots of any legal slope, near today's epoch, where a float would already round to 256 ns.
fn knots() -> impl Strategy<Value = Vec<Knot>> {
    let step = (1i64..2_000_000_000, 0u32..=1_000, 0u64..1_000);
    (-1_000_000_000i64..1_000_000_000, prop::collection::vec(step, 1..12)).prop_map(|(offset, steps)| {
        let mut at = Knot { from_ns: NOW, to_ns: NOW + offset, uncertainty_ns: 5 };
        let mut knots = vec![at];
        for (run, slope, uncertainty_ns) in steps {
            let low = (run + 1) / 2;
            let rise = low + (run * 2 - low) * i64::from(slope) / 1_000;
            at = Knot { from_ns: at.from_ns + run, to_ns: at.to_ns + rise, uncertainty_ns };
            knots.push(at);
        }
        knots
    })
}

fn instants() -> impl Strategy<Value = i64> {
    prop_oneof![NOW - 5_000_000_000..NOW + 30_000_000_000, Just(i64::MIN / 4), Just(i64::MAX / 4)]
}

/// Also far away, and at the edges of time.
fn wild_instants() -> impl Strategy<Value = i64> {
    prop_oneof![instants(), instants(), any::<i64>(), Just(i64::MIN), Just(i64::MAX), Just(0)]
}

proptest! {
    #[test]
    fn order_and_nesting_survive(knots in knots(), mut t in prop::array::uniform4(instants())) {
        let map = ToHost::from_knots(knots, Rate::from_ppb(100)).unwrap();
        t.sort_unstable();
        let mapped = t.map(|t| map.map(at(t)));
        prop_assert!(mapped.is_sorted(), "{t:?} became {mapped:?}");
    }

    #[test]
    fn a_map_is_what_its_stages_make(a in knots(), b in knots(), ppb in any::<i64>(), offset in any::<i64>(), width in any::<u64>()) {
        let (a, b) = (ToHost::from_knots(a, Rate::from_ppb(ppb)).unwrap(), ToHost::from_knots(b, Rate::ZERO).unwrap());
        let offset = ClockMap::<HostClock, RankClock>::from_offset(Span::from_nanos(offset), width);
        let map = a.then(&b.inverse()).then(&offset.inverse()).then(&offset);
        let again = ClockMap::from_stages(map.stages()).unwrap();
        prop_assert_eq!(&again, &map);
        prop_assert_eq!(again.inverse().stages(), map.inverse().stages());
        prop_assert!(again != a.then(&b.inverse()));
    }

    #[test]
    fn there_and_back_is_the_identity(knots in knots(), t in instants()) {
        let map = ToHost::from_knots(knots, Rate::ZERO).unwrap();
        let back = map.inverse().map(map.map(at(t)));
        prop_assert!((back - at(t)).abs() <= Span::from_nanos(1), "{t} came back as {back:?}");
    }

    #[test]
    fn composition_is_one_map_after_the_other(first in knots(), second in knots(), t in instants()) {
        let first = ToHost::from_knots(first, Rate::ZERO).unwrap();
        let second = ToReference::from_knots(second, Rate::ZERO).unwrap();
        prop_assert_eq!(first.then(&second).map(at(t)), second.map(first.map(at(t))));
    }

    #[test]
    fn a_cursor_maps_as_its_map(first in knots(), second in knots(), mut ts in prop::collection::vec(wild_instants(), 1..40)) {
        let first = ToHost::from_knots(first, Rate::ZERO).unwrap();
        let second = ToReference::from_knots(second, Rate::ZERO).unwrap();
        let there = first.then(&second);
        let back = there.inverse();
        let (mut onward, mut homeward) = (there.cursor(), back.cursor());
        let knots = there.stages.iter().flat_map(|stage| stage.knots.iter().map(|knot| stage.x(knot)));
        ts.extend(knots.flat_map(|x| [x.saturating_sub(1), x, x.saturating_add(1)]));
        for _ in 0..2 {
            for t in &ts {
                prop_assert_eq!(onward.map(at(*t)), there.map(at(*t)));
                prop_assert_eq!(homeward.map(at(*t)), back.map(at(*t)));
            }
            let mut all_ns = ts.clone();
            there.cursor().map_all(&mut all_ns);
            prop_assert_eq!(all_ns, ts.iter().map(|t| there.map(at(*t)).nanos_since_epoch()).collect::<Vec<_>>());
            ts.sort_unstable();
        }
    }

    #[test]
    fn a_width_is_stretched_by_the_steepest_line(knots in knots(), width in any::<u64>(), inverse in any::<bool>()) {
        let stage = Stage::new(knots, Rate::ZERO).unwrap();
        let stage = if inverse { stage.inverted() } else { stage };
        let stretched = stage.knots.windows(2).map(|pair| {
            let run = i128::from(stage.x(&pair[1])) - i128::from(stage.x(&pair[0]));
            let rise = i128::from(stage.y(&pair[1])) - i128::from(stage.y(&pair[0]));
            (i128::from(width) * rise + run - 1) / run
        });
        let expected = stretched.max().map_or(width, |most| u64::try_from(most).unwrap_or(u64::MAX));
        prop_assert_eq!(stage.stretch(width), expected);
    }

    #[test]
    fn the_greatest_uncertainty_is_not_exceeded(
        first in knots(), second in knots(), mut ends in prop::array::uniform2(instants()), part in 0i64..=1_000
    ) {
        ends.sort_unstable();
        let first = ToHost::from_knots(first, Rate::from_ppb(100)).unwrap();
        let both = first.then(&ToReference::from_knots(second, Rate::from_ppb(100)).unwrap());
        let t = (i128::from(ends[0]) + (i128::from(ends[1]) - i128::from(ends[0])) * i128::from(part) / 1_000) as i64;
        let greatest = both.uncertainty_max_ns(at(ends[0]), at(ends[1]));
        prop_assert!(both.uncertainty_ns(at(t)) <= greatest, "{} > {greatest}", both.uncertainty_ns(at(t)));
    }

    #[test]
    fn the_uncertainty_holds_the_truth(knots in knots(), t in instants(), signs in prop::collection::vec(-1i64..=1, 12)) {
        // The truth lies anywhere inside every knot's uncertainty. Where the disturbed knots still make a map, the two maps
        // may differ by no more than the claim between the knots.
        let truth: Vec<Knot> = knots.iter().zip(&signs)
            .map(|(k, sign)| Knot { to_ns: k.to_ns + sign * k.uncertainty_ns as i64, ..*k }).collect();
        let (first, last) = (knots[0].from_ns, knots[knots.len() - 1].from_ns);
        let claimed = ToHost::from_knots(knots, Rate::ZERO).unwrap();
        if let Ok(truth) = ToHost::from_knots(truth, Rate::ZERO) {
            let t = t.clamp(first, last);
            let error = (truth.map(at(t)) - claimed.map(at(t))).abs().as_nanos();
            prop_assert!(error as u64 <= claimed.uncertainty_ns(at(t)), "off by {error}");
        }
    }
}

#[test]
fn a_knot_is_met_exactly() {
    let map = ToHost::from_knots(vec![knot(NOW, NOW + 7), knot(NOW + 1_000_000_000, NOW + 1_000_010_007)], Rate::ZERO).unwrap();
    assert_eq!(map.map(at(NOW)), at(NOW + 7));
    assert_eq!(map.map(at(NOW + 1_000_000_000)), at(NOW + 1_000_010_007));
    assert_eq!(map.map(at(NOW + 500_000_000)), at(NOW + 500_005_007));
    assert_eq!(map.known(), [Some((at(NOW), at(NOW + 1_000_000_000)))]);
    assert_eq!(ToHost::from_offset(Span::from_nanos(9), 0).known(), [None]);
    assert!(map.extrapolates(at(NOW - 1)));
    assert!(!map.extrapolates(at(NOW)));
}

#[test]
fn a_single_knot_is_an_offset() {
    let map = ToHost::from_offset(Span::from_nanos(-42), 3);
    assert_eq!(map.map(at(NOW)), at(NOW - 42));
    assert_eq!(map.uncertainty_ns(at(NOW)), 3);
    assert_eq!(map.inverse().map(at(NOW - 42)), at(NOW));
    assert!(!map.extrapolates(at(0)));
}

#[test]
fn the_identity_knows_itself() {
    assert!(ToHost::identity().is_identity());
    assert!(ToHost::from_offset(Span::ZERO, 9).is_identity());
    assert!(!ToHost::from_offset(Span::from_nanos(1), 0).is_identity());
}

#[test]
fn uncertainty_grows_outside_the_knots() {
    let map = ToHost::from_knots(vec![knot(0, 0), knot(1_000_000_000, 1_000_000_000)], Rate::from_ppb(50)).unwrap();
    assert_eq!(map.uncertainty_ns(at(0)), 11);
    assert_eq!(map.uncertainty_ns(at(3_000_000_000)), 11 + 100);
}

#[test]
fn bad_knots_are_named() {
    let error = |knots| ToHost::from_knots(knots, Rate::ZERO).unwrap_err();
    assert_eq!(error(vec![]), MapError::Empty);
    assert_eq!(error(vec![knot(0, 0), knot(5, 5), knot(5, 9)]), MapError::NotIncreasing { index: 2 });
    assert_eq!(error(vec![knot(0, 0), knot(5, -1)]), MapError::NotIncreasing { index: 1 });
    assert_eq!(error(vec![knot(0, 0), knot(10, 21)]), MapError::SlopeOutOfRange { index: 1 });
    assert_eq!(error(vec![knot(0, 0), knot(10, 4)]), MapError::SlopeOutOfRange { index: 1 });
}

#[test]
fn a_bad_stage_is_named() {
    let stage = |knots| MapStage { knots, drift_bound: Rate::ZERO, inverse: true };
    let read = ToHost::from_stages([stage(vec![knot(0, 0)]), stage(vec![knot(0, 0), knot(5, -1)])]);
    assert_eq!(read, Err(StageError { stage: 1, error: MapError::NotIncreasing { index: 1 } }));
    assert_eq!(ToHost::from_stages([]), Ok(ToHost::identity()));
}

#[test]
fn the_ends_of_time_do_not_overflow() {
    let map = ToHost::from_knots(vec![knot(0, 0), knot(10, 20)], Rate::from_ppb(i64::MAX)).unwrap();
    assert_eq!(map.map(at(i64::MAX)), at(i64::MAX));
    assert_eq!(map.map(at(i64::MIN)), at(i64::MIN));
    assert_eq!(map.uncertainty_ns(at(i64::MAX)), u64::MAX);
}
