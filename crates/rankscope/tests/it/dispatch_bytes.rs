//! A plan moved in memory and handed to libraries, from whichever form it is kept in.

use std::path::PathBuf;

use crate::process::fed;
use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

const PLAN: &str = r#"{"schema":1,"world_size":3,"rows":{"hidden_q":12,"hidden_kv":8,"lse":1,"element_bytes":2},
    "documents":[[[0,0,5],[1,2,4],[1,0,6]],[[2,2,7]]]}"#;

fn dispatch(arguments: &[&str], input: &str) -> Command {
    fed(&[&["dispatch"], arguments].concat(), input)
}

fn json(arguments: &[&str], input: &str) -> Value {
    let output = dispatch(arguments, input).assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).expect("the answer is JSON")
}

#[test]
fn every_byte_is_moved_and_checked() {
    for dtype in ["f64", "bf16", "i8"] {
        let answer = json(&["simulate", "-", "--dtype", dtype, "--format", "json"], PLAN);
        assert_eq!(answer["verified"], true, "{dtype}");
        let [forward, backward] = [0, 3].map(|at| answer["exchanges"][at]["bytes"].as_u64());
        assert_eq!(forward, backward, "{dtype}: the gradients are as many bytes as what they are gradients of");
    }
    let table = dispatch(&["simulate", "-"], PLAN).assert().success().get_output().stdout.clone();
    assert!(String::from_utf8_lossy(&table).contains("every byte arrived"));
}

#[test]
fn what_does_not_fit_into_memory_is_refused_before_it_is_tried() {
    let refused = dispatch(&["simulate", "-", "--memory", "1000"], PLAN).assert().code(1).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&refused).contains("--hidden-q"), "{}", String::from_utf8_lossy(&refused));
}

#[test]
fn both_ends_of_every_call_agree() {
    for direction in ["forward", "backward", "output", "output-gradient", "resend"] {
        let export = |form| json(&["export", "-", "--as", form, "--direction", direction], PLAN);
        let rows = export("alltoallv");
        for (i, j) in (0..9).map(|pair| (pair / 3, pair % 3)) {
            assert_eq!(rows["ranks"][i]["sendcounts"][j], rows["ranks"][j]["recvcounts"][i], "{direction}");
        }
        let alone = json(&["export", "-", "--as", "nccl", "--direction", direction, "--rank", "1"], PLAN);
        assert_eq!(alone["ranks"][0], export("nccl")["ranks"][1], "{direction}");
        assert_eq!(export("puts")["ranks"].as_array().map(Vec::len), Some(3), "{direction}");
    }
    let tasks = json(&["export", "-", "--as", "cu-seqlens", "--rank", "0"], PLAN);
    assert_eq!(tasks["ranks"][0]["cu_seqlens_q"], serde_json::json!([0, 5, 11]));
    assert_eq!(tasks["ranks"][0]["cu_seqlens_k"], serde_json::json!([0, 5, 20]));
}

#[test]
fn the_compact_form_is_the_same_plan_and_damage_is_found() {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str| -> PathBuf { folder.path().join(name) };
    let compact = file("plan.rkd");
    let path = compact.to_str().expect("a name");
    dispatch(&["export", "-", "--as", "binary", "-o", path], PLAN).assert().success();
    assert_eq!(json(&["export", path, "--as", "json"], ""), json(&["export", "-", "--as", "json"], PLAN));

    let mut bytes = std::fs::read(&compact).expect("the plan was written");
    bytes[12] ^= 1;
    std::fs::write(file("damaged.rkd"), &bytes).expect("written");
    let damaged = file("damaged.rkd");
    let refused = dispatch(&["simulate", damaged.to_str().expect("a name")], "").assert().code(1).get_output().stderr.clone();
    let refused = String::from_utf8_lossy(&refused);
    assert!(refused.contains("damaged.rkd") && refused.contains("hash"), "{refused}");
}
