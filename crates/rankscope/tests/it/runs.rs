//! `rankscope runs` by its contract: what is said of run directories, and that nothing goes that should stay.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::rankscope;
use crate::process::PROGRAM;
use rankscope_run::{Exit, NewRun, NodePart, RankEntry, RunDirectory, node_part};
use rankscope_testkit::{Need, skip};
use serde_json::{Value, json};

fn begin(parent: &Path, name: &str) -> RunDirectory {
    let command = vec!["torchrun".to_owned(), format!("{name}.py")];
    let new = NewRun { run_id: format!("id-{name}"), command, world_size: Some(2), reference_node: 0, restart: 0 };
    let run = RunDirectory::create(&parent.join(name), new).unwrap();
    fs::write(run.raw().join("rank-0.json"), "[]").unwrap();
    run
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn runs(verb: &str, path: &Path, more: &[&str]) -> Output {
    rankscope(&[&["runs", verb, &path.display().to_string()], more].concat())
}

const JSON: [&str; 2] = ["--format", "json"];

#[test]
fn the_list_tells_running_from_crashed() {
    let parent = tempfile::tempdir().unwrap();
    begin(parent.path(), "fine").finish(Exit::Code(0)).unwrap();
    begin(parent.path(), "failed").finish(Exit::Code(1)).unwrap();
    drop(begin(parent.path(), "crashed"));
    let _writer = begin(parent.path(), "live");
    fs::create_dir(parent.path().join("other")).unwrap();
    let listed = json_of(&runs("list", parent.path(), &JSON));
    let told: Vec<_> =
        listed["runs"].as_array().unwrap().iter().map(|run| (&run["name"], &run["state"], &run["ranks"])).collect();
    let expected = [("live", "running"), ("crashed", "ended"), ("failed", "failed"), ("fine", "finished")];
    let expected: Vec<_> = expected.iter().map(|(name, state)| (json!(name), json!(state), json!(2))).collect();
    assert_eq!(told, expected.iter().map(|(name, state, ranks)| (name, state, ranks)).collect::<Vec<_>>());
    assert!(listed["runs"][3]["duration_ns"].as_i64().is_some() && listed["runs"][1]["duration_ns"].is_null());
    let table = String::from_utf8(runs("list", parent.path(), &[]).stdout).unwrap();
    assert!(table.contains("torchrun live.py") && table.contains("2 B"), "{table}");
}

#[test]
fn show_puts_the_nodes_together() {
    let parent = tempfile::tempdir().unwrap();
    let mut run = begin(parent.path(), "run");
    for node in 0..2 {
        let ranks = vec![RankEntry { rank: node, node, host: None, pid: Some(7) }];
        node_part(run.path(), &NodePart { node, host: format!("gpu-{node}"), ranks }).unwrap();
    }
    run.finish(Exit::Signal(9)).unwrap();
    let shown = json_of(&runs("show", run.path(), &JSON));
    assert_eq!(shown["manifest"]["ranks"][1], json!({ "rank": 1, "node": 1, "host": "gpu-1", "pid": 7 }));
    assert_eq!(shown["manifest"]["attempts"][0]["exit"], json!({ "signal": 9 }));
    let text = String::from_utf8(runs("show", run.path(), &[]).stdout).unwrap();
    assert!(text.contains("killed by SIGKILL") && text.contains("gpu-0, whose clock is the reference"), "{text}");
}

#[test]
fn check_says_no_with_exit_code_3() {
    let parent = tempfile::tempdir().unwrap();
    let mut run = begin(parent.path(), "run");
    fs::write(run.raw().join("rank-1.json"), "[]").unwrap();
    run.finish(Exit::Code(0)).unwrap();
    assert_eq!(runs("check", run.path(), &[]).status.code(), Some(0));
    fs::write(run.raw().join("rank-0.json"), "[1").unwrap();
    fs::remove_file(run.raw().join("rank-1.json")).unwrap();
    fs::write(run.timeline(), "").unwrap();
    let output = runs("check", run.path(), &JSON);
    assert_eq!(output.status.code(), Some(3));
    let found = json_of(&output);
    assert_eq!(
        (&found["changed"], &found["missing"], &found["extra"], &found["listed"]),
        (&json!(["raw/rank-0.json"]), &json!(["raw/rank-1.json"]), &json!(["timeline.pftrace"]), &json!(2))
    );
    let manifest = run.path().join("run.json");
    let whole = fs::read(&manifest).unwrap();
    fs::write(&manifest, &whole[..40]).unwrap();
    let error = String::from_utf8(runs("check", run.path(), &[]).stderr).unwrap();
    assert!(error.contains("damaged at byte 40 of 40") && error.contains("raw/"), "{error}");
}

#[test]
fn prune_shows_before_it_does() {
    let parent = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three"] {
        begin(parent.path(), name).finish(Exit::Code(0)).unwrap();
    }
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(parent.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    fs::write(parent.path().join("notes.txt"), "").unwrap();
    assert_eq!(runs("prune", parent.path(), &[]).status.code(), Some(2), "without a rule it is used wrongly");
    let typo = runs("prune", parent.path(), &["--keep-last", "1", "--keep", "tow", "--execute"]);
    assert_eq!(typo.status.code(), Some(1));
    let shown = json_of(&runs("prune", parent.path(), &["--keep-last", "1", "--keep", "two", "--format", "json"]));
    let verdicts: Vec<_> = shown["runs"].as_array().unwrap().iter().map(|run| (&run["name"], &run["verdict"])).collect();
    let (keep, remove) = (json!("keep"), json!("remove"));
    assert_eq!(verdicts, [(&json!("three"), &keep), (&json!("two"), &keep), (&json!("one"), &remove)]);
    assert_eq!((&shown["executed"], names().len()), (&json!(false), 4));
    let done = runs("prune", parent.path(), &["--keep-last", "1", "--keep", "two", "--execute"]);
    assert!(done.status.success());
    assert_eq!(names(), ["notes.txt", "three", "two"]);
    let table = String::from_utf8(runs("prune", parent.path(), &["--max-bytes", "1B"]).stdout).unwrap();
    assert!(table.contains("it exceeds the size limit") && table.contains("would prune 1 of 2 runs"), "{table}");
}

#[test]
fn what_is_mounted_in_a_run_outlives_it() {
    let parent = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        begin(parent.path(), name).finish(Exit::Code(0)).unwrap();
    }
    let [precious, mounted] = [parent.path().join("precious"), parent.path().join("old/raw/mounted")];
    fs::create_dir(&precious).unwrap();
    fs::create_dir(&mounted).unwrap();
    fs::write(precious.join("rank-7.json"), "[]").unwrap();
    // Seen by these processes only, and gone with them.
    let script = "mount --bind \"$1\" \"$2\" || exit 77; exec \"$0\" runs prune --keep-last 1 --execute --format json \"$3\"";
    let binary = PathBuf::from(PROGRAM);
    let output = std::process::Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", script])
        .args([&binary, &precious, &mounted, &parent.path().to_owned()])
        .output();
    let output = match output {
        Ok(output) if output.status.success() || !output.stdout.is_empty() => output,
        other => return skip(Need::Mount, format_args!("nothing can be mounted: {other:?}")),
    };
    let done = json_of(&output);
    assert_eq!(done["stays"], json!([{ "path": mounted, "reason": "a file system is mounted there" }]), "{done}");
    assert_eq!(fs::read_to_string(precious.join("rank-7.json")).unwrap(), "[]");
    assert!(!parent.path().join("old/run.json").exists() && !parent.path().join("old/raw/rank-0.json").exists());
}

#[test]
fn prune_says_what_of_a_run_stays() {
    let parent = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        begin(parent.path(), name).finish(Exit::Code(0)).unwrap();
    }
    let thesis = parent.path().join("old/thesis.tex");
    fs::write(&thesis, "my own").unwrap();
    for execute in [&["--keep-last", "1"][..], &["--keep-last", "1", "--execute"]] {
        let output = runs("prune", parent.path(), execute);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && said.contains(&format!("stays: {}: it is not part of the run", thesis.display())),
            "{said}"
        );
    }
    assert_eq!(fs::read_to_string(&thesis).unwrap(), "my own");
    assert!(!parent.path().join("old/raw").exists());
}
