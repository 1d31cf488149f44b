//! The demo on this host, for a moment: what it tells holds whatever else runs here, and when it fails nothing of it stays.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "a test of what is said and left")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::parts::assert_every_verb_says_the_same;
use crate::process::{Running, command, signal, wait_for};
use serde_json::Value;

fn demo(out: &Path, more: &[&str]) -> Running {
    let out = out.display().to_string();
    Running::start(command(&[&["demo", "--out", &out], more].concat()))
}

/// Names of what is in a folder, none where there is no folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Processes that were started with `argument`, by their numbers.
fn processes(argument: &str) -> Vec<String> {
    let command = |pid: &String| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mentions = |pid: &String| String::from_utf8_lossy(&command(pid)).contains(argument);
    let numbers = names(Path::new("/proc")).into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    numbers.filter(mentions).collect()
}

#[test]
fn what_it_guarantees_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = demo(&out, &["--seconds", "2", "--seed", "3", "--format", "json"]).ended();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "with --format json nothing but the document is said");
    let story: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    clocks_are_told(&story);
    assert_eq!(story["bound_coverage"], 1.0, "{story}");
    let error = |name: &str| story["event_error_ns"][name].as_u64().unwrap_or_else(|| panic!("{name} in {story}"));
    assert!(error("before_p99") > 1_000_000, "clocks were bent by milliseconds: {story}");
    assert!(error("after_p99") <= error("after_max") && error("after_max") <= error("guaranteed_max"), "{story}");
    assert!(error("after_max") < error("before_p99") / 10, "{story}");
    assert_eq!(story["violations"]["after"], 0, "{story}");
    let count = |name: &str| story["violations"][name].as_u64().unwrap_or_else(|| panic!("{name} in {story}"));
    assert!((1..=count("collectives")).contains(&count("before")), "{story}");
    assert!(story["seconds"].as_f64().unwrap() > 2.0);
    a_whole_run_is_left(&out, &story);
    assert_every_verb_says_the_same(&out);

    // The same place again: the older demo makes room, and other clocks are drawn.
    let again = demo(&out, &["--seconds", "2", "--seed", "4", "--ranks", "2"]).ended();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let told = String::from_utf8(again.stdout).unwrap();
    for part in ["guaranteed", "as recorded", "aligned", "times the work", "report.html", "timeline.pftrace"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!told.contains('\x1b'), "no colour where there is no terminal: {told}");
    assert_eq!(names(&out.join("raw")).len(), 2, "nothing of the older demo is left");
}

fn clocks_are_told(story: &Value) {
    let ranks = story["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 4);
    for (number, rank) in ranks.iter().enumerate() {
        let field = |name: &str| rank[name].as_i64().unwrap_or_else(|| panic!("{name} in {rank}"));
        assert_eq!(field("rank"), number as i64);
        let (lo_ns, hi_ns) = (field("bound_lo_ns"), field("bound_hi_ns"));
        for name in ["true_offset_ns", "estimated_offset_ns"] {
            assert!((lo_ns..=hi_ns).contains(&field(name)), "{name} in {rank}");
        }
        assert!(field("true_drift_ppb").abs() <= 40_200, "two clocks of at most 20 ppm each, and a little wander: {rank}");
    }
    assert!(ranks[1..].iter().any(|rank| rank["true_offset_ns"].as_i64().unwrap().abs() > 1_000_000), "{ranks:?}");
}

fn a_whole_run_is_left(out: &Path, story: &Value) {
    let mut left = names(out);
    left.retain(|name| !name.starts_with('.'));
    left.sort();
    assert_eq!(left, ["clock", "demo.json", "raw", "report", "run.json", "timeline.pftrace"]);
    let secrets = |name: &&String| name.starts_with("minutes");
    assert_eq!(names(&out.join("clock")).iter().find(secrets), None, "what agents agreed on in secret is not left");
    let kept: Value = serde_json::from_slice(&fs::read(out.join("demo.json")).unwrap()).unwrap();
    assert_eq!(&kept, story);
    for named in ["report", "timeline"] {
        assert!(PathBuf::from(story[named].as_str().unwrap()).is_file(), "{named} in {story}");
    }
    let run: Value = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
    assert_eq!((run["run_id"].as_str(), run["ranks"].as_array().map(Vec::len)), (Some("demo-3"), Some(4)), "{run}");
    assert!(run["files"].to_string().contains("timeline.pftrace"), "{run}");
}

#[test]
fn a_rank_is_slow_for_the_cause_that_was_asked_for() {
    for (because, says) in [
        ("data-loader", "waited"),
        ("kernel", "all of it more in forward passes"),
        ("host", "of other work between its operators"),
        ("link", "sent to rank 2 took longer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let asked = ["--seconds", "2", "--ranks", "3", "--slow-rank", "1", "--because", because];
        let output = demo(&out, &asked).ended();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.to_lowercase().contains("rank 1 ") && said.contains(says), "{because}: {said}");
        let kept: Value = serde_json::from_slice(&fs::read(out.join("demo.json")).unwrap()).unwrap();
        let straggler = &kept["straggler"];
        assert_eq!((&straggler["rank"], &straggler["because"]), (&1.into(), &because.into()), "{straggler}");
        assert!(straggler["extra_ns"].as_u64().is_some_and(|extra| extra > 0), "{straggler}");
        the_recording_shows(because, &out);
    }
}

/// That what only one of the causes records is there for that one alone; how long spans take is a busy machine's affair.
fn the_recording_shows(because: &str, out: &Path) {
    let out = out.display().to_string();
    let output = crate::process::command(&["spans", &out, "--format", "json"]).output().unwrap();
    let spans = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(spans.contains("log_metrics"), because == "host", "{because}");
}

#[test]
fn a_slow_rank_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let output = demo(&out, &["--ranks", "3", "--slow-rank", "3"]).ended();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("rank 3 of 3: ranks are numbered from 0"), "{said}");
    let output = demo(&out, &["--because", "weather"]).ended();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!out.exists());
}

