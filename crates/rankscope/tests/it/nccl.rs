//! A job of eight processes that plays NCCL's calls into the plugin, on clocks that are wrong: what `rankscope report` says of the
//! plugin's recordings alone, and that `rankscope run --nccl` lets a job load the plugin.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_testkit::{Need, skip};
use serde_json::Value;

use crate::common::report;
use crate::map_merge::text;
use crate::process::PROGRAM;

/// A program of the plugin's tests, compiled into `folder`. None, and the test is skipped, where nothing can be compiled.
fn compiled(name: &str, folder: &Path) -> Option<PathBuf> {
    if Command::new("cc").arg("--version").output().is_err() {
        skip(Need::Compiler, "cc is not installed");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rankscope-nccl/tests/c").join(format!("{name}.c"));
    let to = folder.join(name);
    let mut cc = Command::new("cc");
    let done =
        cc.args(["-std=gnu11", "-O1"]).arg(source).arg("-o").arg(&to).args(["-lpthread", "-ldl"]).output().expect("runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(to)
}

/// The plugin, as Cargo built it for these tests: of several that it left, the newest.
fn plugin() -> PathBuf {
    let beside = env::current_exe().expect("a path").parent().expect("a folder").to_owned();
    let paths = fs::read_dir(beside).expect("readable").map(|entry| entry.expect("readable").path());
    let is_plugin = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
        name.starts_with("librankscope_nccl") && name.ends_with(".so")
    };
    let age = |path: &PathBuf| fs::metadata(path).expect("there").modified().expect("a time");
    paths.filter(is_plugin).max_by_key(age).expect("the plugin is beside its tests")
}

/// How far the clock of `rank` is ahead, as job.c bends it.
fn ahead_ns(rank: i64) -> i64 {
    (rank * 5 % 8 - 4) * 3_000_000
}

#[test]
fn the_slow_rank_is_named_from_the_plugins_recordings_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let Some(job) = compiled("job", folder.path()) else { return };
    let run = folder.path().join("run");
    let mut played = Command::new(job);
    played.arg(plugin()).args(["5", "40"]).env_remove("RANKSCOPE_RAW_DIR").env_remove("RANKSCOPE_NCCL_EVENTS");
    let played = played.env("RANKSCOPE_RUN_DIR", &run).env("RANKSCOPE_NCCL_RING", folder.path()).output().expect("runs");
    assert!(played.status.success(), "{}", String::from_utf8_lossy(&played.stderr));
    let document = report(&run, &[]);
    assert_eq!(document["verdict"]["late"][0]["rank"], 5, "{}", document["verdict"]);
    assert_eq!((&document["world_size"], &document["ranks"].as_array().map(Vec::len)), (&Value::from(8), &Some(8)));
    // All ranks' reductions, and those of the two halves among themselves.
    let collectives = &document["collectives"];
    assert_eq!((&collectives["matched"], &collectives["unmatched"]), (&Value::from(120), &Value::from(0)));
    let groups: Vec<(&Value, &Value, &Value)> = collectives["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|group| (&group["kind"], &group["ranks"], &group["matched"]))
        .collect();
    let of =
        |kind: &str, ranks: u64| groups.iter().filter(|group| group.0 == kind && *group.1 == ranks && *group.2 == 40).count();
    assert_eq!((of("all_reduce", 8), of("all_gather", 4), groups.len()), (1, 2, 3), "{groups:?}");
    // The clocks are found from the collectives, and their bounds hold; what a clock gains in half a second is less than the slack.
    const SLACK_NS: i64 = 100_000;
    assert_eq!(document["clock"]["method"], "collectives");
    for offset in document["clock"]["offsets"].as_array().expect("a list") {
        let (rank, lo, hi) = (&offset["rank"], &offset["lo_ns"], &offset["hi_ns"]);
        let truth_ns = ahead_ns(rank.as_i64().expect("a rank")) - ahead_ns(0);
        let (lo_ns, hi_ns) = (lo.as_i64().expect("a bound"), hi.as_i64().expect("a bound"));
        assert!(lo_ns - SLACK_NS <= truth_ns && truth_ns <= hi_ns + SLACK_NS, "{offset}: {truth_ns}");
    }
}

#[test]
fn a_job_is_told_of_the_plugin_that_lies_beside_the_binary() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let binary = folder.path().join("rankscope");
    fs::copy(PROGRAM, &binary).expect("copied");
    let run = |chosen: Option<&str>, out: &str| {
        let mut run = Command::new(&binary);
        let out = folder.path().join(out);
        run.args(["run", "--nccl", "--no-clock", "--no-hooks", "--no-report", "--out", text(&out), "--", "sh", "-c"]);
        run.arg("echo $NCCL_PROFILER_PLUGIN $RANKSCOPE_NCCL_CHAIN")
            .env_remove("NCCL_PROFILER_PLUGIN")
            .env_remove("RANKSCOPE_NCCL_CHAIN");
        chosen.map(|chosen| run.env("NCCL_PROFILER_PLUGIN", chosen));
        let output = run.output().expect("runs");
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8_lossy(&output.stdout).trim().to_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (told, said) = run(None, "without");
    assert!(told.is_empty() && said.contains("librankscope_nccl.so is not there"), "{told} {said}");
    let beside = folder.path().join("librankscope_nccl.so");
    fs::copy(plugin(), &beside).expect("copied");
    assert_eq!(run(None, "alone").0, text(&beside));
    let (told, said) = run(Some("inspector"), "both");
    assert_eq!(told, format!("{} inspector", text(&beside)));
    assert!(said.contains("inspector"), "{said}");
}
