//! `compare --policy`: how the process ends, and what is written for a CI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{rankscope, report};
use crate::compare_sides::{compared, job, traces_at};
use crate::map_merge::text;

/// A saved report at `path`, of runs like `like` whose times are `factor` as long.
pub(crate) fn saved(path: &Path, like: &Value, factor: f64) -> PathBuf {
    let mut document = like.clone();
    let longer = |value: &mut Value| *value = ((value.as_f64().expect("a time") * factor) as i64).into();
    for rank in document["ranks"].as_array_mut().expect("ranks") {
        for step in rank["steps"].as_array_mut().expect("steps") {
            step["time_ns"].as_object_mut().expect("an account").values_mut().for_each(longer);
        }
    }
    fs::create_dir_all(path.parent().expect("a folder")).expect("created");
    fs::write(path, as_saved(document)).expect("written");
    path.to_owned()
}

/// `document` as the program saves it: what it is comes first.
pub(crate) fn as_saved(mut document: Value) -> String {
    let keys = document.as_object_mut().expect("a document");
    let (schema, version) =
        (keys.remove("schema").expect("its schema"), keys.remove("rankscope_version").expect("its version"));
    let rest = document.to_string();
    format!("{{\"schema\":{schema},\"rankscope_version\":{version},{}", &rest[1..])
}

/// A report with tables.
pub(crate) fn like() -> Value {
    let folder = tempfile::tempdir().expect("a temporary directory");
    report(&traces_at(&folder.path().join("traces"), &job(1)), &["--tables", "nccl_implicit_sync"])
}

/// Three runs at `folder`, whose times are about `factor` as long.
fn three(folder: &Path, like: &Value, factor: f64) -> PathBuf {
    for (name, spread) in [("1", 0.999), ("2", 1.0), ("3", 1.001)] {
        saved(&folder.join(name).join("report.json"), like, factor * spread);
    }
    folder.to_owned()
}

struct Case {
    folder: tempfile::TempDir,
    base: PathBuf,
    same: PathBuf,
    slower: PathBuf,
}

fn case() -> Case {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let like = like();
    let side = |name: &str, factor| three(&folder.path().join(name), &like, factor);
    let (base, same, slower) = (side("base", 1.0), side("same", 1.0), side("slower", 1.1));
    Case { folder, base, same, slower }
}

impl Case {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn policy(&self, content: &str) -> PathBuf {
        let path = self.file("gate.toml");
        fs::write(&path, content).expect("written");
        path
    }

    /// How a gate of `policy` ends, and what stderr says.
    fn ends(&self, test: &Path, policy: &str) -> (Option<i32>, String) {
        let policy = self.policy(policy);
        let output = rankscope(&["compare", text(&self.base), text(test), "--policy", text(&policy)]);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

const STEP: &str = "[[metric]]\nname = \"step_ns\"\n";

#[test]
fn only_a_gate_changes_how_the_process_ends() {
    let case = case();
    assert_eq!(compared(&[text(&case.base), text(&case.slower)])["metrics"][0]["verdict"], "regressed");
    assert_eq!(case.ends(&case.slower, STEP).0, Some(3));
    assert_eq!(case.ends(&case.same, STEP), (Some(0), String::new()));
    assert_eq!(case.ends(&case.base, STEP).0, Some(0), "a side beside itself");
    let (code, said) = case.ends(&case.same, "[[metric]]\nname = \"misspelt\"\n");
    assert!(code == Some(3) && said.contains("misspelt"), "{said}");
}

#[test]
fn what_is_undecided_ends_as_the_policy_says() {
    let case = case();
    for (answer, code, says) in [("fail", 3, "failed: step_ns"), ("warn", 0, "does not decide step_ns"), ("pass", 0, "")] {
        let (ended, said) = case.ends(&case.slower, &format!("on_inconclusive = \"{answer}\"\nleast_runs = 5\n{STEP}"));
        assert!(ended == Some(code) && said.contains(says) && said.is_empty() == says.is_empty(), "{answer}: {ended:?} {said}");
    }
}

#[test]
fn a_policy_that_is_none_is_misuse_and_named_with_its_line() {
    let case = case();
    let (code, said) = case.ends(&case.same, &format!("{STEP}margn = 0.1\n"));
    assert!(code == Some(2) && said.contains("gate.toml: line 3") && said.contains("margn"), "{said}");
    let output = rankscope(&["compare", text(&case.base), text(&case.same), "--policy", text(&case.file("absent.toml"))]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_ci_gets_json_junit_and_markdown() {
    let case = case();
    let policy = case.policy(&format!("{STEP}[[metric]]\nname = \"comm.*.latency\"\nmargin = 0.5\n"));
    let (junit, markdown) = (case.file("junit.xml"), case.file("comment.md"));
    let output = rankscope(&[
        "compare",
        text(&case.base),
        text(&case.slower),
        "--policy",
        text(&policy),
        "--junit",
        text(&junit),
        "--markdown",
        text(&markdown),
        "--format",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(3));
    let gate = &serde_json::from_slice::<Value>(&output.stdout).unwrap()["gate"];
    assert_eq!((&gate["passed"], &gate["failed"][0]["metric"]), (&Value::from(false), &Value::from("step_ns")));
    assert_eq!(gate["failed"][0]["figures"]["verdict"], "regressed");
    let checks: usize = ["failed", "undecided", "held"].iter().map(|key| gate[*key].as_array().unwrap().len()).sum();
    assert_eq!(gate["family"], checks, "patterns count by what they match");
    let junit = fs::read_to_string(junit).unwrap();
    assert_eq!((junit.matches("<testcase ").count(), junit.matches("<failure ").count()), (checks, 1), "{junit}");
    let markdown = fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("the gate failed") && markdown.contains("| **failed** | `step_ns` | `slower` |"), "{markdown}");
    assert!(markdown.contains("$ rankscope compare ") && markdown.contains("--policy"), "{markdown}");
}

#[test]
fn a_policy_is_begun_from_the_base_and_never_written_over() {
    let case = case();
    let file = case.file("new.toml");
    let begin = |more: &[&str]| rankscope(&[&["compare", text(&case.base), "--init-policy", text(&file)], more].concat());
    assert!(begin(&[]).status.success());
    let content = fs::read_to_string(&file).unwrap();
    assert!(content.contains("name = \"step_ns\"") && content.contains("run_spread = 0.00"), "{content}");
    fs::write(&file, "mine").unwrap();
    assert_eq!(begin(&[]).status.code(), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(begin(&["--force"]).status.success());
    assert_eq!(fs::read_to_string(&file).unwrap(), content);
    let passes = |test: &Path| rankscope(&["compare", text(&case.base), text(test), "--policy", text(&file)]).status.code();
    assert_eq!((passes(&case.same), passes(&case.slower)), (Some(0), Some(3)));
}
