//! What `compare` writes: the document, the page and the workbooks.

use std::fs;
use std::path::{Path, PathBuf};

use calamine::{Data, DataType as _, Reader, Xlsx, open_workbook};
use serde_json::Value;

use crate::common::rankscope;
use crate::map_merge::text;

fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch-gloo-4ranks")
}

/// Compares the fixture with a report of itself, with `more` options.
fn compared(folder: &Path, more: &[&str]) -> Value {
    let (base, report) = (traces(), folder.join("report"));
    let made = rankscope(&["report", text(&base), "--tables", "all", "--no-timeline", "--out", text(&report)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let test = report.join("report.json");
    let out = rankscope(&[&["compare", text(&base), text(&test), "--format", "json"], more].concat());
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

const WORKBOOKS: [&str; 5] = [
    "gpu_timeline_combined.xlsx",
    "gpu_timeline_comparison.xlsx",
    "collective_combined.xlsx",
    "collective_comparison.xlsx",
    "final_analysis_report.xlsx",
];

#[test]
fn a_run_beside_itself_differs_in_nothing_and_leaves_every_file() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let (out, one, theirs) = (folder.path().join("out"), folder.path().join("one.xlsx"), folder.path().join("theirs"));
    let files = ["--out", text(&out), "--xlsx", text(&one), "--layout", "aorta", "--tracelens", text(&theirs)];
    let document = compared(folder.path(), &files);
    for row in document["side_by_side"][0]["ranks"].as_array().expect("rows") {
        assert_eq!(row["time"]["diff"].as_f64(), Some(0.0), "{row}");
    }
    for name in ["compare.json", "compare.html"].iter().chain(&WORKBOOKS) {
        assert!(out.join(name).metadata().is_ok_and(|file| file.len() > 1000), "{name}");
    }
    let written: Value = serde_json::from_slice(&fs::read(out.join("compare.json")).expect("read")).expect("JSON");
    assert_eq!(written, document, "the file is what is printed");
    let page = fs::read_to_string(out.join("compare.html")).expect("read");
    assert!(page.contains("<a href=\"../report/report.html\">Report of "), "the test was read from a report, which has a page");
    assert_eq!(page.matches(">Report of ").count(), 1, "the base has none");
    let mut book: Xlsx<_> = open_workbook(out.join("gpu_timeline_comparison.xlsx")).expect("a workbook");
    let rows = book.worksheet_range("Comparison_By_Rank").expect("a sheet");
    let percent = rows
        .rows()
        .next()
        .expect("headers")
        .iter()
        .position(|header| header.get_string() == Some("percent_change"))
        .expect("a column");
    assert_eq!(rows.height(), 4 * 8 + 1);
    assert!(rows.rows().skip(1).all(|row| row[percent] == Data::Float(0.0)));
    let of_rank = |rank: u32| fs::read_dir(theirs.join(format!("rank{rank}"))).expect("a folder of the rank").count();
    assert_eq!((0..4).map(of_rank).collect::<Vec<_>>(), [1; 4]);
    assert_eq!(fs::read_dir(&theirs).expect("a folder").count(), 4);
}

#[test]
fn the_same_runs_give_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    for out in [&first, &second] {
        compared(folder.path(), &["--out", text(out), "--layout", "aorta", "--convention", "aorta"]);
    }
    for name in WORKBOOKS {
        assert!(fs::read(first.join(name)).expect("read") == fs::read(second.join(name)).expect("read"), "{name}");
    }
}
