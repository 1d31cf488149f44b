//! Clocks that were asked for and are not there, or are of no use: never passed over in silence.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::path::Path;

use crate::common::{failure, rankscope, write_job};
use rankscope_testkit::{Job, NodeClock};
use serde_json::Value;

fn job() -> Job {
    let far = NodeClock { offset_ns: 4_000_000, drift_ppb: 0 };
    Job { ranks: 2, gpus_per_node: 1, steps: 2, clocks: vec![NodeClock::default(), far], ..Job::default() }
}

#[test]
fn clocks_that_are_not_there_are_an_error() {
    let traces = write_job(&job());
    let traces = traces.path().to_str().unwrap();
    let empty = tempfile::tempdir().unwrap();
    let missing = empty.path().join("missing");
    for verb in ["align", "validate", "report"] {
        for (folder, why) in [(empty.path(), "holds no clocks"), (missing.as_path(), "no such folder")] {
            let said = failure(&[verb, traces, "--clocks", folder.to_str().unwrap(), "--format", "json"]);
            assert!(said.contains(why), "{verb}: {said}");
        }
    }
}

fn aligned(traces: &Path, clocks: &Path, more: &[&str]) -> Value {
    let paths = ["align", traces.to_str().unwrap(), "--clocks", clocks.to_str().unwrap(), "--format", "json"];
    let output = rankscope(&[&paths[..], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn clocks_that_serve_no_rank_are_told() {
    let traces = write_job(&job());
    let clocks = tempfile::tempdir().unwrap();
    let header = r#"{"meta":true,"schema":1,"reference":0,"nodes":[{"node_id":0},{"node_id":1}]}"#;
    let row = |node: u32| {
        format!(
            r#"{{"round_id":1,"window_id":1,"node_id":{node},"midpoint_sys_ns":1790857026000000000,"offset_ns":0,"drift_ppm":0.0}}"#
        )
    };
    let rows = [header.to_owned(), row(0), row(1)].map(|line| line + "\n").concat();
    for (offsets, more, why) in [
        (format!("{header}\n"), &["--ranks-per-node", "1"][..], "place no node"),
        (rows.clone(), &["--ranks-per-node", "1"][..], "nothing relates"),
        (rows, &[][..], "pass --ranks-per-node"),
    ] {
        fs::write(clocks.path().join("offsets.jsonl"), offsets).unwrap();
        let notes = aligned(traces.path(), clocks.path(), more)["notes"].to_string();
        assert!(notes.contains(why), "{notes}");
    }
}
