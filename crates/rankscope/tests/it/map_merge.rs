//! `map` and `merge` say what `report` says, to the byte, however the work is divided; and refuse by name what does not belong
//! together.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{corpus, fixture, rankscope, write_job};
use crate::process::command;
use rankscope_testkit::{Dialect, Job, Metadata, NodeClock, Straggler};

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Maps `traces` in so many shards, the last one first, each with its own number of threads.
fn map(traces: &Path, parts: &Path, shards: usize, more: &[&str]) -> Vec<Output> {
    let threads = ["1", "2", "7"];
    let shard = |number: usize| {
        let shard = format!("{number}/{shards}");
        let mut command = command(&[&["map", text(traces), "--parts", text(parts), "--shard", &shard], more].concat());
        command.env("RAYON_NUM_THREADS", threads[number % threads.len()]).output().expect("runs")
    };
    (1..=shards).rev().map(shard).collect()
}

pub(crate) fn mapped(traces: &Path, shards: usize) -> tempfile::TempDir {
    mapped_with(traces, shards, &[])
}

pub(crate) fn mapped_with(traces: &Path, shards: usize, more: &[&str]) -> tempfile::TempDir {
    let parts = tempfile::tempdir().expect("a temporary directory");
    for output in map(traces, parts.path(), shards, more) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    parts
}

/// The one file in `folder` whose name begins and ends so, of the lowest name.
pub(crate) fn first(folder: &Path, begins: &str, ends: &str) -> PathBuf {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(begins) && name.ends_with(ends)
    };
    entries.filter(is_meant).min().expect("such a file")
}

pub(crate) fn assert_same(traces: &Path, options: &[&str]) {
    let report = rankscope(&[&["report", text(traces), "--format", "json"], options].concat());
    for shards in [1, 3] {
        let parts = mapped(traces, shards);
        // Rows that are all in files are the same.
        for verb in [&["merge"][..], &["merge", "--memory", "0"], &["report"]] {
            let merged = rankscope(&[verb, &[text(parts.path()), "--format", "json"], options].concat());
            let place = traces.display();
            assert!(merged.stdout == report.stdout, "{verb:?} of {place} in {shards} shards differs");
            assert_eq!(merged.status.code(), report.status.code(), "{place}");
            assert_eq!(String::from_utf8_lossy(&merged.stderr), String::from_utf8_lossy(&report.stderr), "{place}");
        }
    }
}

/// Two hosts, the second's clock ahead and fast.
pub(crate) fn two_clocks() -> Job {
    let clocks = vec![NodeClock { offset_ns: 0, drift_ppb: 0 }, NodeClock { offset_ns: 3_000_000, drift_ppb: 20_000 }];
    Job { metadata: Metadata::ArgsAndSeq, gpus_per_node: 2, clocks, ..job() }
}

pub(crate) fn job() -> Job {
    Job { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.3 }), ..Job::default() }
}

#[test]
fn parts_of_a_job_are_judged_as_its_traces_are() {
    for job in [Job { metadata: Metadata::None, ..job() }, two_clocks()] {
        let directory = write_job(&job);
        // What is no trace is passed over, and is said to be.
        fs::write(directory.path().join("notes.json"), "{}").expect("written");
        assert_same(directory.path(), &[]);
        assert_same(directory.path(), &["--step", "2", "--rank", "1"]);
    }
}

#[test]
fn every_dialect_is_judged_by_its_parts() {
    for (_, dialect) in Dialect::all() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for rank in 0..4 {
            fs::write(directory.path().join(format!("t{rank}.json")), job().rank_bytes(rank, &dialect)).expect("written");
        }
        assert_same(directory.path(), &[]);
    }
}

/// Tables of the parts are those of the traces, and nobody gets them who did not ask.
fn assert_same_tables(traces: &Path) {
    let parts = mapped_with(traces, 2, &["--tables"]);
    let said = |args: &[&str]| {
        let output = rankscope(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let options = ["--format", "json", "--tables", "all"];
    for tables in [&options[..], &options[..2]] {
        let report = said(&[&["report", text(traces)], tables].concat());
        for verb in ["merge", "report"] {
            let by_parts = said(&[&[verb, text(parts.path())], tables].concat());
            assert!(by_parts == report, "{verb} of {} with {tables:?} differs", traces.display());
        }
    }
}

#[test]
fn tables_of_parts_are_those_of_the_traces() {
    let directory = write_job(&job());
    assert_same_tables(directory.path());
    let Some(corpus) = corpus() else { return };
    assert_same_tables(&corpus.join("traces/kineto"));
    // Two exports of one rank, whose tables are joined.
    assert_same_tables(&corpus.join("jobs/crash"));
}

#[test]
fn real_traces_are_judged_by_their_parts() {
    for name in ["torch-gloo-4ranks", "jax-cpu-2procs", "tokio-requests"] {
        assert_same(&fixture(name), &[]);
    }
    let Some(corpus) = corpus() else { return };
    for name in ["traces/kineto", "traces/xplane", "jobs/pp", "jobs/crash"] {
        assert_same(&corpus.join(name), &[]);
    }
}

#[test]
fn inputs_come_from_a_list_as_from_arguments() {
    let directory = write_job(&job());
    let named = (0..4).map(|rank| directory.path().join(format!("rank{rank}.json"))).collect::<Vec<_>>();
    let mut paths: Vec<&str> = named.iter().map(|path| text(path)).collect();
    let out = tempfile::tempdir().expect("a temporary directory");
    let list = out.path().join("list");
    fs::write(&list, format!("# the first half\n{}\n\n{}\n", paths[0], paths[1])).expect("written");
    let (by_list, by_input, by_name) =
        (out.path().join("list.parts"), out.path().join("stdin.parts"), out.path().join("parts"));
    paths.extend(["--parts", text(&by_name)]);
    assert!(rankscope(&[&["map"], &paths[..]].concat()).status.success());
    for number in 1..=2 {
        let shard = format!("{number}/2");
        let said = rankscope(&["map", "--list", text(&list), paths[2], paths[3], "--parts", text(&by_list), "--shard", &shard]);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
    let mut fed = command(&["map", "--list", "-", "--parts", text(&by_input)]);
    fed.stdin(fs::File::open(&list).expect("open"));
    assert!(fed.output().expect("runs").status.success());
    let names = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&by_list), names(&by_name), "the same inputs in the same places");
    assert_eq!(names(&by_input).len(), 5);
    fs::write(&list, "\n# nothing\n").expect("written");
    let said = rankscope(&["map", "--list", text(&list), "--parts", text(&by_list)]);
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(1) && stderr.contains("names no input"), "{stderr}");
    let nowhere = out.path().join("nowhere");
    assert_eq!(rankscope(&["map", "--parts", text(&nowhere)]).status.code(), Some(2));
}

