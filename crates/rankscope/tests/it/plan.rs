//! A plan is frozen once, divides by itself, and what is mapped by it says what `report` says: whoever maps, in any order, killed or
//! asked to end in the middle, and wherever they stand.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{rankscope, write_job};
use crate::map_merge::{first, job, text};
use crate::process::command;
use serde_json::Value;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", said(output));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

pub(crate) fn plan(traces: &Path, parts: &Path, more: &[&str]) -> Value {
    json(&rankscope(&[&["plan", text(traces), "--parts", text(parts), "--format", "json"], more].concat()))
}

#[test]
fn a_plan_is_frozen_before_anybody_maps() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    let planned = plan(directory.path(), &parts, &["--checks"]);
    assert_eq!((&planned["inputs"], &planned["shards"], &planned["memory_bytes"]), (&4.into(), &1.into(), &(256 << 20).into()));
    let next = planned["next"].as_str().expect("a command").to_owned();
    // What comes after is not in it, and is not looked for.
    fs::copy(directory.path().join("rank1.json"), directory.path().join("rank4.json")).expect("copied");
    let words: Vec<&str> = next.split(' ').skip(1).chain(["--format", "json"]).collect();
    assert_eq!(json(&rankscope(&words))["parts"], 4);
    assert!(rankscope(&["validate", text(&parts), "--format", "json"]).status.success(), "by the plan's options");
    let again = rankscope(&["plan", text(directory.path()), "--parts", text(&parts), "--checks"]);
    assert!(again.status.code() == Some(4) && said(&again).contains("other inputs or options"), "{}", said(&again));
    let other = rankscope(&["map", "--parts", text(&parts), "--classes", "tracelens"]);
    assert_eq!(other.status.code(), Some(4), "{}", said(&other));
    assert_eq!(rankscope(&["plan", "--parts", text(&parts)]).status.code(), Some(2));
}

#[test]
fn without_a_plan_the_command_that_makes_one_is_named() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let refused = rankscope(&["map", "--parts", text(out.path()), "--shard", "1/2"]);
    let expected = format!("rankscope plan TRACES --parts {}", text(out.path()));
    assert!(refused.status.code() == Some(2) && said(&refused).contains(&expected), "{}", said(&refused));
}

#[test]
fn what_is_missing_is_named_with_the_command_that_maps_it() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("the parts");
    plan(directory.path(), &parts, &[]);
    assert_eq!(json(&rankscope(&["map", "--parts", text(&parts), "--shard", "2/2", "--format", "json"]))["inputs"], 2);
    let refused = said(&rankscope(&["merge", text(&parts)]));
    let command = format!("rankscope map --parts '{}'", text(&parts));
    assert!(refused.contains("2 of 4 inputs are not mapped yet"), "{refused}");
    assert!(refused.contains("rank0.json") && refused.contains("rank2.json") && refused.contains(&command), "{refused}");
    assert_eq!(json(&rankscope(&["map", "--parts", text(&parts), "--format", "json"]))["parts"], 2);
    assert!(rankscope(&["merge", text(&parts), "--format", "json"]).status.success());
}

#[test]
fn relative_paths_start_where_the_plan_was_made() {
    let (directory, elsewhere) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = elsewhere.path().join("parts");
    let here = |args: &[&str]| command(args).current_dir(directory.path()).output().expect("runs");
    json(&here(&["plan", ".", "--parts", text(&parts), "--format", "json"]));
    let there = |args: &[&str]| command(args).current_dir(elsewhere.path()).output().expect("runs");
    assert_eq!(json(&there(&["map", "--parts", "parts", "--format", "json"]))["parts"], 4);
    let (merged, report) = (there(&["merge", "parts", "--format", "json"]), here(&["report", ".", "--format", "json"]));
    assert!(merged.stdout == report.stdout, "{}", said(&merged));
    let moved = elsewhere.path().join("plan.json");
    fs::copy(parts.join("plan.json"), &moved).expect("copied");
    let plan = fs::read_to_string(&moved).expect("read");
    fs::write(&moved, plan.replace(text(directory.path()), "/nowhere/at/all")).expect("written");
    let lost = there(&["map", "--parts", "."]);
    assert!(lost.status.code() == Some(2) && said(&lost).contains("/nowhere/at/all"), "{}", said(&lost));
}

#[test]
fn a_plan_that_lies_elsewhere_is_gone_by_and_copied() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let [planned, parts] = ["planned", "parts"].map(|name| out.path().join(name));
    plan(directory.path(), &planned, &[]);
    let map = |of: &Path, shard: &str| rankscope(&["map", "--plan", text(of), "--parts", text(&parts), "--shard", shard]);
    for (of, shard) in [(planned.clone(), "2/2"), (planned.join("plan.json"), "1/2")] {
        let mapped = map(&of, shard);
        assert!(mapped.status.success(), "{}", said(&mapped));
    }
    let [there, copy] = [&planned, &parts].map(|folder| fs::read(folder.join("plan.json")).expect("there"));
    assert!(there == copy);
    let merged = rankscope(&["merge", text(&parts), "--format", "json"]);
    let report = rankscope(&["report", text(directory.path()), "--format", "json", "--no-timeline"]);
    assert!(merged.stdout == report.stdout, "{}", said(&merged));
    plan(directory.path(), &out.path().join("other"), &["--checks"]);
    let other = map(&out.path().join("other"), "1/2");
    assert!(other.status.code() == Some(4) && said(&other).contains("other inputs or options"), "{}", said(&other));
    let none = map(&out.path().join("none"), "1/2");
    assert!(none.status.code() == Some(2) && said(&none).contains("none/plan.json: no plan is there"), "{}", said(&none));
}

#[test]
fn progress_is_a_document_a_line() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    let map = ["map", text(directory.path()), "--parts", text(&parts), "--progress", "json", "--format", "json"];
    for words in [&map[..], &["merge", text(&parts), "--progress", "json", "--format", "json"]] {
        let output = rankscope(words);
        json(&output);
        assert!(output.stdout.len() < 1_024 || words[0] == "merge", "a task says little");
        let lines: Vec<Value> = said(&output).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let last = lines.last().expect("a line at the end");
        assert_eq!((&last["stage"], &last["done"], &last["of"]), (&"done".into(), &4.into(), &4.into()));
        assert!(last["seconds"].is_f64());
    }
    fs::remove_file(first(&parts, "part-r000001", ".rkpart")).expect("removed");
    let failed = said(&rankscope(&["merge", text(&parts), "--progress", "json"]));
    let lines: Vec<&str> = failed.lines().collect();
    assert!(lines[0].contains(r#""stage":"failed""#) && lines[1].starts_with("rankscope: "), "{failed}");
}
