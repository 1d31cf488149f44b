//! `rankscope validate`: exit codes, the document, the table of collectives, and real traces.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{corpus, rankscope, write_job};
use rankscope_formats::recording::{Category, ClockId, LiveAuthor};
use rankscope_testkit::{Job, Metadata, NodeClock};
use serde_json::{Value, json};

/// The exit code and the document.
fn validate(path: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let path = path.display().to_string();
    let output = rankscope(&[&["validate", &path, "--format", "json"], more].concat());
    let document = serde_json::from_slice(&output.stdout);
    (output.status.code(), document.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

/// Four ranks on two nodes, the second one's clock so far ahead.
fn two_nodes(offset_ns: i64) -> Job {
    let clocks = vec![NodeClock::default(), NodeClock { offset_ns, drift_ppb: 0 }];
    Job { gpus_per_node: 2, steps: 6, metadata: Metadata::ArgsAndSeq, clocks, ..Job::default() }
}

#[test]
fn wrong_clocks_violate_and_aligned_ones_do_not() {
    let directory = write_job(&two_nodes(60_000_000));
    let (code, wrong) = validate(directory.path(), &[]);
    assert_eq!((code, wrong["clocks"].as_str()), (Some(3), Some("as_recorded")));
    let violations = wrong["violations"].as_u64().unwrap();
    assert!(violations >= 24 && wrong["overlaps"] == 0, "{violations}");
    assert_eq!(wrong["details"].as_array().unwrap().len() as u64, violations);
    let (code, right) = validate(directory.path(), &["--align", "from-traces"]);
    assert_eq!((code, right["violations"].as_u64(), right["clocks"].as_str()), (Some(0), Some(0), Some("collectives")));
    assert_eq!(right["overlaps"].as_u64(), Some(violations));
}

#[test]
fn the_document_names_both_sides_of_a_violation() {
    let directory = write_job(&two_nodes(60_000_000));
    let (_, document) = validate(directory.path(), &[]);
    let first = &document["details"][0];
    assert_eq!(first["rule"], "collective_overlap");
    let time = |key: &str| first[key].as_i64().unwrap();
    assert_eq!(time("latest_start_time") - time("earliest_end_time"), time("gap_ns"));
    assert!(time("gap_ns") > 0 && first["certain"] == true);
    assert!([2, 3].contains(&time("latest_start_rank")) && [0, 1].contains(&time("earliest_end_rank")));
    assert_eq!((&first["rank"], &first["latest_start_node"]), (&first["latest_start_rank"], &first["latest_start_rank"]));
    assert_eq!(first["correlation_ids"].as_array().unwrap().len(), 2);
    let gaps: Vec<i64> = document["details"].as_array().unwrap().iter().map(|d| d["gap_ns"].as_i64().unwrap()).collect();
    assert!(gaps.is_sorted_by(|a, b| a >= b));
    let average = document["avg_gap_ns"].as_f64().unwrap();
    assert!(average > 55e6 && average < 65e6, "{average}");
}

#[test]
fn true_clocks_pass_and_the_table_says_so() {
    let directory = write_job(&two_nodes(0));
    let (code, document) = validate(directory.path(), &[]);
    assert_eq!((code, &document["violations"], &document["losses"]), (Some(0), &0.into(), &0.into()));
    assert_eq!(document["gap_count"], document["overlaps"]);
    let text = rankscope(&["validate", &directory.path().display().to_string(), "--strict"]);
    let said = String::from_utf8(text.stdout).unwrap();
    assert!(text.status.success() && said.starts_with("No violation on the clocks as recorded"), "{said}");
}

#[test]
fn the_csv_has_every_matched_collective_and_every_rank() {
    let directory = write_job(&two_nodes(0));
    let out = tempfile::tempdir().unwrap();
    let (csv, json) = (out.path().join("c.csv"), out.path().join("c.json"));
    let (_, document) =
        validate(directory.path(), &["--csv", &csv.display().to_string(), "--output", &json.display().to_string()]);
    assert_eq!(serde_json::from_slice::<Value>(&fs::read(json).unwrap()).unwrap(), document);
    let text = fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..6], ["event_idx", "op_name", "occurrence", "start_gap_ns", "node_0_corr_id", "node_0_start_ns"]);
    assert_eq!((rows[0].len(), rows.len() as u64 - 1), (4 + 2 * 4, document["matched"].as_u64().unwrap()));
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for (at, row) in rows[1..].iter().enumerate() {
        let starts: Vec<i64> = (0..4).map(|node| row[5 + 2 * node].parse().unwrap()).collect();
        let gap = starts.iter().max().unwrap() - starts.iter().min().unwrap();
        assert_eq!((row[0].parse(), row[3].parse()), (Ok(at), Ok(gap)));
        let occurrence = seen.entry(row[1]).or_default();
        assert_eq!(row[2].parse(), Ok(*occurrence));
        *occurrence += 1;
    }
}