#[test]
#[cfg(not(feature = "store"))]
fn object_stores_are_refused_by_name() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let parts = out.path().join("parts");
    let url = "s3://bucket/run/rank*.json.gz";
    let file = out.path().join("out.json");
    for command in
        [vec!["map", url, "--parts", text(&parts)], vec!["report", url], vec!["spans", url], vec!["convert", url, text(&file)]]
    {
        let said = rankscope(&command);
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(
            said.status.code() == Some(2) && stderr.contains(url) && stderr.contains("no object stores"),
            "{command:?}: {stderr}"
        );
    }
    assert!(!parts.exists());
}

#[test]
fn parts_may_lie_beside_their_traces() {
    let directory = write_job(&job());
    let parts = directory.path().join("parts");
    let map = || rankscope(&["map", text(directory.path()), "--parts", text(&parts), "--format", "json"]);
    assert!(map().status.success());
    let again: serde_json::Value = serde_json::from_slice(&map().stdout).expect("JSON");
    assert_eq!((&again["inputs"], &again["done_before"]), (&4.into(), &4.into()));
    let report = rankscope(&["report", text(directory.path()), "--format", "json"]);
    assert!(report.stdout == rankscope(&["report", text(&parts), "--format", "json"]).stdout);
}

#[test]
fn what_is_done_is_not_done_again() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 2);
    let merge = || rankscope(&["merge", text(parts.path()), "--format", "json"]);
    let before = merge();
    let part = first(parts.path(), "part-r000001", ".rkpart");
    // As after a mapper that died before it could say that the input is done.
    fs::remove_file(first(parts.path(), "input-000001", ".json")).expect("removed");
    let said = merge();
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(1) && stderr.contains("1 of 4 inputs are not mapped yet"), "{stderr}");
    assert!(stderr.contains("rank1.json"), "{stderr}");
    assert!(rankscope(&["merge", text(parts.path()), "--partial", "--format", "json"]).status.success());
    fs::remove_file(&part).expect("removed");
    let again = rankscope(&["map", text(directory.path()), "--parts", text(parts.path()), "--format", "json"]);
    let summary: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!((&summary["inputs"], &summary["done_before"], &summary["parts"]), (&4.into(), &3.into(), &1.into()));
    assert_eq!(merge().stdout, before.stdout);
}

#[test]
fn damaged_parts_are_refused_by_name() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let path = first(parts.path(), "part-r000002", ".rkpart");
    let whole = fs::read(&path).expect("read");
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    flipped[middle] ^= 4;
    for damaged in [&whole[..middle], &whole[..10], &[], &flipped] {
        fs::write(&path, damaged).expect("written");
        let said = rankscope(&["merge", text(parts.path()), "--partial"]);
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code() == Some(1) && stderr.contains("part-r000002"), "{stderr}");
    }
}

#[test]
fn parts_of_other_options_or_inputs_are_exit_4() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let again = |more: &[&str]| {
        let said = rankscope(&[&["map", text(directory.path()), "--parts", text(parts.path())], more].concat());
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    assert_eq!(again(&[]).0, Some(0));
    let (code, said) = again(&["--classes", "tracelens"]);
    assert!(code == Some(4) && said.contains("other inputs or options"), "{said}");
    fs::write(directory.path().join("rank3.json"), job().rank_bytes(2, &Dialect::default())).expect("written");
    assert_eq!(again(&[]).0, Some(4));
}

#[test]
fn clocks_that_are_named_in_vain_are_refused_as_by_report() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let empty = tempfile::tempdir().expect("a temporary directory");
    for (folder, said) in [(empty.path(), "holds no clocks"), (Path::new("/nowhere"), "no such folder")] {
        for input in [directory.path(), parts.path()] {
            let refused = rankscope(&["report", text(input), "--clocks", text(folder), "--format", "json"]);
            let stderr = String::from_utf8_lossy(&refused.stderr);
            assert!(refused.status.code() == Some(1) && stderr.contains(said), "{}: {stderr}", input.display());
        }
    }
}

#[test]
fn shards_have_numbers() {
    for shard in ["0/3", "4/3", "1", "x/y", "1/0"] {
        let said = rankscope(&["map", "x", "--parts", "y", "--shard", shard]);
        assert_eq!(said.status.code(), Some(2), "{shard}");
    }
}
