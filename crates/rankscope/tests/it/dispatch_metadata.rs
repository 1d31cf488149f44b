//! `dispatch metadata` answers every golden case from its inputs alone.

#![expect(clippy::unwrap_used, reason = "a case that cannot be run is a failure")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::process::command;
use serde_json::{Value, json};
use tempfile::TempDir;

fn golden() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dispatch");
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| read(&entry.unwrap().path())).collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

fn read(path: &Path) -> (String, Value) {
    (path.file_name().unwrap().to_str().unwrap().into(), serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
}

fn dispatch(verb: &str, case: &Value, options: &[&str]) -> Output {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("case.json");
    fs::write(&path, case.to_string()).unwrap();
    command(&["dispatch", verb]).arg(path).args(options).output().unwrap()
}

/// The keys of a golden file that say what to compute, not what comes out.
const INPUTS: &[&str] =
    &["kind", "origin", "note", "encoding", "inputs", "docs", "seq_len", "dispatch", "fa2a_inputs", "torch"];

/// Everything in `golden` must be in `ours`. Packed values are compared by their hash: zlib packs the same bytes in many ways.
fn same(place: &str, golden: &Value, ours: &Value) {
    match (golden, ours) {
        (Value::Object(golden), Value::Object(ours)) => {
            for (key, golden) in golden.iter().filter(|(key, _)| !["note", "zlib_b64_i32le"].contains(&key.as_str())) {
                same(&format!("{place}.{key}"), golden, ours.get(key).unwrap_or_else(|| panic!("{place}.{key} is missing")));
            }
        }
        (Value::Array(golden), Value::Array(ours)) => {
            assert_eq!(golden.len(), ours.len(), "{place}");
            golden.iter().zip(ours).enumerate().for_each(|(at, (golden, ours))| same(&format!("{place}[{at}]"), golden, ours));
        }
        _ => assert_eq!(golden, ours, "{place}"),
    }
}

#[test]
fn every_golden_case_is_answered_from_its_inputs() {
    let kinds = ["compute_metadata", "create_qkv_dispatch", "fa2a_from_logical", "from_planner_output"];
    let mut answered = 0;
    for (name, golden) in golden() {
        let kind = golden["kind"].as_str().unwrap();
        if !kinds.iter().any(|start| kind.starts_with(start)) {
            continue;
        }
        let (inputs, outputs): (Vec<_>, Vec<_>) =
            golden.as_object().unwrap().iter().partition(|(key, _)| INPUTS.contains(&key.as_str()));
        let case: Value = inputs.into_iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let output = dispatch("metadata", &case, &["--format", "json", "--compat", "documented"]);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(&format!("{{\"kind\":\"{kind}\"")), "{name}: the kind comes first");
        let ours: Value = serde_json::from_str(&text).unwrap();
        for (key, value) in outputs {
            same(&format!("{name}: {key}"), value, &ours[key]);
        }
        answered += 1;
    }
    assert!(answered >= 13, "{answered} cases");
}

#[test]
fn lengths_are_answered_case_by_case() {
    let (_, golden) = golden().into_iter().find(|(_, case)| case["kind"] == "gen_seq_lens").unwrap();
    let mut case = golden.clone();
    for case in case["cases"].as_array_mut().unwrap() {
        case.as_object_mut().unwrap().retain(|key, _| key != "seq_lens" && key != "min");
    }
    let output = dispatch("metadata", &case, &["--format", "json"]);
    let ours: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["cases", "nonpositive_lengths_W1_S10_T50", "rng"] {
        same(key, &golden[key], &ours[key]);
    }
}

#[test]
fn what_is_wrong_with_a_case_is_said() {
    for (case, words) in [
        (json!({"kind": "compute_metadata", "dispatch": [[0]]}), "`seq_len` is missing"),
        (json!({"kind": "compute_metadata", "seq_len": [[1], [2, 3]], "dispatch": [[0]]}), "a row of 2 where the first has 1"),
        (json!({"kind": "compute_metadata", "seq_len": [[1]], "dispatch": [[1]]}), "destination 1 is neither -1 nor a rank"),
        (json!({"kind": "no such kind"}), "no kind is called no such kind; `rankscope dispatch metadata --list`"),
        (json!([1]), "a case is an object"),
    ] {
        let output = dispatch("metadata", &case, &[]);
        assert_eq!(output.status.code(), Some(1), "{case}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_plan_file_is_checked_whole() {
    let plan = json!({"world_size": 3, "documents": [[[0, 1, 5], [1, 0, 0], [2, 2, 7]], [], [[1, 1, 4]]]});
    let output = dispatch("check", &plan, &[]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("every property holds").count(), 2, "{said}");
}
