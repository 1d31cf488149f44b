use proptest::prelude::*;
use rankscope_time::{Knot, RankClock, Rate, ReferenceClock};
use rankscope_trace::{SpanId, SpanRow, StrId, TrackKey};

use super::*;

type Map = ClockMap<RankClock, ReferenceClock>;

const NOW: i64 = 1_790_857_026_000_000_000;

fn knot(from_ns: i64, to_ns: i64) -> Knot {
    Knot { from_ns, to_ns, uncertainty_ns: 40 }
}

/// 3 ms ahead, and 20 ppm fast, over ten seconds.
fn map() -> Map {
    let knots = vec![knot(NOW, NOW - 3_000_000), knot(NOW + 10_000_000_000, NOW + 10_000_000_000 - 3_200_000)];
    Map::from_knots(knots, Rate::from_ppb(1_000)).unwrap()
}

fn trace(spans: &[(i64, i64)], kind: TrackKind) -> Trace {
    let mut trace = Trace::default();
    let track = trace.tracks.find_or_add(kind, None, TrackKey::Number(1));
    let category = trace.category("x", rankscope_trace::CategoryKind::CpuOp);
    for (start_ns, dur_ns) in spans {
        let (start_ns, dur_ns) = (*start_ns, *dur_ns);
        trace.spans.push(SpanRow { start_ns, dur_ns, name: StrId::EMPTY, track, category, offset: 0 });
    }
    trace
}

proptest! {
    /// What lies before, after or within something else still does, and every stamp is where the map puts it.
    #[test]
    fn order_and_nesting_survive(spans in prop::collection::vec((-1_000_000_000i64..12_000_000_000, 0i64..2_000_000_000), 2..60)) {
        let spans: Vec<_> = spans.into_iter().map(|(start, dur)| (NOW + start, dur)).collect();
        let mut moved = trace(&spans, TrackKind::Thread);
        let map = map();
        apply(&mut moved, &map);
        let at = |ns: i64| map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
        for (i, (start, dur)) in spans.iter().enumerate() {
            let id = SpanId(i as u32);
            prop_assert_eq!((moved.spans.start_ns(id), moved.spans.end_ns(id)), (at(*start), at(start + dur)));
            for (j, (other, other_dur)) in spans.iter().enumerate() {
                let other_id = SpanId(j as u32);
                prop_assert!(start > other || moved.spans.start_ns(id) <= moved.spans.start_ns(other_id));
                if other <= start && start + dur <= other + other_dur {
                    prop_assert!(moved.spans.start_ns(other_id) <= moved.spans.start_ns(id));
                    prop_assert!(moved.spans.end_ns(id) <= moved.spans.end_ns(other_id));
                }
            }
        }
    }

    /// The inverse brings everything back to within the rounding.
    #[test]
    fn there_and_back_is_the_same_trace(spans in prop::collection::vec((0i64..10_000_000_000, 0i64..2_000_000_000), 1..40)) {
        let spans: Vec<_> = spans.into_iter().map(|(start, dur)| (NOW + start, dur)).collect();
        let original = trace(&spans, TrackKind::Thread);
        let mut moved = original.clone();
        apply(&mut moved, &map());
        apply(&mut moved, &map().inverse());
        for id in original.spans.ids() {
            prop_assert!((moved.spans.start_ns(id) - original.spans.start_ns(id)).abs() <= 1);
            prop_assert!((moved.spans.end_ns(id) - original.spans.end_ns(id)).abs() <= 1);
        }
    }
}

#[test]
fn a_fast_clock_gives_shorter_spans() {
    let mut moved = trace(&[(NOW, 1_000_000_000)], TrackKind::Thread);
    let told = apply(&mut moved, &map());
    assert_eq!((moved.spans.start_ns[0], moved.spans.dur_ns[0]), (NOW - 3_000_000, 999_980_000));
    assert_eq!((told.events, told.extrapolated), (1, 0));
    assert_eq!((told.correction_min_ns, told.correction_max_ns), (-3_020_000, -3_000_000));
    assert!((40..=45).contains(&told.uncertainty_max_ns), "{told:?}");
}

#[test]
fn what_lies_outside_the_knots_is_counted() {
    let spans = [(NOW - 5, 1), (NOW + 1, 1), (NOW + 9_999_999_999, 5)];
    let told = apply(&mut trace(&spans, TrackKind::Thread), &map());
    assert_eq!((told.events, told.extrapolated, told.extrapolated_by_stage), (3, 2, vec![2]));
}

