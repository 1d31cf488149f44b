//! Which sheets there are, what they are called, and what is in them.

use calamine::Data;
use rankscope_document::{Document, Note, NoteLevel, TableNote};
use rankscope_xlsx::{NoTables, Options};
use serde_json::json;

use crate::read::{Read, bytes, inside, job, operator};

#[test]
fn a_table_that_tracelens_has_goes_by_its_headers_and_units() {
    let rows = json!({"ops_summary": [operator("aten::mm", 3_000_000), operator("aten::add", 1_000_000)]});
    let mut book = Read::of(&job(2, &rows));
    assert_eq!(
        book.headers("ops_summary"),
        [
            "rank",
            "name",
            "total_direct_kernel_time_sum",
            "total_subtree_kernel_time_sum",
            "total_direct_kernel_time_ms",
            "total_subtree_kernel_time_ms",
            "Count",
            "Categories",
            "Percentage (%)",
            "Cumulative Percentage (%)",
            "kernel_sum (ms)",
        ]
    );
    assert_eq!(book.column("ops_summary", "rank"), [0.0, 0.0, 1.0, 1.0].map(Data::Float));
    assert_eq!(book.column("ops_summary", "total_direct_kernel_time_sum")[..2], [3_000.0, 1_000.0].map(Data::Float));
    assert_eq!(book.column("ops_summary", "total_direct_kernel_time_ms")[..2], [3.0, 1.0].map(Data::Float));
    // Percentages are of one rank.
    assert_eq!(book.column("ops_summary", "Percentage (%)"), [75.0, 25.0, 75.0, 25.0].map(Data::Float));
    assert_eq!(book.column("ops_summary", "Cumulative Percentage (%)"), [75.0, 100.0, 75.0, 100.0].map(Data::Float));
}

#[test]
fn a_table_without_headers_of_its_own_goes_by_its_keys() {
    let tables = json!({
        "queue": [{"stream": "7", "count": 3, "most": 2, "mean": 0.5, "waited_ns": 1_500_000, "window_ns": 9_007_199_254_740_993_i64, "blocked_ns": 0}],
        "overlap": {"comm_ns": 4_000_000, "hidden_ns": 1_000_000, "share": 0.25,
            "kernels": [{"name": "nccl", "count": 1, "comm_ns": 4_000_000, "hidden_ns": 1_000_000, "share": null}]},
        "sequences": [{"names": ["a", "b"], "count": 2, "kernel_ns": 10}],
    });
    let mut book = Read::of(&job(1, &tables));
    let headers = ["rank", "stream", "count", "most", "mean", "waited (ms)", "window_ns", "blocked (ms)"];
    assert_eq!(book.headers("queue"), headers);
    assert_eq!(book.column("queue", "waited (ms)"), [Data::Float(1.5)]);
    let exact = Data::String("9007199254740993".to_owned());
    assert_eq!(book.column("queue", "window_ns"), [exact], "what a cell would round is text");
    assert_eq!(book.column("overlap", "share"), [Data::Float(0.25)]);
    assert_eq!(book.column("overlap_kernels", "share"), [Data::Empty], "what is not known is no zero");
    assert_eq!(book.column("sequences", "names"), [Data::String("a > b".to_owned())]);
}

#[test]
fn operators_with_a_model_have_a_sheet_for_each_sort() {
    let row = |name: &str, model: &str| {
        json!({"name": name, "category": "GEMM", "model": model, "count": 4, "kernel_ns": 8_000, "flops": 2_000_000_000_u64,
            "bytes": 1_048_576, "roofline_share": 0.5, "saved_ns": 4_000_000})
    };
    let mut plain = row("aten::copy_", "");
    plain["model"] = json!(null);
    plain["flops"] = json!(null);
    let rows = json!([row("aten::mm", "gemm"), row("aten::_softmax_backward_data", "softmax"), plain]);
    let mut book = Read::of(&job(1, &json!({"unified_perf_summary": rows})));
    assert_eq!(book.column("GEMM", "GFLOPS_first"), [Data::Float(2.0)]);
    assert_eq!(book.column("GEMM", "Data Moved (MB)_first"), [Data::Float(1.0)]);
    assert_eq!(book.column("GEMM", "Kernel Time (µs)_mean"), [Data::Float(2.0)]);
    assert_eq!(book.column("GEMM", "Pct Roofline_mean"), [Data::Float(50.0)]);
    assert_eq!(book.column("Reduce_bwd", "time that could be saved (ms)"), [Data::Float(4.0)]);
    let has: Vec<_> = book.column("unified_perf_summary", "has_perf_model");
    assert_eq!(has, [true, true, false].map(Data::Bool));
}

