//! `combine`: every event of every node lands where it truly was, and nothing is lost on the way.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::common::{failure, fixture, rankscope, write_job};
use rankscope_clock::files::encode_snapshot;
use rankscope_formats::snapshot_pairs::{self, SnapshotPairs};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_testkit::origin::{LENGTH_NS, OriginEvent, OriginNode, START_NS, round_offsets};
use rankscope_testkit::{Job, Metadata, NodeClock, Rng};
use rankscope_time::Knot;
use rankscope_trace::{SnapshotPair, Trace};
use serde_json::Value;

const NODES: [OriginNode; 3] = [
    OriginNode { ahead_ns: 0, drift_ppb: 0, gpu_start_ns: 86_400_000_000_123, gpu_drift_ppb: 3_000 },
    OriginNode { ahead_ns: 850_000, drift_ppb: 12_000, gpu_start_ns: 5_000_000_000_001, gpu_drift_ppb: -8_000 },
    OriginNode { ahead_ns: -1_200_000_000, drift_ppb: -20_000, gpu_start_ns: 70_000_000_000, gpu_drift_ppb: 0 },
];

/// Rounding of clocks, offsets and maps, each by one nanosecond.
const ROUNDING_NS: u64 = 6;

/// The traces of a file, with all arguments.
pub(crate) fn traces(path: &Path) -> Vec<Trace> {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    read(File::open(path).unwrap(), &options).unwrap().into_iter().map(|member| member.trace.unwrap()).collect()
}

fn spans(path: &Path) -> BTreeMap<String, (i64, i64)> {
    let of_trace = |trace: Trace| {
        let span = |span| (trace.name(span).to_owned(), (trace.spans.start_ns(span), trace.spans.dur_ns[span.0 as usize]));
        trace.spans.ids().map(span).collect::<Vec<_>>()
    };
    traces(path).into_iter().flat_map(of_trace).collect()
}

/// A job as the origin leaves it, and the truth of its events.
fn origin_job(folder: &Path, relative: bool) -> Vec<OriginEvent> {
    let mut truth = Vec::new();
    let mut rng = Rng::new(7);
    for (k, node) in (0..).zip(&NODES) {
        let events = node.events(k, 40, &mut rng);
        fs::write(folder.join(format!("node{k}.xplane.pb")), node.xspace(&events, relative)).unwrap();
        truth.extend(events.into_iter().map(|(_, event)| event));
    }
    fs::write(folder.join("round_offsets.jsonl"), round_offsets(&NODES)).unwrap();
    truth
}

fn combine(folder: &Path, output: &str, more: &[&str]) -> PathBuf {
    let output = folder.join(output);
    let traces: Vec<String> =
        (0..NODES.len()).map(|k| folder.join(format!("node{k}.xplane.pb")).display().to_string()).collect();
    let traces: Vec<&str> = traces.iter().map(String::as_str).collect();
    let done = rankscope(&[&["combine", "--output", output.to_str().unwrap(), "--traces"], &traces[..], more].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    output
}

#[test]
fn every_event_lands_where_it_truly_was() {
    for relative in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let truth = origin_job(folder.path(), relative);
        let offsets = folder.path().join("round_offsets.jsonl").display().to_string();
        for name in ["all.xplane.pb", "all.xspace.gz", "all.json", "all.pftrace"] {
            let found = spans(&combine(folder.path(), name, &["--offsets", &offsets]));
            assert_eq!(found.len(), truth.len(), "{name}");
            for event in &truth {
                let (start_ns, dur_ns) = found[&event.name];
                let off = start_ns.abs_diff(event.start_ns).max((start_ns + dur_ns).abs_diff(event.start_ns + event.dur_ns));
                assert!(off <= ROUNDING_NS, "{name}, {}: off by {off} ns, relative stamps: {relative}", event.name);
            }
        }
        let metadata: Value = serde_json::from_slice(&fs::read(folder.path().join("all.metadata.json")).unwrap()).unwrap();
        for (k, node) in NODES.iter().enumerate() {
            let told = &metadata["nodes"][k];
            assert!(told["snapshots"].as_u64().unwrap() > 100);
            assert_eq!(told["missing_snapshots"], false);
            assert_eq!((&told["id"], &told["node"], &told["method"]), (&k.into(), &k.into(), &"offsets".into()));
            assert!(told["offset_ns"].as_i64().unwrap().abs_diff(node.ahead_ns) < 500_000, "{told}");
        }
    }
}

/// How the accelerator's clock stood to the wall clock, each pair of them shifted by so much.
fn pairs(node: &OriginNode, by_ns: i64) -> Vec<SnapshotPair> {
    let at = |i: i64| START_NS + i * 500_000_000;
    let pair = |i| SnapshotPair { tracer_ns: node.gpu_ns(at(i)), host_ns: node.wall_ns(at(i)) + by_ns, half_width_ns: 40 };
    (-2..LENGTH_NS / 500_000_000 + 2).map(pair).collect()
}