proptest! {
    /// What is told of events by their bounds alone holds for each of them, and where nothing is extrapolated it is told as such.
    #[test]
    fn bounds_tell_what_moving_every_event_does(
        spans in prop::collection::vec((-1_000_000_000i64..12_000_000_000, 0i64..2_000_000_000), 1..40),
        knots in prop::collection::vec((1i64..4_000_000_000, -100_000i64..100_000), 1..6),
    ) {
        let spans: Vec<_> = spans.into_iter().map(|(start, dur)| (NOW + start, dur)).collect();
        let mut at = NOW;
        let knots = knots.into_iter().map(|(after, ahead)| {
            at += after + 400_000;
            knot(at, at - 3_000_000 + ahead)
        });
        let Ok(map) = Map::from_knots(knots.collect(), Rate::from_ppb(1_000)) else { return Ok(()) };
        let mut moved = trace(&spans, TrackKind::Thread);
        let bounds = moved.bounds_ns();
        let (each, told) = (apply(&mut moved, &map), measure(&map, spans.len() as u64, bounds));
        prop_assert_eq!((told.events, told.uncertainty_max_ns), (each.events, each.uncertainty_max_ns));
        prop_assert!(told.correction_min_ns <= each.correction_min_ns + 1 && each.correction_max_ns <= told.correction_max_ns + 1);
        prop_assert_eq!(told.extrapolated_by_stage.len(), each.extrapolated_by_stage.len());
        prop_assert_eq!(told.extrapolated == 0, each.extrapolated == 0);
        prop_assert!(told.extrapolated <= told.events);
    }

    /// A line corrects most at its ends, so there nothing is lost.
    #[test]
    fn along_a_line_bounds_tell_it_exactly(spans in prop::collection::vec((0i64..8_000_000_000, 0i64..2_000_000_000), 1..40)) {
        let spans: Vec<_> = spans.into_iter().map(|(start, dur)| (NOW + start, dur)).collect();
        let mut moved = trace(&spans, TrackKind::Thread);
        let bounds = moved.bounds_ns();
        prop_assert_eq!(measure(&map(), spans.len() as u64, bounds), apply(&mut moved, &map()));
    }
}

#[test]
fn events_outside_the_knots_are_as_many_as_their_share_of_the_time() {
    let tenth = Some((NOW - 1_000_000_000, NOW + 9_000_000_000));
    assert_eq!(measure(&map(), 1_000, tenth).extrapolated_by_stage, [100]);
    assert_eq!(measure(&map(), 1_000, Some((NOW - 1, NOW + 5_000_000_000))).extrapolated, 1, "little is not nothing");
    assert_eq!(measure(&map(), 7, Some((NOW - 5, NOW - 5))).extrapolated, 7);
    assert_eq!(measure(&map(), 7, None), Moved { events: 7, extrapolated_by_stage: vec![0], ..Moved::default() });
    let all_of_time = measure(&map(), u64::MAX, Some((i64::MIN, i64::MAX)));
    assert!(all_of_time.extrapolated > u64::MAX / 2);
}

#[test]
fn picoseconds_are_carried_along() {
    let mut moved = trace(&[(NOW, 1_000_000_000), (NOW + 10, 0)], TrackKind::Thread);
    moved.spans.picos = vec![(700, 600), (500, 250)];
    apply(&mut moved, &map());
    // 700 + 600 ps beyond one second end at 1.000000001300: the whole nanosecond is mapped, 300 ps stay.
    assert_eq!((moved.spans.dur_ns[0], moved.spans.picos[0]), (999_980_000, (700, 600)));
    assert_eq!((moved.spans.dur_ns[1], moved.spans.picos[1]), (0, (500, 250)));
}

#[test]
fn devices_move_alone() {
    let offset = Map::from_offset(rankscope_time::Span::from_nanos(7), 0);
    let mut host = trace(&[(NOW, 1)], TrackKind::Thread);
    assert_eq!(apply_to_devices(&mut host, &offset), Moved { extrapolated_by_stage: vec![0], ..Moved::default() });
    assert_eq!(host.spans.start_ns[0], NOW);
    let mut device = trace(&[(NOW, 1)], TrackKind::Stream);
    assert_eq!(apply_to_devices(&mut device, &offset).events, 1);
    assert_eq!(device.spans.start_ns[0], NOW + 7);
}

#[test]
fn hostile_stamps_do_not_overflow() {
    let mut moved = trace(&[(i64::MAX, i64::MAX), (i64::MIN, i64::MAX), (0, i64::MAX)], TrackKind::Thread);
    moved.spans.picos = vec![(999, 999); 3];
    let told = apply(&mut moved, &map());
    assert_eq!(told.extrapolated, 3);
    assert!(moved.spans.dur_ns.iter().all(|dur| *dur >= 0));
}
