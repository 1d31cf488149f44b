//! `combine` of a run directory: ranks of several hosts, clocks measured by agents, one file.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::{self, File};
use std::path::Path;

use crate::process::{Running, command};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_trace::{Trace, TrackKind};
use serde_json::Value;

fn run(arguments: &[&str]) -> Vec<u8> {
    let output = Running::start(command(arguments)).ended();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Every span of every rank of a file: rank, name, start and length, in order.
fn spans(path: &Path) -> Vec<(u32, String, i64, i64)> {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let traces = read(File::open(path).unwrap(), &options).unwrap().into_iter().map(|member| member.trace.unwrap());
    let of_rank = |trace: Trace| {
        let rank = trace.provenance.rank.map_or(u32::MAX, |(rank, _)| rank.0);
        let at = |span| (trace.spans.start_ns(span), trace.spans.dur_ns[span.0 as usize]);
        let row = |span| (rank, trace.name(span).to_owned(), at(span).0, at(span).1);
        trace.spans.ids().filter(|span| is_own(&trace, *span)).map(row).collect::<Vec<_>>()
    };
    let mut spans: Vec<_> = traces.flat_map(of_rank).collect();
    spans.sort();
    spans
}

/// What a rank recorded, and nothing that a report drew beside it.
fn is_own(trace: &Trace, span: rankscope_trace::SpanId) -> bool {
    trace.tracks.get(trace.spans.row(span).track).kind == TrackKind::Thread
}

#[test]
fn measured_clocks_move_every_event_as_the_report_does() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let place = out.display().to_string();
    let story: Value =
        serde_json::from_slice(&run(&["demo", "--out", &place, "--seconds", "2", "--seed", "11", "--format", "json"])).unwrap();
    let all = folder.path().join("all.pftrace");
    let combined = run(&["combine", &place, "-o", &all.display().to_string(), "--format", "json", "--validate"]);
    let metadata: Value = serde_json::from_slice(&combined).unwrap();
    let read_twice = folder.path().join("twice.pftrace");
    run(&["combine", &place, "-o", &read_twice.display().to_string(), "--memory", "1"]);
    assert!(fs::read(&read_twice).unwrap() == fs::read(&all).unwrap(), "where traces do not fit, they are read twice");

    // The report maps stamps as it writes them, combine moves events and writes what came of it.
    let (expected, found) = (spans(&out.join("timeline.pftrace")), spans(&all));
    assert!(expected.len() > 1_000, "{}", expected.len());
    assert_eq!(found.len(), expected.len());
    assert!(found == expected, "{:?}", found.iter().zip(&expected).find(|(found, expected)| found != expected));

    assert_eq!(metadata["method"], "measured", "{metadata}");
    for (node, rank) in metadata["nodes"].as_array().unwrap().iter().zip(story["ranks"].as_array().unwrap()) {
        assert_eq!((&node["id"], &node["numbered_by"]), (&rank["rank"], &"rank".into()));
        let ns = |value: &Value, key: &str| value[key].as_i64().unwrap_or_else(|| panic!("{key} in {value}"));
        let (bound_ns, drift_ppb) = (ns(rank, "bound_hi_ns") - ns(rank, "bound_lo_ns"), ns(rank, "true_drift_ppb").abs());
        // One is the offset in the middle of the trace, the other at its start.
        let apart = ns(node, "offset_ns").abs_diff(ns(rank, "true_offset_ns"));
        assert!(apart <= bound_ns.unsigned_abs() + 10 * drift_ppb.unsigned_abs(), "{apart} ns: {node} {rank}");
    }
    assert_eq!(metadata["validation"]["violations"], 0, "{metadata}");
    assert!(metadata["validation"]["overlaps"].as_u64().unwrap() > 0, "{metadata}");
    let kept: Value = serde_json::from_slice(&fs::read(folder.path().join("all.metadata.json")).unwrap()).unwrap();
    assert_eq!(kept, metadata);
}
