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
    let after = command(&["top", &out, "--once"]).output().unwrap();
    assert!(String::from_utf8_lossy(&after.stderr).contains("keeps a live page"), "{after:?}");
}
