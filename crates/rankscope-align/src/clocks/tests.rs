use rankscope_time::{Knot, Rate};
use rankscope_trace::ClockReading;

use super::*;
use crate::Bounds;

const NOW: i64 = 1_790_857_026_000_000_000;
const SECOND: i64 = 1_000_000_000;

/// What a trace tells of its clock.
struct Told {
    bounds_ns: (i64, i64),
    host: String,
    readings: Vec<ClockReading>,
}

impl Told {
    fn source<'a>(&'a self, node: Option<&'a NodeClock>) -> RankSource<'a> {
        RankSource { bounds_ns: Some(self.bounds_ns), host: Some(&self.host), readings: &self.readings, node }
    }
}

/// A trace of ten seconds from `start_ns` on, on `host`.
fn trace(start_ns: i64, host: &str) -> Told {
    Told { bounds_ns: (start_ns, start_ns + 10 * SECOND), host: host.to_owned(), readings: Vec::new() }
}

/// The same, as a recording: its clock is `trace_minus_raw_ns` ahead of the raw clock.
fn recording(start_ns: i64, host: &str, trace_minus_raw_ns: i64) -> Told {
    let trace = trace(start_ns, host);
    let reading = |i: i64| {
        let trace_ns = start_ns + i * SECOND;
        ClockReading { clock: ReadClock::MonotonicRaw, trace_ns, ns: trace_ns - trace_minus_raw_ns, width_ns: 60 }
    };
    Told { readings: (0..=10).map(reading).collect(), ..trace }
}

/// A node whose host clock is 2 ms ahead of the reference and gains 10 ppm, whose wall clock is 1 ms ahead of its host clock.
fn node() -> NodeClock {
    let knot =
        |i: i64| Knot { from_ns: NOW + i * SECOND, to_ns: NOW + i * SECOND - 2_000_000 - i * 10_000, uncertainty_ns: 400 };
    let pair = |i: i64| SnapshotPair { tracer_ns: NOW + 1_000_000 + i * SECOND, host_ns: NOW + i * SECOND, half_width_ns: 50 };
    NodeClock {
        node: 1,
        to_reference: ClockMap::from_knots((-5..20).map(knot).collect(), Rate::from_ppb(100)).unwrap(),
        host_minus_raw_ns: Some(NOW - 77),
        realtime: (-5..20).map(pair).collect(),
        degraded: false,
    }
}

fn nothing(ranks: usize) -> ClockEstimate {
    crate::estimate(
        &(0..ranks)
            .map(|rank| rankscope_collectives::RankCollectives {
                rank: rankscope_time::Rank(rank as u32),
                groups: Vec::new(),
                collectives: rankscope_collectives::Collectives::default(),
                steps: Vec::new(),
            })
            .collect::<Vec<_>>(),
        &rankscope_collectives::Matched::default(),
        &vec![None; ranks],
    )
}

#[test]
fn a_recording_goes_by_the_raw_clock() {
    // The host clock is raw + NOW - 77, the recording's raw + NOW: 77 ns ahead of it.
    let trace = recording(NOW, "b", NOW);
    let node = node();
    let clocks = align(&[trace.source(Some(&node))], nothing(1));
    let rank = &clocks.ranks[0];
    assert_eq!((clocks.method, rank.method, rank.offset_ns), (Method::Measured, Method::Measured, 2_000_000 + 77));
    assert!((9_990..=10_010).contains(&rank.drift_ppb), "{}", rank.drift_ppb);
    let (lo_ns, hi_ns) = (rank.bound.lo_ns.unwrap(), rank.bound.hi_ns.unwrap());
    assert!(lo_ns <= 2_000_077 && 2_000_077 <= hi_ns && hi_ns - lo_ns < 1_000, "{:?}", rank.bound);
}

#[test]
fn a_trace_whose_own_clock_was_set_says_so() {
    let mut trace = recording(NOW, "b", NOW);
    trace.readings[7..].iter_mut().for_each(|reading| reading.trace_ns += 300_000_000);
    let node = node();
    let rank = &align(&[trace.source(Some(&node))], nothing(1)).ranks[0];
    assert_eq!((rank.offset_ns, rank.stages[0]), (2_000_000 + 77, "readings"));
    assert!(rank.notes[0].contains("was set once;"), "{:?}", rank.notes);
}

#[test]
fn other_traces_go_by_the_wall_clock() {
    let trace = trace(NOW + 1_000_000, "b");
    let node = node();
    let clocks = align(&[trace.source(Some(&node))], nothing(1));
    assert_eq!(clocks.ranks[0].offset_ns, 3_000_000);
    assert_eq!(clocks.ranks[0].stages, ["snapshots", "offsets"]);
}

#[test]
fn recordings_of_one_host_meet_on_the_raw_clock() {
    let (first, second) = (recording(NOW, "a", NOW), recording(NOW + 5_000, "a", NOW + 5_000));
    let sources = [&first, &second].map(|trace| trace.source(None));
    let clocks = align(&sources, nothing(2));
    assert_eq!(clocks.method, Method::OneHost);
    assert_eq!(clocks.ranks.iter().map(|rank| rank.offset_ns).collect::<Vec<_>>(), [0, 5_000]);
}

#[test]
fn unmeasured_ranks_among_measured_ones_stay() {
    let (first, second) = (trace(NOW + 1_000_000, "b"), trace(NOW, "c"));
    let node = node();
    let sources = [first.source(Some(&node)), second.source(None)];
    let clocks = align(&sources, nothing(2));
    assert_eq!(clocks.method, Method::Mixed);
    assert!(clocks.ranks[1].map.is_identity() && clocks.ranks[1].notes.len() == 1);
    assert_eq!(clocks.ranks[1].bound, Bound::default(), "nothing bounds it");
}

#[test]
fn collectives_that_contradict_what_was_measured_are_told() {
    let traces = [trace(NOW, "a"), trace(NOW + 1_000_000, "b")];
    let reference = NodeClock { node: 0, to_reference: ClockMap::identity(), ..node() };
    let wall = |node: &NodeClock| NodeClock { host_minus_raw_ns: None, ..node.clone() };
    let nodes = [wall(&reference), wall(&node())];
    let sources = [0, 1].map(|at| traces[at].source(Some(&nodes[at])));
    // The second host's clock is 2 ms ahead of the first's, and their wall clocks differ by as much.
    for (ahead_ns, told) in [(2_000_000, 0), (-6_000_000, 1)] {
        let mut bounds = Bounds::free(2);
        bounds.at_most(0, 1, Some(ahead_ns + 10_000));
        bounds.at_most(1, 0, Some(10_000 - ahead_ns));
        let estimate = ClockEstimate { bounds, at_ns: NOW + 1_000_000, ..nothing(2) };
        let clocks = align(&sources, estimate);
        assert_eq!(
            clocks.ranks.iter().map(|rank| rank.notes.len()).collect::<Vec<_>>(),
            [0, told],
            "{:?}",
            clocks.ranks[1].notes
        );
    }
}

#[test]
fn nothing_known_changes_nothing() {
    let (first, second) = (trace(NOW, "a"), trace(NOW, "b"));
    let sources = [&first, &second].map(|trace| trace.source(None));
    let clocks = align(&sources, nothing(2));
    assert_eq!(clocks.method, Method::AsRecorded);
    assert!(!clocks.moves() && clocks.estimate.bounds.between(0, 1) == Bounds::free(2).between(0, 1));
}
