//! Text that other programs might take for something else.

use calamine::Data;
use serde_json::json;

use crate::read::{Read, job, operator};

#[test]
fn text_that_looks_like_a_formula_is_text() {
    let names =
        ["=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)", "=HYPERLINK(\"http://a.example\")", "1e5", "TRUE", "http://a.example"];
    let rows: Vec<_> = names.iter().map(|name| operator(name, 1)).collect();
    let mut book = Read::of(&job(1, &json!({"ops_summary": rows})));
    assert_eq!(book.column("ops_summary", "name"), names.map(|name| Data::String(name.to_owned())));
    let formulas = book.formulas("ops_summary");
    assert_eq!(formulas, 0);
    assert_eq!(book.formulas("Summary"), 0);
}

#[test]
fn any_text_can_be_in_a_cell_and_in_the_title() {
    let names = ["\u{0}\u{1}\u{1f}", "a\tb\nc\r\n", "\u{fffe}\u{ffff}", "<&>\"'", "_x0041_", "𝄞é漢", " lead and trail ", ""];
    let rows: Vec<_> = names.iter().map(|name| operator(name, 1)).collect();
    let mut document = job(1, &json!({"ops_summary": rows}));
    document.title = names.concat();
    let mut book = Read::of(&document);
    let cells = book.column("ops_summary", "name");
    assert_eq!(cells.len(), names.len());
    for (cell, name) in cells.iter().zip(names).skip(3).take(2) {
        assert_eq!(cell.to_string(), name);
    }
    assert_eq!(cells[5].to_string(), names[5]);
    assert_eq!(cells[6].to_string(), names[6]);
}

#[test]
fn text_longer_than_a_cell_is_cut_and_says_so() {
    let long = "é".repeat(40_000);
    let mut book = Read::of(&job(1, &json!({"ops_summary": [operator(&long, 1)]})));
    let cell = book.column("ops_summary", "name")[0].to_string();
    assert!(cell.ends_with('…') && cell.chars().count() == 32_767, "{}", cell.chars().count());
}
