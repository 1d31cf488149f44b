//! What a terminal is told: no character out of a file, or out of its name, steers it; errors say each thing once.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::common::{failure, rankscope};
use rankscope_report::steers;
use rankscope_run::{Exit, NewRun, RunDirectory};
use rankscope_testkit::{Dialect, Job};

/// A title, a cleared screen, a forged line, the same by C1, and text that reads backwards.
const HOSTILE: &str = "a\u{1b}]0;owned\u{7}\u{1b}[2J\nforged\u{9b}31m\u{7f}\u{202e}txt\u{2066}";

fn assert_plain(output: &Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text = String::from_utf8(bytes.clone()).unwrap();
        let bad: Vec<char> = text.chars().filter(|c| steers(*c) && !matches!(c, '\n' | '\t')).collect();
        assert!(bad.is_empty(), "{stream}: {bad:?} in {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{stream}: a forged line in {text}");
    }
}

fn hostile_run(parent: &Path) -> RunDirectory {
    let new = NewRun {
        run_id: HOSTILE.to_owned(),
        command: vec![HOSTILE.to_owned()],
        world_size: None,
        reference_node: 0,
        restart: 0,
    };
    let mut run = RunDirectory::create(&parent.join("run"), new).unwrap();
    fs::write(run.raw().join(format!("{}.json", HOSTILE.replace('/', ""))), "[]").unwrap();
    run.finish(Exit::Code(0)).unwrap();
    run
}

#[test]
fn runs_are_told_in_plain_text() {
    let parent = tempfile::tempdir().unwrap();
    let run = hostile_run(parent.path());
    let [at, above] = [run.path(), parent.path()].map(|path| path.display().to_string());
    fs::write(run.path().join(format!("since{HOSTILE}")), "x").unwrap();
    for format in ["table", "json"] {
        for arguments in [["runs", "show", &at], ["runs", "check", &at], ["runs", "list", &above]] {
            let output = rankscope(&[&arguments[..], &["--format", format]].concat());
            assert!(output.status.success() || output.status.code() == Some(3));
            assert_plain(&output);
            if format == "json" {
                let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert!(arguments[1] != "show" || document["run"]["run_id"] == HOSTILE, "{document}");
            }
        }
    }
    fs::create_dir(run.path().join(format!("thesis{HOSTILE}"))).unwrap();
    fs::write(run.path().join(format!("thesis{HOSTILE}")).join("x"), "x").unwrap();
    assert_plain(&rankscope(&["runs", "prune", "--max-bytes", "0", &above]));
}

#[test]
fn events_are_told_in_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let job = Job { ranks: 2, steps: 1, layers: 1, ops_per_step: 2, ..Job::default() };
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    let mut files = Vec::new();
    for rank in 0..2 {
        let text = String::from_utf8(job.rank_bytes(rank, &Dialect::default())).unwrap();
        let path = directory.path().join(format!("rank{rank}.json"));
        // Any name of an operator will do.
        let renamed = text.replace("\"aten::", &format!("{}::", hostile.trim_end_matches('"')));
        assert_ne!(renamed, text);
        fs::write(&path, renamed).unwrap();
        files.push(path.display().to_string());
    }
    let out = directory.path().join("all.json").display().to_string();
    let output = rankscope(&["combine", &files[0], &files[1], "-o", &out, "--print-events", "--print-collectives"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\\u001b]0;owned"), "the name is told, its controls as numbers");
    assert_plain(&output);
    for verb in ["report", "validate", "align"] {
        assert_plain(&rankscope(&[verb, &directory.path().display().to_string()]));
    }
}

#[test]
fn errors_are_told_in_plain_text() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(format!("rank0{HOSTILE}.json"));
    fs::write(&file, "{").unwrap();
    let file = file.display().to_string();
    let missing = directory.path().join(format!("{HOSTILE}x")).display().to_string();
    for arguments in [
        &["report", &file][..],
        &["report", &missing],
        &["validate", &file],
        &["convert", &file, "x.pftrace"],
        &["convert", &missing, "x.pftrace"],
        &["recover", &missing],
        &["combine", &file, "-o", "x.json"],
        &["runs", "show", &missing],
        &["dispatch", "plan", &missing],
        &["clock", "show", &missing],
        &["report", &format!("--{HOSTILE}")],
        &[HOSTILE],
    ] {
        let output = rankscope(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert_plain(&output);
    }
}

#[test]
fn an_error_says_once_what_failed_and_what_to_do() {
    let directory = crate::common::write_job(&Job { steps: 1, layers: 1, ops_per_step: 2, ..Job::default() });
    let traces = directory.path().display().to_string();
    let said = failure(&["report", &traces, "--out", "/proc/none"]);
    assert_eq!(said.matches("os error").count(), 1, "{said}");
    let said = failure(&["convert", &traces, "all.pftrace"]);
    assert!(said.contains("rankscope combine"), "{said}");
    let said = failure(&["dispatch", "plan", "nope.json"]);
    assert!(said.contains("nope.json") && said.contains("Check the path"), "{said}");
}

#[test]
fn a_directory_without_permission_is_named_and_no_temporary_file() {
    use std::os::unix::fs::PermissionsExt;
    let directory = crate::common::write_job(&Job { ranks: 1, steps: 1, layers: 1, ops_per_step: 2, ..Job::default() });
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(closed.path().join("probe"), "").is_ok() {
        return rankscope_testkit::skip(rankscope_testkit::Need::PlainUser, "this user may write everywhere");
    }
    let input = directory.path().join("rank0.json").display().to_string();
    let output = closed.path().join("out.pftrace").display().to_string();
    let said = failure(&["convert", &input, &output]);
    assert!(said.contains(&output) && !said.contains(".rankscope-tmp"), "{said}");
    assert_eq!(said.matches("denied").count(), 1, "{said}");
}