/// A snapshot file of each node, as lines or as the origin's protobuf; a clock that differs from the traces' own tells them apart.
#[test]
fn snapshots_of_files_go_before_those_of_traces() {
    const BY_NS: i64 = 1_000_000;
    for (suffix, half_width_ns) in [("jsonl", 40), ("snapshot_pairs.pb", 5_000)] {
        let folder = tempfile::tempdir().unwrap();
        let truth = origin_job(folder.path(), false);
        let mut args = vec!["--offsets".to_owned(), folder.path().join("round_offsets.jsonl").display().to_string()];
        args.push("--snapshots".to_owned());
        for (k, node) in NODES.iter().enumerate() {
            let (path, pairs) = (folder.path().join(format!("node{k}.{suffix}")), pairs(node, BY_NS));
            args.push(path.display().to_string());
            if suffix == "jsonl" {
                let knot = |pair: &SnapshotPair| Knot { from_ns: pair.tracer_ns, to_ns: pair.host_ns, uncertainty_ns: 40 };
                fs::write(path, pairs.iter().map(|pair| encode_snapshot(&knot(pair))).collect::<String>()).unwrap();
            } else {
                let file = SnapshotPairs { pairs, sampling_period_ns: Some(500_000_000) };
                snapshot_pairs::write(&file, &mut File::create(path).unwrap()).unwrap();
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let found = spans(&combine(folder.path(), "all.pftrace", &args));
        for (at, event) in truth.iter().enumerate() {
            // Every other event is a kernel, and only those are stamped by the accelerator.
            let by_ns = if at % 2 == 1 { BY_NS } else { 0 };
            let (start_ns, dur_ns) = found[&event.name];
            let off = (start_ns - by_ns).abs_diff(event.start_ns).max(dur_ns.abs_diff(event.dur_ns));
            // A millisecond of a clock 20 ppm off is 20 ns.
            assert!(off <= ROUNDING_NS + 20, "{suffix}, {}: off by {off} ns", event.name);
        }
        let metadata: Value = serde_json::from_slice(&fs::read(folder.path().join("all.metadata.json")).unwrap()).unwrap();
        for (k, node) in NODES.iter().enumerate() {
            let told = &metadata["nodes"][k];
            assert_eq!(told["snapshots"].as_u64(), Some(pairs(node, 0).len() as u64));
            assert_eq!(told["extrapolations"]["snapshots"], 0);
            let uncertainty_ns = told["uncertainty_ns"].as_u64().unwrap();
            assert!((half_width_ns..half_width_ns + 2_000_000).contains(&uncertainty_ns), "{told}");
        }
    }
}

#[test]
fn a_file_of_snapshots_for_each_trace_or_none() {
    let folder = tempfile::tempdir().unwrap();
    origin_job(folder.path(), false);
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (output, offsets) = (at("all.json"), at("round_offsets.jsonl"));
    let traces = [at("node0.xplane.pb"), at("node1.xplane.pb")];
    let said = failure(&[
        "combine",
        "--output",
        &output,
        "--traces",
        &traces[0],
        &traces[1],
        "--offsets",
        &offsets,
        "--snapshots",
        &offsets,
    ]);
    assert!(said.contains("1 files of snapshots for 2 traces"), "{said}");
}

/// Rank 2 and 3 are of a node whose clock is 60 ms ahead.
#[test]
fn what_was_combined_is_validated() {
    let clocks = vec![NodeClock::default(), NodeClock { offset_ns: 60_000_000, drift_ppb: 0 }];
    let job = Job { gpus_per_node: 2, steps: 4, metadata: Metadata::ArgsAndSeq, clocks, ..Job::default() };
    let folder = write_job(&job);
    let place = folder.path().display().to_string();
    let beside = tempfile::tempdir().unwrap();
    let output = beside.path().join("all.json.gz").display().to_string();
    let combine = |more: &[&str]| {
        let ranks: Vec<String> = (0..job.ranks).map(|rank| format!("{place}/rank{rank}.json")).collect();
        let ranks: Vec<&str> = ranks.iter().map(String::as_str).collect();
        rankscope(&[&["combine"], &ranks[..], &["-o", &output, "--validate", "--format", "json"], more].concat())
    };
    let (wrong, right) = (combine(&["--no-correction"]), combine(&["--from-traces"]));
    let document = |output: &std::process::Output| -> Value { serde_json::from_slice(&output.stdout).unwrap() };
    assert_eq!((wrong.status.code(), right.status.code()), (Some(3), Some(0)));
    assert!(Path::new(&output).exists(), "what cannot have happened is written all the same");
    let (wrong, right) = (document(&wrong), document(&right));
    let judged = rankscope(&["validate", &place, "--format", "json", "--align", "none"]);
    let alone: Value = serde_json::from_slice(&judged.stdout).unwrap();
    for key in ["violations", "overlaps", "matched", "losses", "warnings", "max_gap_ns", "rules"] {
        assert_eq!(wrong["validation"][key], alone[key], "{key}");
    }
    assert!(wrong["validation"]["violations"].as_u64().unwrap() > 0);
    assert_eq!((&right["validation"]["violations"], &right["validation"]["clocks"]), (&0.into(), &"collectives".into()));
}

#[test]
fn uncorrected_stamps_stay() {
    let folder = tempfile::tempdir().unwrap();
    origin_job(folder.path(), false);
    let found = spans(&combine(folder.path(), "raw.pftrace", &["--no_correction"]));
    let mut expected = BTreeMap::new();
    for k in 0..NODES.len() {
        expected.extend(spans(&folder.path().join(format!("node{k}.xplane.pb"))));
    }
    assert_eq!(found, expected);
}

#[test]
fn the_original_stamp_stays_with_its_event() {
    let folder = tempfile::tempdir().unwrap();
    origin_job(folder.path(), false);
    let offsets = folder.path().join("round_offsets.jsonl").display().to_string();
    let output = combine(folder.path(), "kept.json", &["--offsets", &offsets, "--keep-original"]);
    let trace = traces(&output).remove(0);
    let key = trace.strings.find("original_start_ns").unwrap();
    let before = spans(&folder.path().join("node2.xplane.pb"));
    let mut kept = 0;
    for span in trace.spans.ids().filter(|span| before.contains_key(trace.name(*span))) {
        let value = trace.spans.args.value(span.0 as usize, key);
        assert_eq!(value, Some(rankscope_trace::ArgValue::I64(before[trace.name(span)].0)));
        kept += 1;
    }
    assert_eq!(kept, before.len());
}

#[test]
fn every_format_holds_every_event_of_every_rank() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = fixture("torch-gloo-4ranks");
    let mut expected: Vec<(String, i64, i64)> = Vec::new();
    let list = |trace: &Trace| -> Vec<_> {
        let span = |span| (trace.name(span).to_owned(), trace.spans.start_ns(span), trace.spans.dur_ns[span.0 as usize]);
        trace.spans.ids().map(span).collect()
    };
    for rank in 0..4 {
        expected.extend(list(&traces(&ranks.join(format!("rank{rank}.json.gz")))[0]));
    }
    expected.sort();
    for name in ["all.xplane.pb", "all.json.gz", "all.pftrace", "all.tar"] {
        let output = folder.path().join(name);
        let done = rankscope(&["combine", ranks.to_str().unwrap(), "-o", output.to_str().unwrap(), "--format", "json"]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut found: Vec<_> = traces(&output).iter().flat_map(list).collect();
        // Instants have no length, and an XSpace knows no other word for them.
        let instants = found.len() - expected.len();
        assert!(instants == 0 || name.ends_with(".pb"), "{name}");
        found.sort();
        found.retain(|event| expected.binary_search(event).is_ok());
        assert_eq!(found.len(), expected.len(), "{name}");
        let metadata: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(metadata["nodes"].as_array().unwrap().len(), 4);
        assert_eq!(metadata["nodes"][3]["numbered_by"], "rank");
    }
}

#[test]
fn memory_for_no_trace_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = fixture("torch-gloo-4ranks");
    for name in ["all.xplane.pb", "all.json", "all.pftrace", "all.tar"] {
        let output = folder.path().join(name);
        let written = |memory: &[&str]| {
            let arguments =
                ["combine", ranks.to_str().unwrap(), "-o", output.to_str().unwrap(), "--validate", "--print-collectives"];
            let done = rankscope(&[&arguments, memory].concat());
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            (done.stdout, done.stderr, fs::read(&output).unwrap(), fs::read(folder.path().join("all.metadata.json")).unwrap())
        };
        assert!(written(&[]) == written(&["--memory", "1"]), "{name}");
    }
}

#[test]
fn misuse_is_said() {
    let ranks = fixture("torch-gloo-4ranks").display().to_string();
    let folder = tempfile::tempdir().unwrap();
    let out = |name: &str| folder.path().join(name).display().to_string();
    assert!(failure(&["combine", &ranks, "-o", &out("all.txt")]).contains("suffix"));
    assert!(failure(&["combine", "-o", &out("all.json")]).contains("nothing to combine"));
    let rank = fixture("torch-gloo-4ranks").join("rank0.json.gz").display().to_string();
    assert!(failure(&["combine", &rank, "-o", &rank]).contains("never changes its inputs"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left behind");
}
