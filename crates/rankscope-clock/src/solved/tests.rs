use std::collections::BTreeMap;

use rankscope_time::{Instant, Knot, Span};

use super::*;
use crate::files::{encode_offset, encode_offsets_header, encode_snapshot, encode_window, encode_windows_header};
use crate::{Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts};

const SECOND_NS: i64 = 1_000_000_000;

fn at(ns: i64) -> HostInstant {
    HostInstant::from_nanos_since_epoch(ns)
}

/// Node 1 is `ahead_ns` ahead of node 0, which measures it once a second.
fn window(round: i64, ahead_ns: i64) -> NodeWindow {
    let (start, end) = (at(round * SECOND_NS), at((round + 1) * SECOND_NS));
    let fit = EdgeFit {
        start,
        end,
        mid: at(round * SECOND_NS + SECOND_NS / 2),
        offset: Span::from_nanos(ahead_ns),
        skew_ppb: 0.0,
        bound: Interval { lo: Span::from_nanos(ahead_ns - 500), hi: Span::from_nanos(ahead_ns + 500) },
        skew_bound_ppb: (-1_000.0, 1_000.0),
        sigma_ns: 20.0,
        rtt_min: Span::from_nanos(1_000),
        points_forward: 100,
        points_reverse: 100,
        degraded: false,
    };
    let record = EdgeRecord {
        counts: LinkCounts { complete: 100, ..LinkCounts::default() },
        ..EdgeRecord::new(Edge { src: NodeId(0), dst: NodeId(1) }, vec![Ok(fit)])
    };
    NodeWindow { node: NodeId(0), window_id: round as u64, round: Some(round as u64), start, end, edges: vec![record] }
}

fn header(node: u32, run: &str) -> String {
    encode_windows_header(&WindowsHeader {
        node: Some(NodeId(node)),
        run_id: Some(run.to_owned()),
        host_minus_raw_ns: Some(7),
        host: Some(format!("host{node}")),
        ..WindowsHeader::default()
    })
}

fn file(rounds: i64) -> String {
    header(0, "a") + &(0..rounds).map(|round| encode_window(&window(round, 5_000))).collect::<String>()
}

fn said(oddities: &[Oddity]) -> Vec<(Severity, String)> {
    oddities.iter().map(|oddity| (oddity.severity(), oddity.to_string())).collect()
}

#[test]
fn a_file_of_one_node_places_the_other() {
    let read = RunWindows::read([("a/windows-node0.jsonl", file(3))]).unwrap();
    let solved = solved(read, &HowSolved::default()).unwrap();
    let offsets: Vec<_> = solved.rows.iter().filter(|row| row.node == NodeId(1)).map(|row| row.estimate).collect();
    assert_eq!(offsets.iter().map(|one| one.map(|one| one.offset.as_nanos())).collect::<Vec<_>>(), [Some(5_000); 3]);
    assert_eq!(solved.header.run_id.as_deref(), Some("a"));
    let sentence = "node 1 sent no window in 3 of 3 rounds".to_owned();
    assert_eq!(said(&solved.oddities), [(Severity::Caution, sentence)]);
}

#[test]
fn what_cannot_be_asked_for_is_refused_with_what_is_there() {
    let read = || RunWindows::read([("windows-node0.jsonl", file(1))]).unwrap();
    let nowhere = solved(read(), &HowSolved::for_reference(NodeId(9))).unwrap_err();
    assert_eq!(nowhere.to_string(), "reference node 9: no window comes from this node or measures it; the nodes are 0, 1");
    for factor in [0.0, 1.5, f64::NAN] {
        let error = solved(read(), &HowSolved { smoothing_factor: factor, ..HowSolved::default() }).unwrap_err();
        assert!(matches!(error, SolveError::SmoothingFactor(_)), "{factor}: {error}");
    }
}