#[test]
fn a_killed_rank_ends_it_with_a_sentence_and_nothing_stays() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let place = out.display().to_string();
    let running = demo(&out, &["--seconds", "60"]);
    let raw = out.join("raw/rank-2.rkr");
    wait_for("rank 2 to record", || fs::metadata(&raw).is_ok_and(|file| file.len() > 0));
    let manifest = || serde_json::from_slice::<Value>(&fs::read(out.join("run.json")).unwrap_or_default()).unwrap_or_default();
    wait_for("the manifest to name it", || manifest()["ranks"][2]["pid"].is_u64());
    let pid = manifest()["ranks"][2]["pid"].to_string();
    signal("KILL", pid.parse().unwrap());
    let output = running.ended();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("rankscope: ") && last.contains("rank 2 was killed by SIGKILL"), "{said}");
    assert!(!out.exists(), "{:?}", names(&out));
    wait_for("its processes to go", || processes(&place).is_empty());
}

#[test]
fn whoever_interrupts_it_is_left_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let running = demo(&out, &["--seconds", "60"]);
    wait_for("it to begin", || out.join("raw/rank-0.rkr").exists());
    running.terminate();
    let output = running.ended();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert!(!out.exists(), "{:?}", names(&out));
    wait_for("its processes to go", || processes(&out.display().to_string()).is_empty());
}

#[test]
fn whoever_kills_it_is_left_without_its_processes() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let place = out.display().to_string();
    // Minutes of training, and agents that are told to stay for longer.
    let running = demo(&out, &["--seconds", "600"]);
    wait_for("it to begin", || out.join("raw/rank-1.rkr").exists());
    // Who comes now is told, and takes nothing away.
    let second = demo(&out, &[]).ended();
    assert!(String::from_utf8_lossy(&second.stderr).contains("a demo is running there"), "{second:?}");
    assert!(out.join("raw/rank-1.rkr").exists());
    drop(running);
    wait_for("its processes to go", || processes(&place).is_empty());
    // What it left makes room.
    let third = demo(&out, &["--seconds", "2", "--ranks", "2"]).ended();
    assert!(third.status.success(), "{}", String::from_utf8_lossy(&third.stderr));
}

#[test]
fn of_two_that_begin_at_once_one_plays() {
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("run");
        let both = [(); 2].map(|()| demo(&out, &["--seconds", "2", "--ranks", "2"])).map(Running::ended);
        let said = both.each_ref().map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        assert_eq!(both.iter().filter(|output| output.status.success()).count(), 1, "{said:?}");
        assert!(said.iter().any(|said| said.contains("a demo is running there")), "{said:?}");
        assert!(out.join("demo.json").exists());
    }
}

#[test]
fn nothing_but_a_demo_makes_room_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("thesis.tex");
    fs::write(&mine, "years of work").unwrap();
    let taken = folder.path().join("file");
    fs::write(&taken, "").unwrap();
    // A folder that merely has files of the same names is no demo either.
    let alike = folder.path().join("alike");
    fs::create_dir(&alike).unwrap();
    fs::write(alike.join("demo.json"), "{}").unwrap();
    for out in [folder.path(), &taken, &alike] {
        let output = demo(out, &[]).ended();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&out.display().to_string()) && output.stdout.is_empty(), "{said}");
    }
    assert_eq!(fs::read_to_string(&mine).unwrap(), "years of work");
    assert!(alike.join("demo.json").exists());
}

#[test]
fn arguments_that_make_no_demo_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    for (arguments, code) in [(["--ranks", "1"], 2), (["--ranks", "17"], 2), (["--seconds", "0"], 1), (["--seconds", "nan"], 1)]
    {
        let output = demo(&out, &arguments).ended();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!out.exists());
}
