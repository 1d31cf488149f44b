//! Several nodes in one file, and pairs of clocks through files.

use rankscope_trace::{ClockScope, SnapshotPair, Trace, TracerClock};

use super::{ALL, FIXTURES, picture, written};
use crate::wire::{Encoder, Fields};
use crate::xspace::{PlaneNames, Space, read};

fn fixtures() -> Vec<Trace> {
    FIXTURES.iter().map(|bytes| read(*bytes, &ALL).unwrap()).collect()
}

fn combined(traces: &[Trace], names: PlaneNames) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut space = Space::new(&mut bytes, names);
    for (node, trace) in (0..).zip(traces) {
        space.add(node, trace).unwrap();
    }
    space.add_clock_metadata(1, &[("snapshots", 7)]).unwrap();
    space.finish().unwrap();
    bytes
}

/// Start, length, both in picoseconds, and name of every span.
fn events(trace: &Trace) -> Vec<(i128, i128, String)> {
    let event = |span| {
        let (start_ps, dur_ps) = trace.spans.picos(span);
        let start = i128::from(trace.spans.start_ns(span)) * 1_000 + i128::from(start_ps);
        let dur = i128::from(trace.spans.dur_ns[span.0 as usize]) * 1_000 + i128::from(dur_ps);
        (start, dur, trace.name(span).to_owned())
    };
    trace.spans.ids().map(event).collect()
}

#[test]
fn no_event_is_lost_or_moved() {
    let traces = fixtures();
    for names in [PlaneNames::Viewer, PlaneNames::Readable] {
        let both = read(&*combined(&traces, names), &ALL).unwrap();
        let mut expected: Vec<_> = traces.iter().flat_map(events).collect();
        let mut found = events(&both);
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        assert!(both.provenance.problems.is_empty(), "{:?}", both.provenance.problems);
    }
}

#[test]
fn planes_and_hosts_of_all_nodes_are_there() {
    let traces = fixtures();
    let hosts: Vec<_> = traces.iter().map(|trace| trace.provenance.host.clone().unwrap()).collect();
    let both = read(&*combined(&traces, PlaneNames::Readable), &ALL).unwrap();
    let planes: Vec<_> = both.tracks.iter().filter(|(_, track)| track.parent.is_none()).collect();
    let names: Vec<_> = planes.iter().map(|(_, track)| both.strings.text(track.name)).collect();
    for name in ["/node:0/host_threads", "/node:1/host_threads", "/node:1/clock_metadata"] {
        assert_eq!(names.iter().filter(|found| **found == name).count(), 1, "{names:?}");
    }
    let told: Vec<_> = both.provenance.header.iter().filter(|(key, _)| key == "hostnames").collect();
    let mut distinct = hosts;
    distinct.dedup();
    assert_eq!(told.len(), distinct.len());
    let metadata = planes.iter().find(|(_, track)| both.strings.text(track.name).ends_with("clock_metadata")).unwrap().0;
    let key = both.strings.find("snapshots").unwrap();
    assert_eq!(both.tracks.args.value(metadata.0 as usize, key), Some(rankscope_trace::ArgValue::I64(7)));
}

#[test]
fn stamps_are_unsigned_and_lines_count_from_their_first_event() {
    let bytes = combined(&fixtures(), PlaneNames::Viewer);
    let mut lines = 0;
    for (_, plane) in Fields::of(&bytes).map(Result::unwrap).filter(|(field, _)| *field == 1) {
        for (_, line) in Fields::of(plane.bytes()).map(Result::unwrap).filter(|(field, _)| *field == 3) {
            let stamp = Fields::of(line.bytes()).map(Result::unwrap).find(|(field, _)| *field == 3);
            let events = Fields::of(line.bytes()).map(Result::unwrap).filter(|(field, _)| *field == 4);
            let offset = |event: &[u8]| Fields::of(event).map(Result::unwrap).find(|(field, _)| *field == 2).unwrap().1.i64();
            let first = events.map(|(_, event)| offset(event.bytes())).min();
            assert!(stamp.is_some_and(|(_, stamp)| stamp.i64() > 0));
            assert!(first.is_none_or(|first| (0..1_000).contains(&first)), "{first:?}");
            lines += 1;
        }
    }
    assert!(lines > 2);
}

fn clock(name: &str, scope: ClockScope, ahead_ns: i64, first_ns: i64) -> TracerClock {
    let pair = |i: i64| {
        let host_ns = first_ns + i * 100_000_000;
        SnapshotPair { tracer_ns: host_ns + ahead_ns, host_ns, half_width_ns: 40 + i as u64 }
    };
    TracerClock { name: name.into(), scope, pairs: (0..9).map(pair).collect() }
}

#[test]
fn pairs_come_back_with_what_they_stamped() {
    for mut trace in fixtures() {
        let first_ns = trace.bounds_ns().unwrap().0 - 1_000;
        // The host's events lie on the host's time with the first clock, and on the tracer's with the second.
        let clocks = vec![
            clock("rocprofiler", ClockScope::Devices, -1_700_000_000_000_000_000, first_ns),
            clock("ticks", ClockScope::Everything, 5_000_000_000, first_ns - 5_000_000_000),
        ];
        trace.provenance.tracer_clocks.clone_from(&clocks);
        let again = read(&*written(&trace), &ALL).unwrap();
        assert_eq!(again.provenance.tracer_clocks, clocks);
        assert_eq!(picture::whole(&again), picture::whole(&trace));
    }
}

#[test]
fn a_snapshot_without_a_reading_is_no_pair() {
    let mut out = Encoder::default();
    out.message(1, |plane| {
        plane.string(2, "/host:snapshots").message(3, |line| {
            line.string(2, "Clock Snapshots").varint(3, 1_000);
            line.message(4, |event| {
                event.varint(1, 1).varint(2, 5_000).message(4, |stat| {
                    stat.varint(1, 1).varint(3, 77);
                });
            });
            line.message(4, |event| {
                event.varint(1, 1).varint(2, 6_000);
            });
        });
        plane.message(5, |entry| {
            entry.varint(1, 1).message(2, |value| {
                value.varint(1, 1).string(2, "rocm_ns");
            });
        });
    });
    let bytes = [out.bytes(), FIXTURES[0]].concat();
    let trace = read(&*bytes, &ALL).unwrap();
    let clock = &trace.provenance.tracer_clocks[0];
    let base_ns = trace.provenance.clock_base_ns.unwrap();
    assert_eq!((clock.name.as_str(), clock.pairs.len()), ("rocprofiler", 1));
    assert_eq!((clock.pairs[0].tracer_ns, clock.pairs[0].host_ns), (77, base_ns + 1_005));
    assert_eq!(trace.provenance.problems.iter().map(|problem| problem.count).sum::<u64>(), 1);
}
