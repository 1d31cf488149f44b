//! Input that never ends: pipes nobody writes to, devices, and files longer than anything of their kind. Every verb refuses
//! them with a sentence instead of waiting or filling the memory.

use std::fs::{self, File};
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use crate::common::write_job;
use crate::process::PROGRAM;
use assert_cmd::Command;
use rankscope_testkit::Job;

/// Runs the binary with a gigabyte of room. One that hangs is killed, long after any machine would have been done.
fn rankscope(args: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    let command = shell.args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""]).arg(PROGRAM).args(args);
    command.timeout(Duration::from_secs(60)).output().expect("runs")
}

fn said(output: &Output) -> String {
    assert!(output.status.code().is_some(), "killed: it hung");
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is everywhere");
    assert!(made.success());
}

#[test]
fn no_verb_waits_for_a_pipe_or_reads_a_device() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let fifo = root.path().join("rank-0.json");
    pipe(&fifo);
    let out = root.path().join("out.json").display().to_string();
    let fifo = fifo.display().to_string();
    for endless in [fifo.as_str(), "/dev/zero"] {
        let verbs: &[&[&str]] = &[
            &["report", endless],
            &["validate", endless],
            &["align", endless],
            &["convert", endless, &out],
            &["combine", endless, "-o", &out],
            &["recover", endless],
            &["config", "check", "--config", endless],
            &["clock", "show", endless],
            &["clock", "solve", endless],
            &["clock", "fit", endless],
            &["dispatch", "plan", endless],
            &["dispatch", "simulate", endless],
        ];
        for verb in verbs {
            let output = rankscope(verb);
            let said = said(&output);
            assert!(!output.status.success(), "{verb:?}: {said}");
            assert!(said.contains("only regular files are read"), "{verb:?}: {said}");
            assert_eq!(said.matches(endless).count(), 1, "{verb:?} names the file once: {said}");
        }
    }
}

#[test]
fn a_folder_with_a_pipe_named_like_a_rank_is_refused_and_one_named_otherwise_passed_over() {
    let job = Job { ranks: 2, steps: 1, layers: 1, ops_per_step: 4, ..Job::default() };
    let directory = write_job(&job);
    let path = directory.path().display().to_string();
    pipe(&directory.path().join("notes.json"));
    let output = rankscope(&["report", &path, "--format", "json"]);
    assert!(output.status.success(), "{}", said(&output));
    pipe(&directory.path().join("rank-7.json"));
    let refused = said(&rankscope(&["report", &path, "--format", "json"]));
    assert!(refused.contains("rank-7.json") && refused.contains("a pipe"), "{refused}");
}

#[test]
fn a_run_whose_clock_files_are_endless_is_refused() {
    let job = Job { ranks: 2, steps: 1, layers: 1, ops_per_step: 4, ..Job::default() };
    for name in ["offsets.jsonl", "snapshots-rank0.jsonl", "snapshots-node0.jsonl", "windows-node0.jsonl"] {
        for make in [pipe, |path: &Path| std::os::unix::fs::symlink("/dev/zero", path).expect("linked"), sparse] {
            let directory = write_job(&job);
            let clock = directory.path().join("clock");
            fs::create_dir(&clock).expect("made");
            if name.starts_with("snapshots") {
                // Without offsets or windows nobody asks for the clocks of nodes.
                fs::write(clock.join("offsets.jsonl"), OFFSET).expect("written");
            }
            make(&clock.join(name));
            let output = rankscope(&["report", &directory.path().display().to_string(), "--format", "json"]);
            let said = said(&output);
            assert!(!output.status.success() && said.contains(name), "{name}: {said}");
        }
    }
}

/// A row of offsets.
const OFFSET: &str = r#"{"midpoint_sys_ns":1000,"offset_ns":5,"node_id":1}
"#;

/// Longer than any file of clocks, though the disk holds nothing of it.
fn sparse(path: &Path) {
    File::create(path).and_then(|file| file.set_len(1 << 40)).expect("made");
}

#[test]
fn what_is_read_whole_has_a_bound_that_the_error_names() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let path = root.path().join("huge.json");
    sparse(&path);
    let huge = path.display().to_string();
    let verbs: [(&[&str], &str); 4] = [
        (&["config", "check", "--config", &huge], "1 MiB"),
        (&["clock", "show", &huge], "1024 MiB"),
        (&["clock", "fit", &huge], "1024 MiB"),
        (&["dispatch", "plan", &huge], "64 MiB"),
    ];
    for (verb, bound) in verbs {
        let said = said(&rankscope(verb));
        assert!(said.contains(&format!("longer than {bound}")), "{verb:?}: {said}");
    }
}
