//! `report --xlsx` and `--layout`: workbooks beside the report they are of.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use calamine::{Data, Reader, Xlsx, open_workbook};
use serde_json::Value;

use crate::common::{corpus, failure, rankscope, write_job};
use crate::map_merge::{job, mapped, text};

type Book = Xlsx<std::io::BufReader<fs::File>>;

/// The report as JSON and as a workbook.
fn both(traces: &Path, more: &[&str]) -> (Value, Book, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("report.xlsx");
    let output = rankscope(&[&["report", text(traces), "--format", "json", "--partial", "--xlsx", text(&path)], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let book = open_workbook(&path).expect("a workbook");
    (serde_json::from_slice(&output.stdout).expect("JSON"), book, folder)
}

fn rows(book: &mut Book, sheet: &str) -> Vec<Vec<Data>> {
    let range = book.worksheet_range(sheet).unwrap_or_else(|error| panic!("{sheet}: {error}"));
    range.rows().map(<[Data]>::to_vec).collect()
}

/// Whether any cell of `row` says `value`, in the unit of its column.
fn says(row: &[Data], value: &Value) -> bool {
    let is = |shown: f64, wanted: f64| (shown - wanted).abs() <= 1e-9 * wanted.abs();
    match value {
        Value::Number(number) => {
            let (text, number) = (number.to_string(), number.as_f64().expect("a number"));
            let units = [1.0, 1e3, 1e6, 1e9, 1_048_576.0, 0.01];
            row.iter().any(|cell| match cell {
                Data::Float(shown) => units.iter().any(|unit| is(*shown, number / unit)),
                cell => cell.to_string() == text,
            })
        }
        Value::String(text) => row.iter().any(|cell| cell.to_string().trim_end() == text.trim_end()),
        Value::Bool(is) => row.contains(&Data::Bool(*is)),
        // Lists are joined, objects have columns of their own, and null is an empty cell.
        _ => true,
    }
}

/// The rows of every table of `document`, by the name of its sheet, each with the rank it is of.
fn tables(document: &Value) -> BTreeMap<String, Vec<(Option<&Value>, &Value)>> {
    let of_ranks = document["ranks"].as_array().expect("ranks").iter().map(|rank| (Some(&rank["rank"]), &rank["tables"]));
    let of_job = document.as_object().expect("a document").iter().filter(|(key, _)| key.ends_with("tables"));
    let mut all = BTreeMap::<String, Vec<_>>::new();
    for (rank, tables) in of_ranks.chain(of_job.map(|(_, tables)| (None, tables))) {
        for (name, table) in tables.as_object().expect("tables") {
            let rows = match table {
                Value::Array(rows) => rows.iter().collect(),
                Value::Object(_) => vec![table],
                _ => continue,
            };
            let sheet = if name == "gemm" { "gemm_summary" } else { name };
            all.entry(sheet.to_owned()).or_default().extend(rows.into_iter().map(|row| (rank, row)));
        }
    }
    all
}

/// Every figure and every name of every table of `document` is in the row of its sheet.
fn assert_nothing_is_lost(document: &Value, book: &mut Book) {
    let tables = tables(document);
    assert!(tables.values().filter(|rows| !rows.is_empty()).count() > 5, "{:?}", tables.keys());
    for (sheet, wanted) in tables.iter().filter(|(_, rows)| !rows.is_empty()) {
        let cells = rows(book, sheet);
        assert_eq!(cells.len(), wanted.len() + 1, "{sheet}");
        for (cells, (rank, row)) in cells[1..].iter().zip(wanted) {
            assert!(rank.is_none_or(|rank| says(&cells[..1], rank)), "{sheet}: {cells:?}");
            for (key, value) in row.as_object().into_iter().flatten() {
                assert!(says(cells, value), "{key} {value} in {sheet}: {cells:?}");
            }
        }
    }
}

#[test]
fn every_table_is_in_the_workbook_row_by_row() {
    let directory = write_job(&job());
    let (document, mut book, _folder) = both(directory.path(), &["--tables", "all"]);
    assert_eq!(book.sheet_names()[0], "Summary");
    assert_nothing_is_lost(&document, &mut book);
    let Some(corpus) = corpus() else { return };
    let trace = corpus.join("traces/kineto/mi300x_resnet_act_checkpoint.json.gz");
    let (document, mut book, _folder) = both(&trace, &["--tables", "all"]);
    assert_nothing_is_lost(&document, &mut book);
    assert!(book.sheet_names().iter().any(|name| name == "CONV_fwd"));
}

#[test]
fn a_workbook_leaves_the_document_as_it_is_and_is_written_again_alike() {
    let directory = write_job(&job());
    let (plain, _book, first) = both(directory.path(), &[]);
    assert!(plain["ranks"][0].get("tables").is_none(), "tables are for the workbook alone");
    let (_, _book, second) = both(directory.path(), &[]);
    let bytes = |folder: &tempfile::TempDir| fs::read(folder.path().join("report.xlsx")).expect("written");
    assert!(bytes(&first) == bytes(&second), "the same bytes");
}

#[test]
fn without_whole_traces_there_are_no_tables_and_the_workbook_says_why() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let cases: [(&Path, &[&str], &str); 2] = [
        (parts.path(), &[], "the parts were made without"),
        (directory.path(), &["--gpu-only"], "--gpu-only leaves operators out"),
    ];
    for (traces, more, why) in cases {
        let (_, mut book, _folder) = both(traces, more);
        let names = book.sheet_names();
        assert!(names.contains(&"collectives".to_owned()) && !names.contains(&"ops_summary".to_owned()), "{names:?}");
        let said = rows(&mut book, "Summary").iter().flatten().any(|cell| cell.to_string().contains(why));
        assert!(said, "{why}");
    }
}

#[test]
fn a_layout_goes_below_out_and_never_into_the_run() {
    let run = tempfile::tempdir().expect("a temporary directory");
    let job = job();
    for rank in 0..job.ranks {
        let folder = run.path().join(format!("56cu_256threads/torch_profiler/rank{rank}"));
        fs::create_dir_all(&folder).expect("made");
        fs::write(folder.join("trace.json"), job.rank_bytes(rank, &rankscope_testkit::Dialect::default())).expect("written");
    }
    let config = run.path().join("56cu_256threads");
    let before = listed(&config);
    let out = tempfile::tempdir().expect("a temporary directory");
    let output = rankscope(&["report", text(&config), "--layout", "aorta", "--no-timeline", "--out", text(out.path())]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(listed(&config), before, "inputs stay as they are");
    let tree = out.path().join("tracelens_analysis");
    let mut book: Book = open_workbook(tree.join("individual_reports/perf_rank3.xlsx")).expect("a workbook");
    assert_eq!(rows(&mut book, "gpu_timeline")[0], ["type", "time ms", "percent"].map(|text| Data::String(text.to_owned())));
    let mut book: Book = open_workbook(tree.join("gpu_timeline_summary_mean.xlsx")).expect("a workbook");
    assert_eq!(rows(&mut book, "All_Ranks_Combined").len(), 1 + 8 * job.ranks as usize);
    let _: Book = open_workbook(tree.join("gpu_timeline_summary_geomean.xlsx")).expect("a workbook");
    let mut book: Book = open_workbook(tree.join("collective_reports/collective_all_ranks.xlsx")).expect("a workbook");
    assert_eq!(rows(&mut book, "straggler_summary").len(), 1 + job.ranks as usize);
}

#[test]
fn a_workbook_that_cannot_be_written_is_named() {
    let directory = write_job(&job());
    let path = directory.path().join("rank0.json/report.xlsx");
    let said = failure(&["report", text(directory.path()), "--format", "json", "--xlsx", text(&path)]);
    assert!(said.contains("report.xlsx"), "{said}");
}

/// The files below `folder`.
fn listed(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                names.push(path.display().to_string());
            }
        }
    }
    names.sort();
    names
}
