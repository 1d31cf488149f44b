//! What a report says where there is little room: a terminal of 80 columns, a comment on a pull request.

use std::fs;
use std::path::{Path, PathBuf};

use rankscope_document::Document;
use rankscope_report::{Style, terminal};
use unicode_width::UnicodeWidthStr;

use crate::common::{corpus, fixture, rankscope, report};

fn assert_fits(traces: &Path) {
    let document: Document = serde_json::from_value(report(traces, &["--partial"])).expect("a report");
    for line in terminal(&document, Style { color: false, width: 80 }).lines() {
        assert!(line.width() <= 80, "{}: {} columns: {line}", traces.display(), line.width());
    }
}

#[test]
fn the_summary_of_every_fixture_fits_80_columns() {
    for name in ["torch-gloo-4ranks", "jax-cpu-2procs"] {
        assert_fits(&fixture(name));
    }
}

#[test]
fn the_summary_of_every_job_of_the_corpus_fits_80_columns() {
    let Some(corpus) = corpus() else { return };
    let jobs: Vec<PathBuf> = ["jobs/fsdp", "jobs/pp", "jobs/jax", "traces/torch-gloo-4ranks", "traces/jax-cpu-2procs"]
        .map(|name| corpus.join(name))
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    assert!(!jobs.is_empty());
    jobs.iter().for_each(|job| assert_fits(job));
}

#[test]
fn markdown_goes_into_a_file_beside_the_summary_or_in_its_place() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let (traces, file) = (fixture("torch-gloo-4ranks").display().to_string(), out.path().join("report.md"));
    let file_name = file.display().to_string();
    let folder = out.path().join("report").display().to_string();
    let both = rankscope(&["report", &traces, "--out", &folder, "--no-timeline", "--markdown", &file_name]);
    assert!(both.status.success(), "{}", String::from_utf8_lossy(&both.stderr));
    assert!(String::from_utf8_lossy(&both.stdout).contains("WHERE THE TIME GOES"));
    assert!(String::from_utf8_lossy(&both.stderr).contains(&file_name));
    let printed = rankscope(&["report", &traces, "--out", &folder, "--no-timeline", "--md", "-"]);
    let text = String::from_utf8(printed.stdout).expect("text");
    assert!(text.starts_with("### rankscope: `") && text.contains("#### Where the time goes"), "{text}");
    assert_eq!(fs::read_to_string(file).expect("written"), text);
}

#[test]
fn markdown_has_no_place_beside_json_or_a_table() {
    let traces = fixture("torch-gloo-4ranks").display().to_string();
    for (more, why) in [(&["--format", "json"][..], "both go to stdout"), (&[], "TABLE")] {
        let first = if more.is_empty() { vec!["report", "ops", &traces] } else { vec!["report", &traces] };
        let output = rankscope(&[&first[..], &["--md", "-"], more].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
