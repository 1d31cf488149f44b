//! `rankscope spans`: its tables and its files for other tools, and what `report` says of a program that trains nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{failure, fixture, rankscope, report};
use serde_json::{Value, json};

/// Two threads, an asynchronous span that waits, and a span whose end is missing.
const PROGRAM: &str = r#"[
    {"ph": "X", "name": "serve", "cat": "user_annotation", "pid": 7, "tid": 1, "ts": 0, "dur": 100},
    {"ph": "X", "name": "parse", "cat": "user_annotation", "pid": 7, "tid": 1, "ts": 10, "dur": 20},
    {"ph": "X", "name": "parse", "cat": "user_annotation", "pid": 7, "tid": 2, "ts": 5, "dur": 30},
    {"ph": "X", "name": "=1+1", "cat": "user_annotation", "pid": 7, "tid": 2, "ts": 50, "dur": 1},
    {"ph": "b", "name": "request", "cat": "user_annotation", "id": 1, "pid": 7, "tid": 1, "ts": 0},
    {"ph": "e", "name": "request", "cat": "user_annotation", "id": 1, "pid": 7, "tid": 2, "ts": 400},
    {"ph": "B", "name": "stuck", "cat": "user_annotation", "pid": 7, "tid": 2, "ts": 60}
]"#;

fn program() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("program.json");
    fs::write(&path, PROGRAM).expect("written");
    (folder, path)
}

fn stdout(path: &Path, more: &[&str]) -> String {
    let output = rankscope(&[&["spans", &path.display().to_string()], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

fn spans(path: &Path, more: &[&str]) -> Value {
    serde_json::from_str(&stdout(path, &[&["--format", "json"], more].concat())).expect("one JSON document")
}

fn column<'a>(document: &'a Value, table: &str, key: &str) -> Vec<&'a Value> {
    document[table].as_array().expect("rows").iter().map(|row| &row[key]).collect()
}

#[test]
fn rows_have_exact_figures_and_asynchronous_spans_their_own_table() {
    let (_folder, path) = program();
    let document = spans(&path, &["--sort", "total"]);
    assert_eq!(column(&document, "spans", "name"), ["stuck", "serve", "parse", "=1+1"]);
    assert_eq!(column(&document, "spans", "total_ns"), [340_000, 100_000, 50_000, 1_000]);
    assert_eq!(column(&document, "spans", "self_ns"), [340_000, 80_000, 50_000, 1_000]);
    assert_eq!(column(&document, "spans", "threads"), [1, 1, 2, 1]);
    assert_eq!(column(&document, "spans", "unfinished"), [1, 0, 0, 0]);
    assert_eq!((&document["spans"][2]["p50_ns"], &document["spans"][2]["max_ns"]), (&json!(20_000), &json!(30_000)));
    let request = &document["async_spans"][0];
    assert_eq!((&request["total_ns"], &request["self_ns"]), (&json!(400_000), &Value::Null));
    let note = document["notes"][0]["text"].as_str().expect("a note");
    assert!(note.contains("1 span has no end there"), "{note}");
}

#[test]
fn tables_are_for_people_and_say_what_they_leave_out() {
    let (_folder, path) = program();
    let text = stdout(&path, &["--top", "2"]);
    assert!(text.contains("2 threads") && text.contains("and 2 more; --top 4 shows all"), "{text}");
    assert!(text.contains("ASYNC SPANS") && text.contains("no end"), "{text}");
    let text = stdout(&path, &["--by", "thread", "--name", "^parse$"]);
    assert!(text.contains("thread 1") && text.contains("thread 2") && !text.contains("serve"), "{text}");
    assert!(!stdout(&path, &["--thread", "thread 2"]).contains("serve"));
}

#[test]
fn a_spreadsheet_gets_rows_and_no_formulas() {
    let (_folder, path) = program();
    let text = stdout(&path, &["--format", "csv"]);
    let widths: Vec<_> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths, [13; 6]);
    assert!(text.contains("\nspan,,,'=1+1,") && text.contains("\nasync,,,request,"), "{text}");
}

#[test]
fn several_files_are_several_processes() {
    let document = spans(&fixture("torch-gloo-4ranks"), &["--by", "process", "--name", "^train_step$"]);
    let mut ranks: Vec<_> = column(&document, "spans", "process").into_iter().filter_map(Value::as_str).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["rank 0", "rank 1", "rank 2", "rank 3"]);
    assert_eq!(document["processes"].as_array().map(Vec::len), Some(4));
}

#[test]
fn every_reader_feeds_the_table() {
    for (input, name) in [("torch-gloo-4ranks", "aten::mm"), ("jax-cpu-2procs", "all-reduce"), ("tokio-requests", "render")] {
        let document = spans(&fixture(input), &["--name", &format!("^{name}$")]);
        let row = &document["spans"][0];
        assert!(row["self_ns"].as_i64() > Some(0) && row["total_ns"].as_i64() >= row["self_ns"].as_i64(), "{input}: {row}");
    }
    let requests = spans(&fixture("tokio-requests"), &[]);
    assert_eq!((&requests["async_spans"][2]["name"], &requests["async_spans"][0]["count"]), (&json!("parse"), &json!(50)));
}

#[test]
fn files_for_other_tools_are_written_or_refused_with_a_reason() {
    let (folder, path) = program();
    let folded = stdout(&path, &["--flame", "folded"]);
    assert_eq!(folded, "serve 80000\nserve;parse 20000\nparse 30000\n=1+1 1000\nstuck 340000\n");
    let input = path.display().to_string();
    let at = |name: &str| folder.path().join(name).display().to_string();
    for (flag, name) in [("--pprof", "a.pb.gz"), ("--otlp", "a.json")] {
        let output = rankscope(&["spans", &input, flag, "-o", &at(name)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(fs::read(at("a.pb.gz")).expect("written").starts_with(&[0x1f, 0x8b]));
    let otlp: Value = serde_json::from_slice(&fs::read(at("a.json")).expect("written")).expect("JSON");
    assert_eq!(otlp["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().map(Vec::len), Some(6));
    assert!(failure(&["spans", &input, "--pprof"]).contains("-o spans.pb.gz"));
    assert!(failure(&["spans", &input, "--flame", "folded", "-o", &input]).contains("never changes its inputs"));
    assert!(failure(&["spans", &input, "-o", &at("x")]).contains("--flame"));
    assert_eq!(rankscope(&["spans", &input, "--pprof", "--top", "3"]).status.code(), Some(2));
}

#[test]
fn a_report_on_a_program_that_trains_nothing_points_to_its_spans() {
    let (folder, path) = program();
    let out = folder.path().join("report").display().to_string();
    let output = rankscope(&["report", &path.display().to_string(), "--out", &out]);
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    assert!(text.contains("not the trace of a training job") && text.contains("rankscope spans"), "{text}");
    assert!(!text.contains("computation") && !text.contains("WHO IS LATE"), "{text}");
    assert_eq!(report(&path, &[])["cautions"][0]["kind"], "not_training");
    let one_rank = report(&fixture("torch-gloo-4ranks").join("rank0.json.gz"), &[]);
    assert!(one_rank["cautions"].as_array().expect("cautions").iter().all(|caution| caution["kind"] != "not_training"));
}
