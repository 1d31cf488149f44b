//! `compare --history`: runs of a folder followed over time, and what they tell a gate that has one run a side.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{failure, rankscope};
use crate::compare_gate::{like, saved};
use crate::map_merge::text;

/// Twenty runs in `folder` whose level rises by a tenth with the eleventh, in files whose names are in order of time.
fn past(folder: &Path, like: &Value) {
    for run in 0..20 {
        // Runs differ by a little, in an order that is none.
        let spread = 1.0 + f64::from(run * 7 % 5) * 0.001;
        saved(&folder.join(format!("run{run:02}.json")), like, spread * if run < 10 { 1.0 } else { 1.1 });
    }
}

fn history(folder: &Path) -> Value {
    let output = rankscope(&["compare", "--history", text(folder), "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_change_of_level_is_found_and_what_is_no_run_is_left_out_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    past(folder.path(), &like());
    fs::write(folder.path().join("notes.txt"), "not of the history").unwrap();
    fs::write(folder.path().join("garbage.json"), "{").unwrap();
    fs::write(folder.path().join("cut.json"), "{\"schema\": 1, \"rankscope_version\": \"0.1.0\", \"ranks\": [").unwrap();
    let document = history(folder.path());
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(20));
    let step = &document["metrics"][0];
    assert_eq!((step["name"].as_str(), step["changes"][0]["run"].as_u64()), (Some("step_ns"), Some(10)), "{step}");
    assert_eq!(step["changes"][0]["verdict"], "regressed");
    let notes = document["notes"].as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap()).collect::<Vec<_>>();
    for name in ["cut is", "garbage is"] {
        assert!(notes.iter().any(|note| note.contains("left out") && note.contains(name)), "{name}: {notes:?}");
    }
    assert!(notes.iter().all(|note| !note.contains("notes.txt")), "{notes:?}");
}

#[test]
fn the_page_and_the_terminal_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    past(&runs, &like());
    let page = folder.path().join("history.html");
    let output = rankscope(&["compare", "--history", text(&runs), "--html", text(&page)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("Changes of level") && said.contains("run10"), "{said}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Metrics over all runs") && !page.contains("http://") && !page.contains("https://"));
}

#[test]
fn runs_of_before_give_one_run_a_side_a_verdict_and_the_test_is_none_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let like = like();
    past(folder.path(), &like);
    let path = |run: &str| folder.path().join(run);
    let test = saved(&path("run20.json"), &like, 1.3);
    let policy = path("gate.toml");
    fs::write(&policy, "on_inconclusive = \"fail\"\n[[metric]]\nname = \"step_ns\"\n").unwrap();
    let base = path("run15.json");
    let gate = ["compare", text(&base), text(&test), "--policy", text(&policy), "--format", "json"];
    let verdict = |more: &[&str]| {
        let output = rankscope(&[&gate, more].concat());
        assert_eq!(output.status.code(), Some(3));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        (document["gate"]["failed"][0]["verdict"].clone(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(verdict(&[]).0, "differs", "one run does not tell how much runs differ");
    let (verdict, said) = verdict(&["--history", text(folder.path())]);
    assert_eq!(verdict, "regressed");
    assert!(said.contains("10 runs"), "{said}");
}

#[test]
fn a_folder_without_runs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("nothing")).unwrap();
    let said = failure(&["compare", "--history", text(folder.path())]);
    assert!(said.contains("holds no run that can be read") && said.contains("nothing is left out"), "{said}");
    let said = failure(&["compare", "--history", text(&folder.path().join("absent"))]);
    assert!(said.contains("absent"), "{said}");
}
