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
