//! More rows than a sheet takes, and names that Excel does not.

use calamine::Data;
use rankscope_xlsx::Options;
use serde_json::json;

use crate::read::{Read, job, operator};

#[test]
fn rows_beyond_a_sheet_go_on_in_the_next_one_and_the_dashboard_says_so() {
    let rows: Vec<_> = (0..25).map(|i| operator(&format!("op{i}"), 1_000_000)).collect();
    let document = job(1, &json!({"ops_summary": rows}));
    let mut book = Read::with(&document, Options::default().with_rows(10));
    let parts = ["ops_summary", "ops_summary (2)", "ops_summary (3)"];
    let lengths: Vec<_> = parts.iter().map(|part| book.column(part, "name").len()).collect();
    assert_eq!(lengths, [10, 10, 5]);
    assert_eq!(book.headers(parts[0]), book.headers(parts[2]), "every part has headers");
    assert_eq!(book.column(parts[2], "name")[4], Data::String("op24".to_owned()));
    assert_eq!(book.column(parts[2], "Cumulative Percentage (%)")[4], Data::Float(100.0), "of all parts");
    assert!(book.text("Summary").contains("part 3 of 3"));
    assert!(!Read::of(&document).names().contains(&parts[1].to_owned()));
}

#[test]
fn names_of_sheets_fit_and_differ_in_more_than_case() {
    let model = |model: &str| json!({"name": "op", "category": "c", "model": model, "count": 1, "kernel_ns": 1});
    let models = ["gemm", "Gemm", "a/b:c*?[d]\\e", "a model with a name much longer than thirty-one characters", "summary"];
    let rows: Vec<_> = models.map(model).into();
    let names = Read::of(&job(1, &json!({"unified_perf_summary": rows}))).names();
    let mut lower: Vec<_> = names.iter().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), names.len(), "{names:?}");
    for name in &names {
        assert!(name.chars().count() <= 31 && !name.contains(['/', ':', '*', '?', '[', ']', '\\']), "{name}");
    }
    assert_eq!(names.iter().filter(|name| name.to_lowercase().starts_with("gemm")).count(), 2, "{names:?}");
}
