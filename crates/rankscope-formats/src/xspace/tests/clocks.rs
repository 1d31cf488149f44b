//! Readings of the host's clocks, in the layout that rankscope-pjrt writes: written here a second time, apart from it.

use proptest::prelude::*;
use rankscope_time::Rank;
use rankscope_trace::{ClockReading, HostClock, ProblemKind, RankSource};

use super::{ALL, FIXTURES, picture, written};
use crate::wire::Encoder;
use crate::xspace::read;

const STATS: [&str; 7] = ["raw_ns", "width_ns", "wall_ns", "rank", "world_size", "run_id", "boot_id"];

/// The plane, with a reading each of the wall clock, the raw one and its width, and stamps that count from `base_ns`.
fn plane(readings: &[(i64, i64, u64)], base_ns: i64, process: Option<(u64, u64)>) -> Vec<u8> {
    let mut out = Encoder::default();
    out.message(1, |plane| {
        plane.string(2, "/rankscope:clock").message(3, |line| {
            let origin_ns = readings.first().map_or(0, |reading| reading.0);
            line.varint(1, 1).string(2, "Clock Anchors").varint(3, (origin_ns - base_ns) as u64);
            for (wall_ns, raw_ns, width_ns) in readings {
                line.message(4, |event| {
                    event.varint(1, 1).varint(2, ((wall_ns - origin_ns) * 1000) as u64);
                    for (id, value) in [(1, *raw_ns), (2, *width_ns as i64), (3, *wall_ns)] {
                        event.message(4, |stat| {
                            stat.varint(1, id).varint(4, value as u64);
                        });
                    }
                });
            }
        });
        for (id, name) in (1..).zip(STATS) {
            plane.message(5, |entry| {
                entry.varint(1, id).message(2, |value| {
                    value.varint(1, id).string(2, name);
                });
            });
        }
        if let Some((rank, of)) = process {
            for (id, value) in [(4, rank), (5, of)] {
                plane.message(6, |stat| {
                    stat.varint(1, id).varint(4, value);
                });
            }
            plane.message(6, |stat| {
                stat.varint(1, 6).string(5, "tuesday");
            });
        }
    });
    out.bytes().to_vec()
}

fn base_ns(fixture: &[u8]) -> i64 {
    read(fixture, &ALL).unwrap().provenance.clock_base_ns.unwrap()
}

proptest! {
    /// Whether XLA subtracted the start of the profile from the plane's stamps or not, and however often it goes through a file.
    #[test]
    fn readings_are_on_the_clock_of_the_events(
        readings in prop::collection::vec((0_i64..4_000_000_000, any::<i64>(), 0_u64..100_000), 1..20),
        is_subtracted in any::<bool>(),
    ) {
        let base_ns = base_ns(FIXTURES[0]);
        let absolute: Vec<_> = readings.iter().map(|(at, raw_ns, width_ns)| (base_ns + at, *raw_ns, *width_ns)).collect();
        let bytes = [FIXTURES[0], &plane(&absolute, if is_subtracted { base_ns } else { 0 }, None)].concat();
        let trace = read(&*bytes, &ALL).unwrap();
        let reading = |(trace_ns, ns, width_ns): &(i64, i64, u64)| {
            ClockReading { clock: HostClock::MonotonicRaw, trace_ns: *trace_ns, ns: *ns, width_ns: *width_ns }
        };
        let expected: Vec<_> = absolute.iter().map(reading).collect();
        prop_assert_eq!(&trace.provenance.clock_readings, &expected);
        // They are no events.
        prop_assert_eq!(trace.spans.len(), read(FIXTURES[0], &ALL).unwrap().spans.len());
        let again = read(&*written(&trace), &ALL).unwrap();
        prop_assert_eq!(&again.provenance.clock_readings, &expected);
        prop_assert_eq!(picture::whole(&again), picture::whole(&trace));
    }
}

#[test]
fn the_wall_clock_is_told_where_the_trace_is_not_on_it() {
    // No plane says what stamps count from: they count from the start of the profile all the same.
    let start_ns = 1_790_000_000_000_000_000;
    let mut out = Encoder::default();
    out.message(1, |plane| {
        plane.string(2, "/host:CPU").message(3, |line| {
            line.varint(1, 7).varint(3, 500).message(4, |event| {
                event.varint(1, 1).varint(2, 0);
            });
        });
    });
    let bytes = [out.bytes(), &plane(&[(start_ns + 900, 77, 5)], start_ns, None)].concat();
    let readings = read(&*bytes, &ALL).unwrap().provenance.clock_readings;
    assert_eq!(
        readings,
        [
            ClockReading { clock: HostClock::MonotonicRaw, trace_ns: 900, ns: 77, width_ns: 5 },
            ClockReading { clock: HostClock::Realtime, trace_ns: 900, ns: start_ns + 900, width_ns: 0 },
        ]
    );
}

#[test]
fn a_launcher_knows_better_than_a_jax_that_is_alone() {
    let own = read(FIXTURES[1], &ALL).unwrap().provenance;
    // The only one of its job to JAX, and nothing at all.
    let mut alone = Encoder::default();
    alone.message(1, |plane| {
        plane.string(2, "/host:CPU").message(3, |line| {
            line.varint(1, 7).message(4, |event| {
                event.varint(1, 1).varint(2, 0);
            });
        });
    });
    let of = |bytes: &[u8]| {
        let trace = read(&*[bytes, &plane(&[(9, 9, 9)], 0, Some((5, 8)))].concat(), &ALL).unwrap();
        let about = trace.provenance;
        let run = about.header.iter().find(|(key, _)| key == "run_id").map(|(_, json)| json.clone());
        (about.rank, about.world_size, run)
    };
    let run = Some("\"tuesday\"".to_owned());
    assert_eq!(of(alone.bytes()), (Some((Rank(5), RankSource::Header)), Some(8), run.clone()));
    let kept =
        (own.rank.or(Some((Rank(5), RankSource::Header))), if own.rank.is_some() { own.world_size } else { Some(8) }, run);
    assert_eq!(of(FIXTURES[1]), kept);
}

#[test]
fn an_anchor_without_its_reading_is_none() {
    let mut bytes = [FIXTURES[0], &plane(&[(5, 6, 7)], 0, None)].concat();
    let name = bytes.windows(8).rposition(|window| window.ends_with(b"raw_ns")).unwrap();
    bytes[name + 2] = b'l';
    let about = read(&*bytes, &ALL).unwrap().provenance;
    assert!(about.clock_readings.is_empty());
    assert_eq!(
        about.problems.iter().map(|problem| (problem.kind, problem.count)).collect::<Vec<_>>(),
        [(ProblemKind::MalformedEvent, 1)]
    );
}
