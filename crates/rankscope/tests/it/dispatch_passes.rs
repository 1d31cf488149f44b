//! Plans for one pass of a layer by itself, and what its exchanges take.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::path::{Path, PathBuf};

use crate::process::fed;
use serde_json::Value;

fn batch() -> String {
    let batch: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dispatch/batch.json");
    batch.display().to_string()
}

/// What `dispatch` says to these words; on its error stream where it refuses them.
fn said(words: &[&str], succeeds: bool) -> String {
    let output = fed(&[&["dispatch"], words].concat(), "").output().unwrap();
    assert_eq!(output.status.success(), succeeds, "{output:?}");
    String::from_utf8(if succeeds { output.stdout } else { output.stderr }).unwrap()
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&said(&[words, &["--format", "json"]].concat(), true)).unwrap()
}

fn planned(more: &[&str]) -> Value {
    json(&[&["plan", &batch()], more].concat())
}

#[test]
fn for_the_fewest_bytes_both_passes_have_the_same_plan() {
    let (forward, backward) = (planned(&[]), planned(&["--pass", "backward"]));
    assert_eq!(forward["shards"], backward["shards"]);
    for name in ["bytes", "layout_bytes", "lower_bound_bytes"] {
        assert_eq!(backward[name].as_u64().unwrap(), 2 * forward[name].as_u64().unwrap(), "{name}");
    }
    assert_eq!((&forward["pass"], &backward["pass"]), (&Value::Null, &"backward".into()));
    let table = said(&["plan", &batch(), "--pass", "backward"], true);
    assert!(table.contains("by a backward pass that sends everything again"), "{table}");
}

#[test]
fn a_plan_for_a_pass_on_a_network_takes_what_is_predicted_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for pass in ["forward", "backward"] {
        let path = folder.path().join(format!("{pass}.json")).display().to_string();
        let plan = planned(&["--pass", pass, "--network", "ethernet-100", "--out", &path]);
        let other = if pass == "forward" { "backward_ns" } else { "forward_ns" };
        assert_eq!(plan[other], Value::Null, "{plan}");
        let predicted = json(&["predict", &path, "--pass", pass, "--network", "ethernet-100"]);
        let exchanges: Vec<&str> =
            predicted["exchanges"].as_array().unwrap().iter().map(|one| one["exchange"].as_str().unwrap()).collect();
        assert_eq!(exchanges, if pass == "forward" { ["forward", "output"] } else { ["resend", "backward"] });
        // Attention comes on top.
        let takes_ns = plan[format!("{pass}_ns")].as_i64().unwrap();
        assert!(takes_ns > predicted["total_ns"].as_i64().unwrap(), "{pass}: {takes_ns} {predicted}");
    }
    let layer = json(&["predict", &folder.path().join("forward.json").display().to_string(), "--network", "ethernet-100"]);
    assert_eq!(layer["exchanges"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_of_forward_passes_alone_is_refused_for_others() {
    for more in [&["--split-kv"][..], &["--cap-send-bytes", "1000000"], &["--cap-buffer-bytes", "1000000000"]] {
        let refused = said(&[&["plan", &batch(), "--pass", "backward"], more].concat(), false);
        assert!(refused.contains("--pass backward"), "{refused}");
    }
}
