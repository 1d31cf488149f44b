//! What `rankscope dist` prints is what the engines take, and says what the plan says.

use std::path::Path;
use std::process::Command;

use crate::common::{rankscope, write_job};
use crate::map_merge::{job, text};
use crate::plan::plan;
use rankscope_testkit::{Need, given};
use serde::Deserialize;
use serde_yaml_ng::{Deserializer, Value};

fn printed(args: &[&str]) -> String {
    let output = rankscope(&[&["dist"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const PODS: [&str; 4] = ["--image", "rankscope:1", "--claim", "traces"];

fn kubernetes(parts: &Path) -> String {
    printed(&[&["k8s", "--print", "--parts", text(parts), "--shards", "7"], &PODS[..]].concat())
}

#[test]
fn every_engine_is_given_the_frozen_plan() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    plan(directory.path(), &parts, &[]);
    let slurm = printed(&["slurm", "--print", "--parts", text(&parts)]);
    let shard = format!("map --parts {} --format json --shard \"$SLURM_ARRAY_TASK_ID/1\"", text(&parts));
    assert!(slurm.contains(&shard) && slurm.contains("--mem=256M"), "{slurm}");
    assert!(Command::new("sh").args(["-n", "-c", &slurm]).status().expect("sh runs").success());
    let ray = printed(&["ray", "--print", "--parts", text(&parts), "--no-merge"]);
    assert!(ray.contains(r#"\"inputs\":4,"#) && ray.contains(r#"\"merge\":[]"#), "{}", ray.lines().last().unwrap_or_default());
    let jobs: Vec<Value> =
        Deserializer::from_str(&kubernetes(&parts)).map(|document| Value::deserialize(document).expect("YAML")).collect();
    assert_eq!(jobs[0]["spec"]["completions"].as_u64(), Some(7));
    let command = jobs[1]["spec"]["template"]["spec"]["containers"][0]["command"][2].as_str().expect("a command");
    assert!(command.starts_with(&format!("exec rankscope merge {} --out ", text(&parts))), "{command}");
}

#[test]
fn traces_may_be_named_in_place_of_a_plan() {
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    let refused = rankscope(&["dist", "slurm", "--parts", text(&parts)]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    printed(&["slurm", text(directory.path()), "--parts", text(&parts), "--tables"]);
    assert!(parts.join("plan.json").is_file());
    for args in [&["slurm", "--partition", "a b"][..], &["k8s", "--image", "i", "--claim", "c", "--name", "A"]] {
        let refused = rankscope(&[&["dist"], args, &["--parts", text(&parts)]].concat());
        assert_eq!(refused.status.code(), Some(2), "{args:?}");
    }
}

/// By the schemas that Kubernetes publishes, strictly: a key that it does not know is an error.
const VALIDATE: &str = "
import sys, yaml, kubernetes_validate
for document in yaml.safe_load_all(sys.stdin):
    kubernetes_validate.validate(document, sys.argv[1], strict=True)
    print(document['metadata']['name'])
";

#[test]
fn the_manifest_is_what_kubernetes_takes() {
    let Some(python) = given(Need::Kubernetes) else { return };
    let (directory, out) = (write_job(&job()), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    plan(directory.path(), &parts, &[]);
    for version in ["1.29", "1.33"] {
        let mut validate = assert_cmd::Command::new(&python);
        let said = validate.args(["-c", VALIDATE, version]).write_stdin(kubernetes(&parts)).output().expect("runs");
        let (names, complaint) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        assert_eq!(names, "rankscope-map\nrankscope-merge\n", "{version}: {complaint}");
    }
}
