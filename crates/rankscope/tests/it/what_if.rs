//! `rankscope what-if`: what a step would take if something were different, of traces and of parts.

use std::fs;

use rankscope_testkit::simulated::{Cause, Job, Layout};
use serde_json::Value;

use crate::common::{fixture, rankscope};
use crate::map_merge::{mapped, mapped_with, text};

/// Four ranks, of which one loads its batches slowly.
fn slow_loader() -> (Job, tempfile::TempDir) {
    let layout = Layout { ranks: 4, tensor: 1, pipeline: 1, experts: false, gpus_per_node: 4 };
    let job = Job { layout, cause: Some(Cause::DataLoader { rank: 2, ns: 4_000_000, every: 1 }), ..Job::default() };
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (rank, bytes) in job.all_ranks().into_iter().enumerate() {
        fs::write(folder.path().join(format!("rank{rank}.json")), bytes).expect("written");
    }
    (job, folder)
}

fn said(args: &[&str]) -> String {
    let output = rankscope(&[&["what-if"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn answered(args: &[&str]) -> Value {
    serde_json::from_str(&said(&[args, &["--format", "json"]].concat())).expect("JSON")
}

/// The exit code, and what is said.
fn refused(args: &[&str]) -> (Option<i32>, String) {
    let output = rankscope(&[&["what-if"], args].concat());
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_rank_at_the_median_saves_what_its_cause_costs_by_traces_and_by_parts() {
    let (job, folder) = slow_loader();
    let answer = answered(&[text(folder.path()), "--set", "rank:2=median"]);
    let key = |key: &str| answer[key].as_i64().unwrap_or_else(|| panic!("{key} in {answer}"));
    assert_eq!(key("replayed_step_ns") - key("changed_step_ns"), key("saved_ns"));
    assert!(answer["replay_error"].as_f64().is_some_and(|error| error.abs() < 0.02), "{answer}");
    let worth_ns = job.truth().worth_ns_per_step();
    assert!((key("saved_ns") - worth_ns).abs() * 100 <= worth_ns * 25, "{worth_ns}: {answer}");
    let parts = mapped(folder.path(), 2);
    let mut by_parts = answered(&[text(parts.path()), "--set", "rank:2=median"]);
    by_parts["title"] = answer["title"].clone();
    assert_eq!(by_parts, answer);
}

#[test]
fn without_a_change_the_one_that_saves_most_is_first() {
    let (_, folder) = slow_loader();
    let text = said(&[text(folder.path()), "--top", "2"]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| line.starts_with("WHAT SAVES MOST")).expect("a ranking") + 2;
    assert!(lines[first].trim_start().starts_with("rank:2=median"), "{text}");
    assert!(lines[first + 2].ends_with("more; --top shows them"), "{text}");
    assert!(lines[1].contains("(mean of 8 steps)") && words.contains("the replay is off by "), "{text}");
    assert!(!words.contains("not to be relied upon"), "{text}");
}

#[test]
fn a_job_without_devices_is_replayed_too() {
    let answer = answered(&[text(&fixture("torch-gloo-4ranks")), "--set", "rank:1=median"]);
    assert!(answer["replay_error"].as_f64().is_some_and(|error| error.abs() < 0.02), "{answer}");
    assert!(answer["saved_ns"].as_i64().is_some_and(|ns| ns > 0), "rank 1 starts each step late: {answer}");
}

#[test]
fn what_cannot_be_answered_is_refused_with_what_to_do() {
    let (_, folder) = slow_loader();
    let traces = text(folder.path());
    for (set, expected) in [
        ("op:aten::mm=0x", "write 0 where something is to take no time"),
        ("op:aten::mm=-1x", "below zero"),
        ("op:aten::mm=NaNx", "not a factor"),
        ("op:aten::mm", "TARGET=VALUE"),
        ("op:aten::nothing=0.5x", "there is no operator \"aten::nothing\""),
        ("rank:9=median", "there is 0-3"),
        ("collective:all_gather@tp=0", "there is no collective"),
        ("link:inter=2x", "link:inter cannot be changed"),
    ] {
        let (code, said) = refused(&[traces, "--set", set]);
        assert_eq!(code, Some(2), "{set}: {said}");
        assert!(said.contains(expected), "{set}: {said}");
    }
    let parts = mapped_with(folder.path(), 1, &["--no-answers"]);
    let (code, said) = refused(&[text(parts.path())]);
    assert!(code == Some(1) && said.contains("without --no-answers"), "{said}");
}