#[test]
fn damage_is_told_by_weight_and_loses_no_other_line() {
    let text = "nonsense\n".repeat(5) + &file(2) + "{\"window_st";
    let read = RunWindows::read([("run/clock/windows-node0.jsonl", text)]).unwrap();
    assert_eq!(read.windows.len(), 2);
    let weights: Vec<_> = read.oddities.iter().map(Oddity::severity).collect();
    assert_eq!(weights, [[Severity::Problem; 4].as_slice(), &[Severity::Caution]].concat());
    let said = said(&read.oddities);
    assert!(said[0].1.starts_with("run/clock/windows-node0.jsonl: line 1: "), "{}", said[0].1);
    assert!(said[0].1.ends_with("; skipped"), "{}", said[0].1);
    assert_eq!(said[3].1, "run/clock/windows-node0.jsonl: 2 more lines cannot be read");
    assert!(said[4].1.ends_with("all other lines are used"), "{}", said[4].1);
}

#[test]
fn a_file_without_anything_in_it_is_named() {
    let empty = RunWindows::read([("x/windows-node0.jsonl", "")]).unwrap_err();
    assert_eq!(
        empty.to_string(),
        "x/windows-node0.jsonl: no window can be read: it is empty. Give window files written by clock agents"
    );
    let wrong = RunOffsets::read([("offsets.jsonl", "no\n")]).unwrap_err();
    assert_eq!((wrong.sought, wrong.first.map(|line| line.line)), (Sought::Offsets, Some(1)));
}

#[test]
fn the_name_of_a_directory_says_nothing_about_the_node() {
    let window = encode_window(&window(0, 5_000)).replace("\"node_id\":0,", "");
    let read = RunWindows::read([("node7/windows-node0.jsonl", window)]).unwrap();
    assert_eq!(read.windows[0].node, NodeId(0));
}

#[test]
fn files_of_several_runs_are_a_problem() {
    let read = RunWindows::read([("windows-node0.jsonl", file(1)), ("windows-node1.jsonl", header(1, "b"))]).unwrap();
    assert_eq!(said(&read.oddities), [(Severity::Problem, "these files come from several runs: a, b".to_owned())]);
    assert_eq!(read.header(NodeId(1)).and_then(|header| header.host.as_deref()), Some("host1"));
}

#[test]
fn windows_offsets_and_snapshots_make_the_same_clock() {
    let windows = || RunWindows::read([("windows-node0.jsonl", file(4)), ("windows-node1.jsonl", header(1, "a"))]).unwrap();
    let of_windows = solved(windows(), &HowSolved::default()).unwrap();
    let rows: String = of_windows.rows.iter().map(encode_offset).collect();
    let offsets = RunOffsets::read([("offsets.jsonl", encode_offsets_header(&of_windows.header) + &rows)]).unwrap();
    let knot = Knot { from_ns: 10, to_ns: 20, uncertainty_ns: 3 };
    let mut readings = Readings::default();
    readings.add("clock/snapshots-node1.jsonl", encode_snapshot(&knot).as_bytes());
    readings.add("snapshots.jsonl", b"");

    let from_windows = measured(Some(windows()), None, readings.realtime.clone());
    let from_offsets = measured(None, Some(offsets), readings.realtime);
    assert_eq!(from_windows.hosts[&NodeId(1)], "host1");
    let node_1 = |found: &Measured| found.clocks.iter().find(|clock| clock.node == NodeId(1)).unwrap().clone();
    assert_eq!((node_1(&from_windows).host_minus_raw_ns, node_1(&from_offsets).host_minus_raw_ns), (Some(7), None));
    for found in [from_windows, from_offsets] {
        assert_eq!(found.reference, NodeId(0));
        let clock = node_1(&found);
        assert_eq!(clock.realtime, [knot]);
        let mapped = clock.to_reference.map(Instant::from_nanos_since_epoch(2 * SECOND_NS + 5_000));
        assert_eq!(mapped.nanos_since_epoch(), 2 * SECOND_NS);
    }
}

#[test]
fn a_lone_node_has_its_own_clock_and_nothing_to_say() {
    let lone = encode_window(&NodeWindow { edges: Vec::new(), ..window(0, 0) });
    let read = RunWindows::read([("windows-node0.jsonl", header(0, "a") + &lone)]).unwrap();
    let found = measured(Some(read), None, BTreeMap::new());
    assert_eq!(found.clocks.iter().map(|clock| clock.node).collect::<Vec<_>>(), [NodeId(0)]);
    assert!(found.clocks[0].to_reference.is_identity());
    assert_eq!(found.oddities, []);
}
