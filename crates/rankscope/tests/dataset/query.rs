//! `rankscope query`: the engine, where there is one, answers what other programs answer; where there is none, the remedy is said.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use rankscope_testkit::{Job, Need, given, skip};
use serde_json::{Value, json};

use super::{dataset, job, runs_of_the_page, statements, text, write_job};

/// The program, where `PATH` has the engine that `RANKSCOPE_SQL_ENGINE` names.
#[track_caller]
fn with_engine() -> Option<Engine> {
    let program = given(Need::SqlEngine)?;
    let folder = program.parent().expect("a folder").to_owned();
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&rest));
    Some(Engine { path: std::env::join_paths(folders).expect("a path") })
}

struct Engine {
    path: OsString,
}

impl Engine {
    fn run(&self, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rankscope")).args(words).env("PATH", &self.path).output().expect("runs")
    }

    #[track_caller]
    fn ask(&self, path: &Path, sql: &str) -> Value {
        let done = self.run(&["query", text(path), sql, "--format", "json"]);
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("JSON")
    }

    /// Has the readers' script check `dataset` by what `rankscope query` answers.
    #[track_caller]
    fn read(&self, reader: &str, dataset: &Path, report: &Path, more: &[&str]) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dataset/readers.py");
        let mut python = Command::new("python3");
        python.env("PATH", &self.path).env("RANKSCOPE", env!("CARGO_BIN_EXE_rankscope"));
        let done = match python.args([text(&script), reader, text(dataset), text(report)]).args(more).output() {
            Ok(done) => done,
            Err(error) => return skip(Need::Python, error),
        };
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && done.stdout.starts_with(b"checked "), "{reader}: {said}");
    }
}

#[test]
fn its_answers_are_the_reports() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, report) = dataset(&write_job(&job(), folder.path()), folder.path(), &["--as-recorded"]);
    engine.read("sums", &dataset, &report, &[]);
    engine.read("views", &dataset, &report, &[]);
    // The account by columns, by the view, and by the function for unions.
    let alone = tempfile::tempdir().expect("a temporary directory");
    let one = Job { ranks: 1, clocks: Vec::new(), missing: Vec::new(), straggler: None, ..job() };
    let (dataset, report) = self::dataset(&write_job(&one, alone.path()), alone.path(), &[]);
    engine.read("views", &dataset, &report, &["whole"]);
    let work = "CASE WHEN class IN ('memcpy', 'memset') THEN 'memory' ELSE class END";
    let unions = engine.ask(
        &dataset,
        &format!(
            "SELECT rank, {work} AS work, union_ns(ts_local_ns, ts_local_ns + dur_ns) AS union_ns FROM events \
             WHERE class IS NOT NULL GROUP BY ALL ORDER BY 1, 2"
        ),
    );
    assert!(unions.as_array().is_some_and(|rows| !rows.is_empty()));
    assert_eq!(unions, engine.ask(&dataset, "SELECT rank, work, union_ns FROM class_unions ORDER BY 1, 2"));
}

#[test]
fn it_understands_every_statement_of_the_page() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dataset = runs_of_the_page(folder.path());
    let list = folder.path().join("statements.json");
    fs::write(&list, serde_json::to_vec(&statements()).expect("JSON")).expect("written");
    engine.read("page", &dataset, &list, &[]);
}

#[test]
fn ranks_of_a_large_job_and_of_a_small_one_are_asked_together() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let many = Job { ranks: 256, steps: 1, layers: 1, ops_per_step: 2, python_frames: 0, ..Job::default() };
    let traces = write_job(&many, folder.path());
    let (together, report) = dataset(&traces, folder.path(), &[]);
    engine.read("sums", &together, &report, &[]);
    fs::remove_dir_all(&traces).expect("removed");
    let few = folder.path().join("few");
    fs::rename(write_job(&Job { ranks: 3, ..many }, folder.path()), &few).expect("renamed");
    dataset(&few, folder.path(), &[]);
    let counted = engine
        .ask(&together, "SELECT run, count(DISTINCT rank) AS ranks, max(rank) AS last FROM events GROUP BY run ORDER BY run");
    assert_eq!(counted, json!([{"run": "few", "ranks": 3, "last": 2}, {"run": "traces", "ranks": 256, "last": 255}]));
}

