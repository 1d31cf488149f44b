//! A job that runs, seen from outside: real processes, one of which is slow.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "a test of what is said")]

use std::path::Path;

use crate::process::{Running, command, wait_for};
use serde_json::Value;

/// What a look says, once it says anything.
fn look(run: &Path) -> Option<Value> {
    let output = command(&["top", &run.display().to_string(), "--once", "--format", "json"]).output().unwrap();
    output.status.success().then(|| serde_json::from_slice(&output.stdout).expect("one JSON document"))
}

#[test]
fn the_slow_rank_of_a_job_that_runs_is_the_latest() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let out = run.display().to_string();
    let demo =
        Running::start(command(&["demo", "--live", "--slow-rank", "2", "--seconds", "12", "--out", &out, "--format", "json"]));
    let mut seen = Value::Null;
    // What a busy machine does to single steps is over after some more.
    wait_for("rank 2 to be the latest, and others to wait for it", || {
        seen = look(&run).unwrap_or_default();
        let of = |name: &str| seen["ranks"][0][name].as_i64().unwrap_or(0);
        let is_late = of("lateness_ns") > 3 * of("clock_error_ns") && of("clock_error_ns") > 0 && of("caused_wait_ns") > 0;
        seen["compared_steps"].as_u64().is_some_and(|steps| steps >= 5) && of("rank") == 2 && is_late
    });
    assert_eq!((seen["schema"].as_u64(), seen["ranks"].as_array().unwrap().len()), (Some(1), 4), "{seen}");
    let ended = demo.ended();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(!run.join("live").exists(), "pages go with their ranks");
    replayed(&out);
}

/// What was seen of the job while it ran is in its recordings, too.
fn replayed(out: &str) {
    let last = command(&["top", out, "--once"]).output().unwrap();
    let last = String::from_utf8_lossy(&last.stdout).into_owned();
    assert!(last.contains("REPLAY of a run that has ended"), "{last}");
    let all = command(&["top", out, "--format", "json"]).output().unwrap();
    let steps: Vec<Value> = String::from_utf8_lossy(&all.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a step is one document"))
        .collect();
    let count = steps.len() as u64;
    assert!(count > 50, "{count} steps");
    let places = |name: &str| steps.iter().map(|step| step["replay"][name].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(places("place"), (1..=count).collect::<Vec<_>>());
    assert!(places("steps").iter().all(|steps| *steps == count));
    // A busy machine makes others late in single steps.
    let latest_is_2 = steps[20..].iter().filter(|step| step["ranks"][0]["rank"] == 2).count();
    assert!(2 * latest_is_2 > steps[20..].len(), "rank 2 is the latest in {latest_is_2} of {count} steps");
    let groups = steps[30]["groups"].as_array().unwrap();
    assert!(!groups.is_empty() && groups[0]["last"]["rank"].is_u64() && groups[0]["members"] == 4, "{}", steps[30]);
}

#[test]
fn a_run_that_left_nothing_is_no_replay_and_says_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run").display().to_string();
    assert!(command(&["run", "--no-clock", "--no-report", "--out", &out, "--", "true"]).status().unwrap().success());
    let refused = command(&["top", &out, "--once"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("live page") && said.contains("recording"), "{said}");
    let slow = command(&["top", &out, "--speed", "0"]).output().unwrap();
    assert_eq!(slow.status.code(), Some(2));
}