#[test]
fn the_page_says_what_is_broken_by_which_rank_and_what_to_do() {
    let directory = write_job(&two_nodes(60_000_000));
    let out = tempfile::tempdir().unwrap();
    let page = out.path().join("validation.html");
    let (code, document) = validate(directory.path(), &["--html", &page.display().to_string()]);
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(code, Some(3), "a page changes no verdict");
    assert!(page.starts_with("<!doctype html>") && page.contains(&format!("{} violations", document["violations"])));
    assert!(page.contains("\"collective_overlap\"") && page.contains("Measure them while the job runs"));
    let first = document["details"][0]["detail"].as_str().unwrap();
    assert!(page.contains(first), "{first}");
}

#[test]
fn what_a_viewer_drops_fails_only_when_asked() {
    let directory = tempfile::tempdir().unwrap();
    let span = |ts: u32| format!(r#"{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":{ts},"dur":10}}"#);
    fs::write(directory.path().join("rank0.json"), format!("{{\"traceEvents\": [{},{}]}}", span(0), span(5))).unwrap();
    let (code, document) = validate(directory.path(), &[]);
    assert_eq!((code, &document["violations"], &document["losses"]), (Some(0), &0.into(), &1.into()));
    assert_eq!(document["findings"][0]["rule"], "nesting");
    assert_eq!(validate(directory.path(), &["--strict"]).0, Some(3));
}

/// A recording of async spans that overlap: each begins before the last one ends, by turns on two threads.
fn overlapping_requests() -> Vec<u8> {
    let mut author = LiveAuthor::new();
    author.anchor(ClockId::MONOTONIC_RAW, 0, 5, 1);
    author.anchor(ClockId::REALTIME, 0, 1_790_860_000_000_000_000, 1);
    author.meta("rank", "0");
    author.thread(1, 100, "main");
    author.thread(2, 101, "worker");
    let request = author.name("request", Category::USER_ANNOTATION.number(), 0);
    for id in 0..10 {
        let (at, streams) = (id * 1_000, if id % 2 == 0 { [1, 2] } else { [2, 1] });
        author.async_begin(streams[0], at, request, id);
        if let Some(last) = id.checked_sub(1) {
            author.async_end(streams[0], at + 500, request, last);
        }
    }
    author.async_end(1, 10_500, request, 9);
    author.finish()
}

#[test]
fn async_spans_lose_no_nesting_in_any_format() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("live.rkl"), overlapping_requests()).unwrap();
    let done = |args: &[&str]| {
        let output = rankscope(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for to in ["a.rkr", "a.json", "a.pftrace"] {
        done(&["recover", &path("live.rkl"), "-o", &path(to)]);
    }
    for (from, to) in [("a.rkr", "b.json"), ("a.rkr", "b.pftrace"), ("a.pftrace", "c.json"), ("b.json", "d.pftrace")] {
        done(&["convert", &path(from), &path(to)]);
    }
    for name in ["a.rkr", "a.json", "a.pftrace", "b.json", "b.pftrace", "c.json", "d.pftrace"] {
        let (code, document) = validate(&directory.path().join(name), &["--strict"]);
        assert_eq!((code, &document["losses"], &document["findings"]), (Some(0), &0.into(), &json!([])), "{name}");
        let counted = rankscope(&["spans", &path(name), "--format", "json"]);
        let counted: Value = serde_json::from_slice(&counted.stdout).unwrap();
        assert_eq!((&counted["async_spans"][0]["count"], &counted["spans"]), (&10.into(), &json!([])), "{name}");
    }
}

/// A file of the corpus, the exit code, and how often each rule is found broken.
type Real = (&'static str, i32, &'static [(&'static str, u64)]);

/// What real traces are found to have. Overlapping spans and arrows that never began are as many as Perfetto's trace processor
/// drops; broken rules as many as torch's own validator reports.
const REAL: [Real; 15] = [
    ("kineto/a100_critical_path_simple_add.json.gz", 0, &[("wait_names_record", 20), ("nesting", 7), ("flow_begin", 176)]),
    ("kineto/a100_event_sync_multi_stream.json.gz", 0, &[("wait_names_record", 1), ("flow_begin", 34)]),
    ("kineto/a100_nccl_data.json.gz", 0, &[("flow_begin", 4_878)]),
    ("kineto/b200_eager.json.gz", 0, &[("nesting", 42), ("flow_begin", 441)]),
    ("kineto/cpu_only_rank34_of_300.json.gz", 0, &[]),
    ("kineto/h100_qwen1.5.json.gz", 0, &[("nesting", 1), ("flow_begin", 1_230)]),
    ("kineto/mi250_minitoy.json.gz", 0, &[("flow_begin", 5)]),
    ("kineto/mi300x_qwen1.5.json.gz", 0, &[("nesting", 1), ("flow_begin", 1_116)]),
    ("kineto/mi300x_resnet_act_checkpoint.json.gz", 0, &[("nesting", 15), ("flow_begin", 1_545)]),
    ("kineto/old_dialect_resnet50.json.gz", 0, &[("flow_begin", 765)]),
    ("kineto/rank_not_found.json.gz", 0, &[("collective_fields", 12)]),
    ("kineto/sampled_rank-0_of_128.json.gz", 0, &[("collective_fields", 8)]),
    ("kineto/triton_example.json.gz", 0, &[]),
    ("jax-cpu-2procs/process0.trace.json.gz", 0, &[("nesting", 10)]),
    ("torch-gloo-4ranks", 0, &[]),
];

#[test]
fn real_traces_have_what_their_own_tools_find() {
    let Some(corpus) = corpus() else { return };
    for (name, expected_code, expected) in REAL {
        let (code, document) = validate(&corpus.join("traces").join(name), &[]);
        let found: Vec<(&str, u64)> = document["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| (rule["rule"].as_str().unwrap(), rule["found"].as_u64().unwrap()))
            .filter(|(_, found)| *found > 0)
            .collect();
        assert_eq!((code, found.as_slice()), (Some(expected_code), expected), "{name}");
    }
}

#[test]
fn kernels_of_jax_are_tied_to_their_launches() {
    let Some(corpus) = corpus() else { return };
    let (code, document) = validate(&corpus.join("traces/xplane/mi300_jax_conv.xplane.pb"), &[]);
    let rule = |name: &str| {
        let found = document["rules"].as_array().unwrap().iter().find(|rule| rule["rule"] == name).unwrap();
        (found["judged"].as_u64().unwrap(), found["found"].as_u64().unwrap())
    };
    assert_eq!((code, rule("kernel_after_launch")), (Some(0), (200, 0)));
    assert_eq!((rule("flow_begin"), rule("flow_enclosed")), ((430, 0), (824, 0)));
}

#[test]
fn ranks_of_one_host_all_met() {
    let Some(corpus) = corpus() else { return };
    let (code, document) = validate(&corpus.join("traces/torch-gloo-4ranks"), &[]);
    assert_eq!((code, &document["overlaps"], &document["unmatched"]), (Some(0), &30.into(), &0.into()));
}
