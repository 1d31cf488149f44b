//! `rankscope run --map`: each node's traces are mapped where they were written, and the job ends as it would have.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::path::Path;

use crate::common::{rankscope, report, write_job};
use crate::map_merge::{job, text};
use crate::process::{Room, text as said};
use serde_json::Value;

/// A job that leaves these ranks' traces in its run directory, and ends so.
fn train(traces: &Path, ranks: &str, code: i32) -> String {
    format!("for rank in {ranks}; do cp {}/rank$rank.json $0; done; exit {code}", text(traces))
}

#[test]
fn nodes_map_their_own_traces_and_the_job_ends_as_ever() {
    let (directory, shared) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = shared.path().join("parts");
    for code in [0, 7] {
        let room = Room::new();
        let output = room.plain(&["--map", text(&parts), "--", "sh", "-c", &train(directory.path(), "0 1", code), "{raw}"]);
        let complaint = said(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{complaint}");
        assert_eq!(complaint.contains(&format!("rankscope merge {}", text(&parts))), code == 0, "other inputs: {complaint}");
    }
    // Another node, whose disk is another.
    let room = Room::new();
    std::fs::create_dir(room.path().join("raw")).expect("made");
    for rank in [2, 3] {
        let name = format!("rank{rank}.json");
        std::fs::copy(directory.path().join(&name), room.path().join("raw").join(&name)).expect("copied");
    }
    let node = parts.join("node-1");
    assert!(rankscope(&["map", text(&room.path().join("raw")), "--parts", text(&node)]).status.success());
    for verb in ["merge", "report"] {
        let merged = rankscope(&[verb, text(&parts), "--format", "json"]);
        assert!(merged.status.success(), "{}", said(&merged.stderr));
        let mut merged: Value = serde_json::from_slice(&merged.stdout).expect("JSON");
        let mut whole = report(directory.path(), &[]);
        for document in [&mut merged, &mut whole] {
            document["title"] = Value::Null;
            // By their paths they are other files.
            document["ranks"].as_array_mut().expect("ranks").iter_mut().for_each(|rank| rank["file"] = Value::Null);
        }
        assert_eq!(merged["ranks"], whole["ranks"]);
        assert_eq!(merged["collectives"], whole["collectives"]);
        assert_eq!(merged["clock"], whole["clock"]);
    }
}

#[test]
fn what_cannot_be_mapped_costs_a_line() {
    let directory = write_job(&job());
    let room = Room::new();
    let output = room.plain(&["--map", "/proc/no", "--", "sh", "-c", &train(directory.path(), "0", 5), "{raw}"]);
    let complaint = said(&output.stderr);
    assert!(output.status.code() == Some(5) && complaint.contains("the traces are not mapped: /proc/no/node-0"), "{complaint}");
}
