//! The traces in the repository: the README's first command works, and says what is true of them.

use std::collections::BTreeMap;
use std::fs;

use crate::common::{fixture, rankscope, report};

#[test]
fn gloo_on_four_ranks_is_a_host_report_with_every_collective_matched() {
    let document = report(&fixture("torch-gloo-4ranks"), &[]);
    assert_eq!(document["device_activity"], false);
    assert_eq!(document["collectives"]["matched"], 30);
    assert_eq!(document["collectives"]["unmatched"], 0);
    let expected = BTreeMap::from([("all_gather", 6), ("all_reduce", 18), ("barrier", 6)]);
    for rank in document["collectives"]["ranks"].as_array().expect("ranks") {
        assert_eq!(rank["counts"], serde_json::json!(expected));
    }
    // One host, one clock: equal clocks are possible for all six pairs, and nothing is corrected.
    let pairs = document["clock"]["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 6);
    assert!(pairs.iter().all(|pair| pair["zero_inside"] == true), "{pairs:?}");
    assert_eq!(document["clock"]["corrected"], false);
    for rank in document["ranks"].as_array().expect("ranks") {
        crate::common::assert_adds_up(rank);
        assert_eq!(rank["steps"].as_array().map(Vec::len), Some(6));
    }
}

#[test]
fn jax_on_two_processes_is_read_from_xspace() {
    let document = report(&fixture("jax-cpu-2procs"), &[]);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["ranks"][0]["format"], "xspace");
    assert_eq!(document["ranks"][0]["steps"].as_array().map(Vec::len), Some(10));
    assert_eq!(document["collectives"]["matched"], 20);
    assert_eq!(document["collectives"]["unmatched"], 0);
}

#[test]
fn the_report_writes_three_files_and_says_so() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let (input, target) = (fixture("torch-gloo-4ranks"), out.path().join("report"));
    let output = rankscope(&["report", &input.display().to_string(), "--out", &target.display().to_string()]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("No device activity") && text.contains("matched 30 of 30"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where stdout is no terminal");
    let html = fs::read_to_string(target.join("report.html")).expect("html");
    assert!(html.contains("<html") && html.len() > 20_000);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(target.join("report.json")).expect("json")).expect("JSON");
    assert_eq!(json["schema"], 1);
    assert!(fs::metadata(target.join("timeline.pftrace")).expect("timeline").len() > 100_000);
    assert_eq!(fs::read_dir(&target).expect("a directory").count(), 3);
}

#[test]
fn archives_of_ranks_are_read() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let tar = out.path().join("ranks.tar");
    let status = std::process::Command::new("tar")
        .arg("-cf")
        .arg(&tar)
        .arg("-C")
        .arg(fixture(""))
        .arg("torch-gloo-4ranks")
        .status()
        .expect("tar is there");
    assert!(status.success());
    let document = report(&tar, &[]);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(4));
    assert_eq!(document["collectives"]["matched"], 30);
    assert!(document["ranks"][0]["file"].as_str().expect("a label").contains("ranks.tar:torch-gloo-4ranks/rank0"));
}

#[test]
fn converting_there_and_back_keeps_every_figure() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let input = fixture("torch-gloo-4ranks").join("rank0.json.gz").display().to_string();
    let original = report(&fixture("torch-gloo-4ranks").join("rank0.json.gz"), &[]);
    for name in ["a.json", "a.json.gz", "a.json.zst", "a.pftrace", "a.pftrace.gz", "a.xplane.pb"] {
        let target = out.path().join(name);
        let output = rankscope(&["convert", &input, &target.display().to_string()]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let converted = report(&target, &[]);
        assert_eq!(converted["ranks"][0]["time_ns"], original["ranks"][0]["time_ns"], "{name}");
        assert_eq!(converted["ranks"][0]["steps"], original["ranks"][0]["steps"], "{name}");
        assert_eq!(converted["ranks"][0]["rank"], original["ranks"][0]["rank"], "{name}");
        assert_eq!(converted["collectives"]["ranks"], original["collectives"]["ranks"], "{name}");
    }
}