#[test]
fn a_run_is_asked_without_a_dataset() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let traces = write_job(&Job { missing: Vec::new(), ..job() }, folder.path());
    let before = fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(engine.ask(&traces, "SELECT count(*) AS ranks FROM ranks"), json!([{"ranks": 4}]));
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), before, "nothing is left");
}

#[test]
fn it_only_reads_and_says_what_is_wrong() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&write_job(&job(), folder.path()), folder.path(), &[]);
    for (sql, said) in [
        ("SELEC 1", "the query"),
        ("SELECT nothing FROM events", "nothing"),
        ("SELECT * FROM nowhere", "nowhere"),
        ("DROP VIEW events", "not supported"),
        ("COPY events TO '/tmp/rankscope-copied.csv'", "not supported"),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'", "not supported"),
        ("SET datafusion.execution.batch_size = 1", "not supported"),
    ] {
        let done = engine.run(&["query", text(&dataset), sql]);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && error.contains(said) && error.lines().count() <= 4, "{sql}: {error}");
    }
    fs::remove_dir_all(dataset.join("events/run=traces/rank=1")).expect("removed");
    let done = engine.run(&["query", text(&dataset), "SELECT 1"]);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && error.contains("rank=1/part-0.parquet") && error.contains("--parquet"), "{error}");
}

#[test]
fn a_folder_is_no_pattern_whatever_it_is_called() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&write_job(&job(), folder.path()), folder.path(), &[]);
    let sql = "SELECT count(*) AS events FROM events";
    let counted = engine.ask(&dataset, sql);
    for name in ["a[1]* of %20?", "s3:"] {
        let renamed = folder.path().join(name);
        fs::rename(&dataset, &renamed).expect("renamed");
        assert_eq!(engine.ask(&renamed, sql), counted, "{name}");
        fs::rename(&renamed, &dataset).expect("renamed");
    }
    let url = format!("file://{}", text(&dataset));
    assert_eq!(engine.ask(Path::new(&url), sql), counted, "{url}");
}

#[test]
fn answers_can_be_read_by_programs() {
    let Some(engine) = with_engine() else { return };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&write_job(&job(), folder.path()), folder.path(), &[]);
    let sql = "SELECT rank, NULL AS nothing, 9007199254740993 AS large FROM ranks WHERE rank < 1";
    assert_eq!(engine.ask(&dataset, sql), json!([{"rank": 0, "nothing": null, "large": 9_007_199_254_740_993_i64}]));
    let printed = |sql: &str, format: &str| {
        String::from_utf8(engine.run(&["query", text(&dataset), sql, "--format", format]).stdout).expect("UTF-8")
    };
    assert_eq!(printed(sql, "csv"), "rank,nothing,large\n0,,9007199254740993\n");
    assert_eq!(printed("SELECT rank FROM ranks WHERE rank > 99", "csv"), "rank\n");
    assert_eq!(printed("SELECT rank FROM ranks WHERE rank > 99", "json"), "[]\n");
    assert!(printed("SELECT rank FROM ranks ORDER BY rank", "table").ends_with("4 rows\n"));
}

#[test]
fn without_an_engine_the_remedy_is_said() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (dataset, _) = dataset(&write_job(&job(), folder.path()), folder.path(), &[]);
    let nowhere = Engine { path: folder.path().into() };
    let done = nowhere.run(&["query", text(&dataset), "SELECT 1"]);
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && error.contains("cargo install --path crates/rankscope-sql"), "{error}");
}
