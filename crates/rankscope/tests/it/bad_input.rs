//! Bad input: one paragraph with the path and the remedy, exit 1, nothing half-written.

use std::fs;
use std::path::Path;

use crate::common::{failure, rankscope, report, write_job};
use rankscope_testkit::{Dialect, Job, damage};

fn job() -> Job {
    Job { steps: 1, layers: 2, ops_per_step: 8, ..Job::default() }
}

fn report_failure(path: &Path) -> String {
    let out = tempfile::tempdir().expect("a temporary directory");
    let target = out.path().join("report");
    let said = failure(&["report", &path.display().to_string(), "--out", &target.display().to_string()]);
    assert!(!target.exists(), "{said}: something was written");
    assert!(said.contains(&path.display().to_string()), "{said}");
    said
}

#[test]
fn a_missing_file() {
    let said = report_failure(Path::new("/nowhere/rank0.json"));
    assert!(said.contains("no such file") && said.contains("Check the path"), "{said}");
}

#[test]
fn an_empty_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("rank0.json");
    fs::write(&file, "").expect("written");
    let said = report_failure(&file);
    assert!(said.contains("empty") && said.contains("again"), "{said}");
}

#[test]
fn a_directory_without_traces() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("notes.txt"), "x").expect("written");
    let said = report_failure(directory.path());
    assert!(said.contains("no trace"), "{said}");
}

#[test]
fn two_files_of_one_rank_and_time() {
    let directory = write_job(&job());
    // The same rank of another run; a mere copy would be read once.
    let other = Job { seed: 99, ..job() };
    fs::write(directory.path().join("again.json"), other.rank_bytes(1, &Dialect::default())).expect("written");
    let said = report_failure(directory.path());
    assert!(said.contains("again.json") && said.contains("rank1.json") && said.contains("rank 1"), "{said}");
    assert!(said.contains("remove the other"), "{said}");
}

#[test]
fn one_file_twice_is_read_once_and_said() {
    let directory = write_job(&job());
    let once = report(directory.path(), &[]);
    fs::copy(directory.path().join("rank1.json"), directory.path().join("again.json")).expect("copied");
    let twice = report(directory.path(), &[]);
    assert_eq!(twice["collectives"], once["collectives"]);
    let said = twice["cautions"].to_string();
    assert!(said.contains("passed_over") && said.contains("a copy of"), "{said}");
}

#[test]
fn missing_ranks_keep_no_verb_from_an_answer() {
    let directory = write_job(&job());
    for missing in [vec![2], vec![0, 2, 3]] {
        for rank in &missing {
            let _gone = fs::remove_file(directory.path().join(format!("rank{rank}.json")));
        }
        for verb in ["report", "validate", "align"] {
            let output = rankscope(&[verb, &directory.path().display().to_string(), "--format", "json"]);
            assert_eq!(output.status.code(), Some(0), "{verb}: {}", String::from_utf8_lossy(&output.stderr));
            let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            if verb != "align" {
                assert_eq!(document["missing_ranks"], serde_json::json!(missing), "{verb}");
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_left_out_only_when_asked() {
    let directory = write_job(&job());
    fs::write(directory.path().join("rank2.json"), "{\"traceEvents\": [{\"ph\": \"X\", ").expect("written");
    let said = report_failure(directory.path());
    assert!(said.contains("rank2.json") && said.contains("--partial"), "{said}");
    let document = report(directory.path(), &["--partial"]);
    assert_eq!(document["missing_ranks"], serde_json::json!([2]));
    // With nothing beside it there is nothing to go on with.
    let said = report_failure(&directory.path().join("rank2.json"));
    assert!(!said.contains("--partial"), "{said}");
}

#[test]
fn a_file_that_is_not_a_trace() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (name, bytes) in [
        ("a.json", &b"{\"loss\": [1, 2]}"[..]),
        ("b.json", b"hello"),
        ("c.json", b"\x7fELF\x02\x01\x01"),
        ("d.json", b"PK\x03\x04"),
    ] {
        let file = directory.path().join(name);
        fs::write(&file, bytes).expect("written");
        let said = report_failure(&file);
        assert!(said.contains("not a trace"), "{said}");
    }
}

#[test]
fn a_step_or_rank_that_is_not_there() {
    let directory = write_job(&job());
    let path = directory.path().display().to_string();
    let said = failure(&["report", &path, "--format", "json", "--step", "99"]);
    assert!(said.contains("steps 0 to 0"), "{said}");
    let said = failure(&["report", &path, "--format", "json", "--rank", "9"]);
    assert!(said.contains("0, 1, 2, 3"), "{said}");
}

#[test]
fn damaged_traces_are_reported_with_what_was_wrong() {
    let directory = write_job(&job());
    let rank0 = job().rank_bytes(0, &Dialect::default());
    fs::remove_file(directory.path().join("rank0.json")).expect("removed");
    fs::write(directory.path().join("rank0.json.gz"), damage::truncated_gzip(&rank0, 700)).expect("written");
    fs::write(
        directory.path().join("rank1.json"),
        damage::unescaped_quotes(&job().rank_bytes(1, &Dialect::default()), 9).bytes,
    )
    .expect("written");
    let document = report(directory.path(), &[]);
    let kinds = |rank: usize| document["ranks"][rank]["problems"].to_string();
    assert!(kinds(0).contains("truncated_compression") && kinds(0).contains("\"truncated\""), "{}", kinds(0));
    assert!(kinds(1).contains("unescaped_quote"), "{}", kinds(1));
    assert!(document["ranks"][0]["problems"][0]["offset"].as_u64() > Some(0));
}

#[test]
fn wrong_usage_is_exit_2() {
    assert_eq!(rankscope(&["report"]).status.code(), Some(2));
    assert_eq!(rankscope(&["report", "x", "--format", "yaml"]).status.code(), Some(2));
    let refused = rankscope(&["report", "x", "--comm-pattern", "("]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("regular expression"), "{said}");
}

#[test]
fn inputs_are_never_written_to() {
    let directory = write_job(&job());
    let input = directory.path().join("rank0.json").display().to_string();
    let said = failure(&["convert", &input, &input]);
    assert!(said.contains("same file"), "{said}");
    let said = failure(&["convert", &input, "out.txt"]);
    assert!(said.contains(".pftrace"), "{said}");
}

#[test]
fn a_file_that_is_cut_short_says_how_much_of_its_rank_is_missing() {
    let directory = write_job(&job());
    let path = directory.path().join("rank0.json");
    let whole = fs::read(&path).expect("read");
    fs::write(&path, &whole[..whole.len() * 2 / 5]).expect("written");
    let document = report(directory.path(), &[]);
    let notes: Vec<&str> =
        document["notes"].as_array().expect("notes").iter().filter_map(|note| note["text"].as_str()).collect();
    let said = notes.iter().find(|note| note.contains("rank0.json")).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(said.contains("it is cut short at byte") && said.contains("of rank 0 is missing"), "{said}");
    let share: f64 = said.split("About ").nth(1).and_then(|rest| rest.split('\u{a0}').next()?.parse().ok()).expect("a share");
    assert!((share - 60.0).abs() < 3.0, "{said}");
}