#[test]
fn the_dashboard_comes_first_and_names_every_other_sheet() {
    let mut document = job(2, &json!({"ops_summary": [operator("aten::mm", 3_000_000)], "copies": []}));
    let note = |level, text: &str| Note { level, text: text.to_owned() };
    document.notes = vec![
        note(NoteLevel::Problem, "a file is cut"),
        note(NoteLevel::Finding, "No rank stands out as late over 6 collectives."),
    ];
    let mut book = Read::of(&document);
    let names = book.names();
    assert_eq!(names[0], "Summary");
    let text = book.text("Summary");
    for name in &names[1..] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{name}\t"))), "{name} in {text}");
    }
    assert!(text.contains("without rows\t") && text.contains("copies"), "{text}");
    assert_eq!(text.matches("stands out").count(), 1, "said once: {text}");
    assert!(text.find("finding\t").unwrap() < text.find("problem\ta file is cut").unwrap(), "answers first: {text}");
    assert!(text.contains("aten::mm"), "what costs most: {text}");
}

#[test]
fn bars_begin_at_zero() {
    let bytes = bytes(&job(2, &json!({"ops_summary": [operator("aten::mm", 3_000_000)]})), Options::default());
    assert!(inside(bytes.clone(), "xl/charts/chart1.xml").contains("<c:min val=\"0\"/>"), "those of the chart");
    let summary = inside(bytes, "xl/worksheets/sheet1.xml");
    assert!(summary.contains("<cfvo type=\"num\" val=\"0\"/>"), "those behind numbers");
    assert!(!summary.contains("colorScale"), "no colours by the extremes of a column");
}

#[test]
fn products_without_a_known_device_are_sorted_by_time() {
    let product = |k: u64, kernel_ns: i64, roofline_share: Option<f64>| {
        json!({"name": "aten::mm", "m": 1, "n": 1, "k": k, "batch": 1, "dtype": "float", "count": 1, "flops": 2, "bytes": 3,
            "kernel_ns": kernel_ns, "roofline_share": roofline_share})
    };
    let text = |share| {
        let rows = json!({"gemm": [product(11, 1_000_000, share), product(22, 4_000_000, share.map(|_| 1.0))]});
        Read::of(&job(1, &rows)).text("Summary")
    };
    let (unknown, known) = (text(None), text(Some(0.5)));
    let first = |text: &str, a: &str, b: &str| text.find(a).unwrap() < text.find(b).unwrap();
    assert!(unknown.contains("no peak rate is known for them") && !unknown.contains("could be saved"));
    assert!(first(&unknown, "\t22\t", "\t11\t"), "most time first: {unknown}");
    assert!(first(&known, "\t11\t", "\t22\t"), "most to save first: {known}");
}

#[test]
fn a_workbook_without_tables_says_why() {
    let mut document = job(1, &json!({}));
    document.ranks[0].tables = None;
    for (why, word) in
        [(NoTables::Parts, "the parts were made without"), (NoTables::DeviceOnly, "--gpu-only"), (NoTables::OneStep, "--step")]
    {
        let mut book = Read::with(&document, Options::default().with_no_tables(Some(why)));
        let text = book.text("Summary");
        assert!(text.contains(word), "{text}");
        assert!(book.names().contains(&"gpu_timeline".to_owned()));
    }
}

#[test]
fn the_same_document_gives_the_same_bytes() {
    let document = job(3, &json!({"ops_summary": [operator("aten::mm", 3_000_000)]}));
    assert_eq!(bytes(&document, Options::default()), bytes(&document, Options::default()));
}

#[test]
fn a_document_of_nothing_is_a_workbook() {
    let mut book = Read::of(&Document::default());
    assert_eq!(book.names(), ["Summary"]);
    assert!(book.text("Summary").contains("rankscope report"));
}

#[test]
fn what_the_tables_of_every_rank_lack_is_one_line_of_the_dashboard() {
    let mut document = job(64, &json!({"ops_summary": [operator("aten::mm", 1_000)]}));
    for rank in &mut document.ranks {
        let text = format!("The trace does not say what launched {} of its 500 kernels.", 3 + rank.rank);
        let note = TableNote { about: "attribution".to_owned(), text };
        rank.tables.iter_mut().for_each(|tables| tables.notes.push(note.clone()));
    }
    let text = Read::of(&document).text("Summary");
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("does not say what launched")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].contains("Tables of every rank: The trace does not say what launched 3 to 66 of its 500 kernels."),
        "{lines:?}"
    );
}
