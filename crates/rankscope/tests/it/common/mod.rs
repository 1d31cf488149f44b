//! Running the binary on jobs in temporary directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use rankscope_testkit::{Dialect, Job};
use serde_json::Value;

use crate::process::command;

/// What the binary says to these arguments, and how it ends.
pub(crate) fn rankscope(args: &[&str]) -> Output {
    command(args).output().expect("runs")
}

/// The document `report --format json` prints.
///
/// # Panics
/// If the report fails.
pub(crate) fn report(path: &Path, more: &[&str]) -> Value {
    let path = path.display().to_string();
    let output = rankscope(&[&["report", &path, "--format", "json"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// What stderr says when the binary fails with exit code 1, as one paragraph.
///
/// # Panics
/// If it does not fail so.
pub(crate) fn failure(args: &[&str]) -> String {
    let output = rankscope(args);
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty());
    assert!(said.starts_with("rankscope: ") && !said.contains('\n'), "{said}");
    said
}

/// A job's traces in a directory of their own.
pub(crate) fn write_job(job: &Job) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for rank in 0..job.ranks {
        fs::write(directory.path().join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default()))
            .expect("written");
    }
    directory
}

/// The repository's own fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The corpus of public traces; without it the test is skipped.
#[track_caller]
pub(crate) fn corpus() -> Option<PathBuf> {
    rankscope_testkit::given(rankscope_testkit::Need::Corpus)
}

/// A time of a rank's account, in nanoseconds.
pub(crate) fn time(account: &Value, class: &str) -> i64 {
    account["time_ns"][class].as_i64().unwrap_or_else(|| panic!("{class} in {account}"))
}

/// The law of time accounting, for a rank or a step.
///
/// # Panics
/// If the classes do not add up.
pub(crate) fn assert_adds_up(account: &Value) {
    let parts = ["computation", "exposed_comm", "exposed_memcpy", "idle"].map(|class| time(account, class));
    assert_eq!(parts.iter().sum::<i64>(), time(account, "total"), "{}", account["time_ns"]);
    assert!(parts.iter().all(|part| *part >= 0), "{}", account["time_ns"]);
}

/// The laws of answers, to the nanosecond: budgets are exposed time, blame is lateness, and a path is as long as its step.
///
/// # Panics
/// If any of them does not add up.
pub(crate) fn assert_answers_add_up(document: &Value) {
    let ns = |of: &Value, key: &str| of[key].as_i64().unwrap_or_else(|| panic!("{key} in {of}"));
    let rows = |key: &str| document[key].as_array().cloned().unwrap_or_default();
    for row in rows("budgets") {
        assert_eq!(ns(&row, "wait_ns") + ns(&row, "transfer_ns"), ns(&row, "exposed_ns"), "{row}");
        assert!(ns(&row, "wait_ns") >= 0 && ns(&row, "transfer_at_best_ns") <= ns(&row, "transfer_ns"), "{row}");
    }
    for row in rows("blame") {
        let parts = ["caused_ns", "inherited_ns", "uncertain_ns"].map(|key| ns(&row, key));
        assert_eq!(parts.iter().sum::<i64>(), ns(&row, "lateness_ns"), "{row}");
        let reasons: i64 = row["reasons"].as_array().into_iter().flatten().map(|reason| ns(reason, "ns")).sum();
        assert_eq!(reasons + row["other_reasons_ns"].as_i64().unwrap_or(0), parts[0] + parts[1], "{row}");
    }
    for row in rows("critical_path") {
        for parts in ["by_class", "by_rank"] {
            let sum: i64 = row[parts].as_object().into_iter().flatten().filter_map(|(_, ns)| ns.as_i64()).sum();
            assert_eq!(sum, ns(&row, "length_ns"), "{parts} of {row}");
        }
    }
}
