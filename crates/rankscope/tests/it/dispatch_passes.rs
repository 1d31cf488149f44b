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
fn caps_of_a_backward_pass_are_kept_to_or_refused() {
    let most_sent = |words: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.json").display().to_string();
        planned(&[words, &["--pass", "backward", "--out", &path]].concat());
        let predicted = json(&["predict", &path, "--pass", "backward"]);
        let mut by_rank = vec![0; 8];
        for exchange in predicted["exchanges"].as_array().unwrap() {
            for (rank, sent) in exchange["ranks"].as_array().unwrap().iter().enumerate() {
                by_rank[rank] += sent["send_bytes"].as_u64().unwrap();
            }
        }
        by_rank.into_iter().max().unwrap()
    };
    let free = most_sent(&[]);
    let cap = free - free / 50;
    assert!(most_sent(&["--cap-send-bytes", &cap.to_string()]) <= cap);
    let refused = said(&["plan", &batch(), "--pass", "backward", "--cap-send-bytes", "1000"], false);
    assert!(refused.contains("cap") || refused.contains("takes"), "{refused}");
}

#[test]
fn a_backward_pass_shares_keys_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json").display().to_string();
    let docs = folder.path().join("docs.json").display().to_string();
    std::fs::write(&docs, "[16384]").unwrap();
    let words = ["--ranks", "8", "--hidden-q", "256", "--hidden-kv", "256", "--split-kv", "--heads", "4", "--pass", "backward"];
    let answer = json(&[&["plan", &docs], &words[..], &["--out", &path]].concat());
    let split = &answer["split_kv"];
    assert!(split["bytes"].as_u64() < answer["bytes"].as_u64(), "{split}");
    let least = split["lower_bound_bytes"].as_u64().unwrap();
    assert!(least > 0 && least <= split["bytes"].as_u64().unwrap() && least <= answer["lower_bound_bytes"].as_u64().unwrap());
    let predicted = json(&["predict", &path, "--pass", "backward"]);
    let there: u64 = [0, 1].iter().filter_map(|exchange| predicted["exchanges"][exchange]["remote_bytes"].as_u64()).sum();
    assert_eq!(split["bytes"], there, "what the planner counts is what the network sees");
    let table = said(&[&["plan", &docs], &words[..]].concat(), true);
    assert!(table.contains("needed if split") && table.contains("whole contexts"), "{table}");
    let narrow = ["--pass", "backward", "--hidden-q", "8", "--hidden-kv", "8"];
    let run = json(&[&["run", &path, "--repeat", "1"], &narrow[..]].concat());
    let names = |of: &Value| -> Vec<String> {
        of["exchanges"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["exchange"].as_str().or(one["direction"].as_str()).unwrap().to_owned())
            .collect()
    };
    assert_eq!((&run["identical"], names(&run)), (&true.into(), vec!["resend".to_owned(), "backward".to_owned()]));
    let moved = json(&[&["simulate", &path], &narrow[..]].concat());
    assert_eq!((&moved["verified"], names(&moved)), (&true.into(), names(&run)));
}

#[test]
fn a_played_pass_moves_what_is_predicted_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json").display().to_string();
    planned(&["--out", &path]);
    let predicted = |words: &[&str]| json(&[&["predict", &path], words].concat())["exchanges"].clone();
    let bytes = |exchanges: &Value| -> Vec<(String, u64)> {
        let one = |one: &Value| (one["exchange"].as_str().unwrap().to_owned(), one["remote_bytes"].as_u64().unwrap());
        exchanges.as_array().unwrap().iter().map(one).collect()
    };
    let played = |words: &[&str]| json(&[&["simulate", &path, "--events"], words].concat());
    for words in [&[][..], &["--pass", "forward"], &["--pass", "backward"]] {
        assert_eq!(bytes(&played(words)["exchanges"]), bytes(&predicted(words)), "{words:?}");
    }
    let both = [predicted(&["--pass", "forward"]), predicted(&["--pass", "backward"])].map(|pass| bytes(&pass)).concat();
    let resent = played(&["--resend"]);
    assert_eq!(bytes(&resent["exchanges"]), both);
    let twice = played(&["--resend", "--layers", "2"]);
    assert_eq!(bytes(&twice["exchanges"]), both.iter().map(|(name, bytes)| (name.clone(), 2 * bytes)).collect::<Vec<_>>());
    assert_eq!(played(&["--forward-only"]), played(&["--pass", "forward"]));

    // Without overlap and with one microbatch, a step is one pass after the other.
    let takes_ns = |words: &[&str]| played(words)["played"]["makespan_ns"].as_i64().unwrap();
    let apart: i64 = ["forward", "backward"].map(|pass| takes_ns(&["--pass", pass])).iter().sum();
    assert!(takes_ns(&["--resend"]) <= apart && takes_ns(&["--resend"]) > takes_ns(&["--pass", "backward"]));
    let table = said(&["simulate", &path, "--events", "--pass", "backward"], true);
    assert!(table.contains("in all of the step: resend") && table.contains(", backward "), "{table}");

    let prefix = folder.path().join("chakra").display().to_string();
    let timeline = folder.path().join("step.json").display().to_string();
    played(&["--pass", "backward", "--chakra", &prefix, "--timeline", &timeline]);
    let drawn = std::fs::read_to_string(&timeline).unwrap();
    assert!(drawn.contains("exchange there backward") && !drawn.contains("exchange there m0"), "{drawn}");
    assert!(std::fs::metadata(format!("{prefix}.7.et")).unwrap().len() > 100);
    for words in [
        ["--resend", "--forward-only"].as_slice(),
        &["--pass", "backward", "--resend"],
        &["--pass", "forward", "--forward-only"],
    ] {
        said(&[&["simulate", &path, "--events"], words].concat(), false);
    }
}

