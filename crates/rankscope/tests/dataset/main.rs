//! `rankscope report --parquet`, by the programs that people read datasets with: what they sum up is what the report says.

mod query;
mod second_map;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_testkit::{Dialect, Job, Metadata, Need, NodeClock, Straggler, given, skip};
use serde_json::Value;

fn rankscope<S: AsRef<OsStr>>(args: &[S]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_rankscope")).args(args).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The traces of `job` in a folder of its own, called `traces`.
fn write_job(job: &Job, folder: &Path) -> PathBuf {
    let traces = folder.join("traces");
    fs::create_dir_all(&traces).expect("a folder");
    for rank in 0..job.ranks {
        fs::write(traces.join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default())).expect("written");
    }
    traces
}

/// Two nodes whose clocks disagree, one rank that is late, one collective that a rank lacks.
fn job() -> Job {
    let clocks = vec![NodeClock::default(), NodeClock { offset_ns: 40_000_000, drift_ppb: 0 }];
    let straggler = Some(Straggler { rank: 2, factor: 1.3 });
    Job {
        steps: 4,
        gpus_per_node: 2,
        clocks,
        straggler,
        missing: vec![(1, 5)],
        metadata: Metadata::ArgsAndSeq,
        ..Job::default()
    }
}

/// The dataset and the report of `traces`, both in `folder`.
fn dataset(traces: &Path, folder: &Path, more: &[&str]) -> (PathBuf, PathBuf) {
    let (dataset, report) = (folder.join("dataset"), folder.join("report.json"));
    let args = ["report", text(traces), "--partial", "--format", "json", "--parquet", text(&dataset)];
    fs::write(&report, rankscope(&[&args[..], more].concat()).stdout).expect("written");
    (dataset, report)
}

/// Every file below `folder`, by its place there.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder").flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let place = entry.path().strip_prefix(folder).expect("below it").display().to_string();
                found.insert(place, fs::read(entry.path()).expect("a file"));
            }
        }
    }
    found
}

/// Has `reader` check `dataset` against `report`.
#[track_caller]
fn read(python: &Path, reader: &str, dataset: &Path, report: &Path, more: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dataset/readers.py");
    let args = [text(&script), reader, text(dataset), text(report)];
    let done = Command::new(python).args(args).args(more).output().expect("runs");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && done.stdout.starts_with(b"checked "), "{reader}: {said}");
}

/// Python with `module`.
#[track_caller]
fn python(module: &str) -> Option<PathBuf> {
    let python = given(Need::DatasetReaders)?;
    let has = Command::new(&python).args(["-c", &format!("import {module}")]).output().is_ok_and(|done| done.status.success());
    if !has {
        skip(Need::DatasetReaders, format_args!("{} has no {module}", python.display()));
    }
    has.then_some(python)
}

#[track_caller]
fn sums_are_the_reports(reader: &str) {
    let Some(python) = python(reader) else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, report) = dataset(&write_job(&job(), folder.path()), folder.path(), &[]);
    read(&python, reader, &dataset, &report, &[]);
}

#[test]
fn the_sums_of_duckdb_are_the_reports() {
    sums_are_the_reports("duckdb");
}

#[test]
fn the_sums_of_pyarrow_are_the_reports() {
    sums_are_the_reports("pyarrow");
}

#[test]
fn the_sums_of_polars_are_the_reports() {
    sums_are_the_reports("polars");
}

#[test]
fn the_sums_of_pandas_are_the_reports() {
    sums_are_the_reports("pandas");
}

#[test]
fn the_views_of_duckdb_tell_the_account_the_steps_and_the_collectives() {
    let Some(python) = python("duckdb") else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, report) = dataset(&write_job(&job(), folder.path()), folder.path(), &["--as-recorded"]);
    read(&python, "views", &dataset, &report, &[]);
    // By the collectives' clocks, ranks are accounted over the time that all of them recorded.
    let folder = tempfile::tempdir().expect("a temporary directory");
    let alone = Job { ranks: 1, clocks: Vec::new(), missing: Vec::new(), straggler: None, ..job() };
    let (dataset, report) = self::dataset(&write_job(&alone, folder.path()), folder.path(), &[]);
    read(&python, "views", &dataset, &report, &["whole"]);
}

#[test]
fn real_traces_sum_up_too() {
    let (Some(python), Some(corpus)) = (python("duckdb"), given(Need::Corpus)) else { return };
    for traces in ["jobs/fsdp", "jobs/pp", "traces/torch-gloo-4ranks"] {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (dataset, report) = dataset(&corpus.join(traces), folder.path(), &[]);
        read(&python, "duckdb", &dataset, &report, &[]);
        read(&python, "views", &dataset, &report, &[]);
    }
}

