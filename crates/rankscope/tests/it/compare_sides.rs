//! `compare`: what a side may be, and what is said of one that is none.

use std::fs;
use std::path::{Path, PathBuf};

use rankscope_testkit::{Dialect, Job};
use serde_json::Value;

use crate::common::{failure, rankscope, report};
use crate::compare_gate::as_saved;
use crate::map_merge::{mapped, text};

/// A small job of enough steps for evidence.
pub(crate) fn job(seed: u64) -> Job {
    Job { ranks: 2, steps: 16, layers: 2, ops_per_step: 8, seed, ..Job::default() }
}

/// The traces of `job` in a new folder at `path`.
pub(crate) fn traces_at(path: &Path, job: &Job) -> PathBuf {
    fs::create_dir_all(path).expect("created");
    for rank in 0..job.ranks {
        fs::write(path.join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default())).expect("written");
    }
    path.to_owned()
}

/// The comparison of what `arguments` say, as JSON.
pub(crate) fn compared(arguments: &[&str]) -> Value {
    let output = rankscope(&[&["compare"], arguments, &["--format", "json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn runs(document: &Value, side: usize) -> usize {
    document["sides"][side]["runs"].as_array().expect("runs").len()
}

#[test]
fn a_run_is_the_same_as_traces_as_parts_and_as_a_saved_report() {
    let folder = tempfile::tempdir().unwrap();
    let traces = traces_at(&folder.path().join("traces"), &job(1));
    let parts = mapped(&traces, 1);
    let save = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, as_saved(report(&traces, more))).unwrap();
        path
    };
    let (plain, full) = (save("plain.json", &[]), save("full.json", &["--tables", "all"]));
    for other in [text(parts.path()), text(&plain), text(&full)] {
        let document = compared(&[text(&traces), other]);
        let step = &document["metrics"][0];
        assert_eq!((step["name"].as_str(), step["verdict"].as_str()), (Some("step_ns"), Some("equivalent")), "{other}: {step}");
        assert_eq!((step["shift"].as_f64(), step["lo"].as_f64(), step["hi"].as_f64()), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((runs(&document, 0), runs(&document, 1)), (1, 1));
    }
    let document = compared(&[text(&traces), text(&full)]);
    let collectives = document["metrics"].as_array().unwrap().iter().filter(|metric| metric["over"] == "median_of_collectives");
    assert!(collectives.count() > 0, "a report with tables has collectives");
}

#[test]
fn a_folder_of_runs_and_repeats_are_runs_of_one_side() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, seed) in [("base/one", 1), ("base/two", 2), ("test", 3), ("test-2", 4), ("other", 5)] {
        traces_at(&at(name), &job(seed));
    }
    // A mix: beside the traces, a saved report.
    fs::create_dir(at("base/three")).unwrap();
    fs::write(at("base/three/report.json"), as_saved(report(&at("test-2"), &["--tables", "all"]))).unwrap();
    let (base, test, more) = (at("base"), at("test"), at("test-*"));
    let elsewhere = format!("test={}", text(&at("other")));
    let document = compared(&[text(&base), text(&test), "--repeat", text(&more), "--repeat", &elsewhere]);
    assert_eq!((runs(&document, 0), runs(&document, 1), document["unit"].as_str()), (3, 3, Some("run")));
}

#[test]
fn more_than_two_sides_are_each_beside_the_base() {
    let folder = tempfile::tempdir().unwrap();
    let sides: Vec<PathBuf> = (1..4).map(|seed| traces_at(&folder.path().join(format!("s{seed}")), &job(seed))).collect();
    let paths: Vec<&str> = sides.iter().map(|side| text(side)).collect();
    let document = compared(&paths);
    assert_eq!((document["test"].as_str(), document["others"][0]["test"].as_str()), (Some("s2"), Some("s3")));
    assert_eq!(document["ranking"]["places"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_side_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let good = traces_at(&folder.path().join("good"), &job(1));
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let head = "{\"schema\": 1, \"rankscope_version\": \"0.1.0\"";
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (bad, says) in [
        (folder.path().join("absent"), "absent"),
        (empty, "empty"),
        (file("cut.json", &format!("{head}, \"ranks\": [")), "cut.json: not a report"),
        (file("newer.json", &format!("{}, \"ranks\": 7}}", head.replace('1', "9"))), "schema 9 is newer"),
        (file("garbage.json", "\u{1}\u{2}garbage"), "garbage.json"),
    ] {
        let said = failure(&["compare", text(&good), text(&bad)]);
        let label = bad.file_name().unwrap().to_string_lossy().into_owned();
        assert!(said.contains(&format!("the side {label}: ")) && said.contains(says), "{said}");
        let said = failure(&["compare", text(&bad), text(&good)]);
        assert!(said.contains(&format!("the side {label}: ")), "{said}");
    }
}

#[test]
fn one_side_alone_and_a_spread_that_is_none_are_misuse() {
    let folder = tempfile::tempdir().unwrap();
    let good = traces_at(&folder.path().join("good"), &job(1));
    let path = text(&good);
    for (arguments, says) in [
        (vec!["compare"], "BASE"),
        (vec!["compare", path], "a BASE and a TEST"),
        (vec!["compare", path, path, "--run-spread=-1"], "at least 0"),
        (vec!["compare", path, path, "--run-spread=nan"], "at least 0"),
        (vec!["compare", path, path, "--repeat", "nowhere-*"], "--repeat nowhere-*"),
    ] {
        let output = rankscope(&arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(says), "{arguments:?}: {said}");
    }
}