#[test]
fn keys_are_shared_for_the_shortest_pass() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.json").display().to_string();
    let docs = folder.path().join("docs.json").display().to_string();
    std::fs::write(&docs, "[32768, 4096]").unwrap();
    let words = ["--ranks", "16", "--split-kv", "--hidden-kv", "4096", "--network", "ethernet-100"];
    for pass in ["forward", "backward"] {
        let answer = json(&[&["plan", &docs], &words[..], &["--pass", pass, "--out", &path]].concat());
        let (split, field) = (&answer["split_kv"], format!("{pass}_ns"));
        let ns = |of: &Value, field: &str| of[field].as_i64().unwrap();
        assert!(ns(split, &field) < ns(&answer, &field), "{pass}: {answer}");
        assert!(
            ns(split, "least_ns") <= ns(split, &field) && ns(&answer, "least_ns") <= ns(&answer, &field),
            "{pass}: {answer}"
        );
        let predicted = json(&["predict", &path, "--pass", pass, "--network", "ethernet-100"]);
        let exchanges_ns = predicted["total_ns"].as_i64().unwrap();
        let heaviest = split["loads"].as_array().unwrap().iter().filter_map(Value::as_u64).max().unwrap() as f64;
        let attention_ns = heaviest * 4.0 * 4096.0 * 1e9 / 400e12 * if pass == "forward" { 1.0 } else { 2.5 };
        let off_ns = ns(split, &field) - exchanges_ns - attention_ns as i64;
        assert!(off_ns.abs() < 10, "{pass}: {off_ns} ns more than exchanges and attention");
        let table = said(&[&["plan", &docs], &words[..], &["--pass", pass]].concat(), true);
        assert!(table.contains("the pass if split") && table.contains("at least"), "{table}");
    }
}

#[test]
fn keys_are_shared_by_a_table_of_times() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (docs, times, path) = (name("docs.json"), name("times.json"), name("plan.json"));
    std::fs::write(&docs, "[131072]").unwrap();
    let axis: Vec<u32> = (0..=17).map(|power| 1 << power).collect();
    let time = |queries: u32, context: u32| {
        let queries = f64::from(queries.min(context));
        0.002 + queries.max(128.0) * (f64::from(context) - queries / 2.0) / 5e7
    };
    let rows: Vec<Vec<f64>> =
        axis.iter().map(|&queries| axis.iter().map(|&context| time(queries, context)).collect()).collect();
    std::fs::write(&times, serde_json::json!({"queries": axis, "contexts": axis, "milliseconds": rows}).to_string()).unwrap();
    let words = ["--ranks", "16", "--split-kv", "--hidden-kv", "4096", "--time-table", &times];
    let answer = json(&[&["plan", &docs], &words[..], &["--out", &path]].concat());
    let split = &answer["split_kv"];
    let bytes = |of: &Value, field: &str| of[field].as_u64().unwrap();
    assert!(bytes(split, "bytes") * 10 < bytes(&answer, "bytes") * 9, "{} of {}", split["bytes"], answer["bytes"]);
    assert!((1..=bytes(split, "bytes")).contains(&bytes(split, "lower_bound_bytes")), "{}", split["lower_bound_bytes"]);
    let heaviest = |of: &Value| of["loads"].as_array().unwrap().iter().filter_map(Value::as_u64).max().unwrap();
    assert!(heaviest(split) <= heaviest(&answer), "nanoseconds of the slowest rank");
    let moved = json(&["predict", &path, "--pass", "forward"]);
    let moved: u64 = moved["exchanges"].as_array().unwrap().iter().map(|one| bytes(one, "remote_bytes")).sum();
    assert_eq!(moved, bytes(split, "bytes"));
}