#[test]
fn the_same_job_gives_the_same_bytes_and_a_run_replaces_itself() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let traces = write_job(&job(), folder.path());
    let (first, _) = dataset(&traces, folder.path(), &[]);
    let before = files(&first);
    let others = tempfile::tempdir().expect("a temporary directory");
    let (again, _) = dataset(&traces, others.path(), &["--memory", "1"]);
    assert_eq!(before, files(&again), "whether traces were kept or read again means nothing");
    // The same run with a rank fewer: nothing of that rank is left.
    fs::remove_file(traces.join("rank3.json")).expect("removed");
    dataset(&traces, folder.path(), &[]);
    let after = files(&first);
    assert!(before.contains_key("events/run=traces/rank=3/part-0.parquet"));
    assert!(!after.keys().any(|place| place.contains("rank=3")), "{:?}", after.keys());
    // Another run beside it.
    let renamed = folder.path().join("other");
    fs::rename(&traces, &renamed).expect("renamed");
    dataset(&renamed, folder.path(), &[]);
    let both = files(&first);
    assert!(after.iter().all(|(place, bytes)| place.contains("manifest") || both.get(place) == Some(bytes)));
    let manifest: Value = serde_json::from_slice(&both["_rankscope_manifest.json"]).expect("JSON");
    let runs: Vec<&str> = manifest["runs"].as_array().expect("runs").iter().filter_map(|run| run["run"].as_str()).collect();
    assert_eq!(runs, ["other", "traces"]);
    let listed =
        manifest["runs"].as_array().into_iter().flatten().flat_map(|run| run["tables"].as_array().into_iter().flatten());
    let listed: BTreeMap<String, u64> = listed
        .flat_map(|table| table["files"].as_array().into_iter().flatten())
        .map(|file| (file["path"].as_str().expect("a path").to_owned(), file["bytes"].as_u64().expect("bytes")))
        .collect();
    let there: BTreeMap<String, u64> = both
        .iter()
        .filter(|(place, _)| place.ends_with(".parquet"))
        .map(|(place, bytes)| (place.clone(), bytes.len() as u64))
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn parts_give_all_but_events() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let traces = write_job(&job(), folder.path());
    let (whole, _) = dataset(&traces, folder.path(), &[]);
    let parts = folder.path().join("parts").join("traces");
    rankscope(&["map", text(&traces), "--parts", text(&parts)]);
    let others = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&parts, others.path(), &[]);
    let (whole, of_parts) = (files(&whole), files(&dataset));
    let tables = |files: &BTreeMap<String, Vec<u8>>| {
        files
            .iter()
            .filter(|(place, _)| place.ends_with(".parquet"))
            .map(|(place, bytes)| (place.clone(), bytes.clone()))
            .collect()
    };
    let mut expected: BTreeMap<String, Vec<u8>> = tables(&whole);
    expected.retain(|place, _| !place.starts_with("events/"));
    assert_eq!(tables(&of_parts), expected);
    assert!(!String::from_utf8_lossy(&of_parts["views.sql"]).contains("events"));
}

#[test]
fn ranks_of_a_large_job_share_files() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let many = Job { ranks: 256, steps: 1, layers: 1, ops_per_step: 2, python_frames: 0, ..Job::default() };
    let (dataset, report) = dataset(&write_job(&many, folder.path()), folder.path(), &[]);
    let events = files(&dataset).into_keys().filter(|place| place.starts_with("events/")).collect::<Vec<_>>();
    assert_eq!(events.len(), 32, "{events:?}");
    let Some(python) = python("duckdb") else { return };
    read(&python, "duckdb", &dataset, &report, &[]);
    read(&python, "views", &dataset, &report, &[]);
    read(&python, "pyarrow", &dataset, &report, &[]);
}

#[test]
fn arguments_are_written_where_they_are_asked_for() {
    let Some(python) = python("pyarrow") else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&write_job(&job(), folder.path()), folder.path(), &["--parquet-args"]);
    let script = "import sys, json, pyarrow.dataset as ds\n\
        rows = ds.dataset(sys.argv[1] + '/events', partitioning='hive').to_table().to_pylist()\n\
        args = [json.loads(row['args_json']) for row in rows]\n\
        assert all(isinstance(one, dict) for one in args)\n\
        both = [(row['correlation'], one['correlation']) for row, one in zip(rows, args) if 'correlation' in one]\n\
        assert both and all(a == b for a, b in both), both[:5]\n\
        print('checked', len(rows))";
    let done = Command::new(python).args(["-c", script, text(&dataset)]).output().expect("runs");
    assert!(done.status.success() && done.stdout.starts_with(b"checked "), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn a_folder_of_something_newer_is_left_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let traces = write_job(&Job { ranks: 2, steps: 1, ..job() }, folder.path());
    let dataset = folder.path().join("dataset");
    fs::create_dir(&dataset).expect("a folder");
    for (manifest, said) in
        [(r#"{"schema": 99, "rankscope_version": "9", "runs": []}"#, "schema 99 is newer"), ("{", "not a manifest")]
    {
        fs::write(dataset.join("_rankscope_manifest.json"), manifest).expect("written");
        let args = ["report", text(&traces), "--format", "json", "--partial", "--parquet", text(&dataset)];
        let done = Command::new(env!("CARGO_BIN_EXE_rankscope")).args(args).output().expect("runs");
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(1) && error.contains(said), "{error}");
        assert_eq!(files(&dataset).len(), 1, "nothing is added");
    }
}

/// The statements of the page about SQL.
fn statements() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/how-to/query-with-sql.md");
    let blocks: Vec<&str> = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(blocks.len() >= 6, "the page shows SQL");
    blocks
}

/// A dataset in `folder` of the runs that the page asks about.
fn runs_of_the_page(folder: &Path) -> PathBuf {
    let traces = write_job(&job(), folder);
    let [base, test] = ["base", "test"].map(|name| folder.join(name));
    fs::rename(&traces, &base).expect("renamed");
    dataset(&base, folder, &[]);
    fs::rename(&base, &test).expect("renamed");
    dataset(&test, folder, &[]).0
}

#[test]
fn every_statement_of_the_page_is_understood() {
    let blocks = statements();
    let Some(python) = python("duckdb") else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dataset = runs_of_the_page(folder.path());
    let statements = folder.path().join("statements.json");
    fs::write(&statements, serde_json::to_vec(&blocks).expect("JSON")).expect("written");
    read(&python, "page", &dataset, &statements, &[]);
}
