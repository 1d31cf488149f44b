//! The rows for a spreadsheet: one header, then every row that the document holds.

use std::fmt::Write;

use rankscope_align::CsvText;
use rankscope_document::{SpansDocument, SpansRow};

const HEADER: &str = "kind,process,thread,name,category,count,unfinished,total_ns,self_ns,p50_ns,p99_ns,max_ns,threads\n";

pub(super) fn text(document: &SpansDocument) -> String {
    let mut text = HEADER.to_owned();
    document.spans.iter().for_each(|row| push(&mut text, "span", row));
    document.async_spans.iter().for_each(|row| push(&mut text, "async", row));
    text
}

fn push(text: &mut String, kind: &str, row: &SpansRow) {
    let cell = |text: Option<&str>| CsvText(text.unwrap_or("")).to_string();
    let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
    let _strings_take_any_write = writeln!(
        text,
        "{kind},{},{},{},{},{},{},{},{},{},{},{},{}",
        cell(row.process.as_deref()),
        cell(row.thread.as_deref()),
        cell(Some(&row.name)),
        cell(Some(&row.category)),
        row.count,
        row.unfinished,
        row.total_ns,
        number(row.self_ns),
        row.p50_ns,
        row.p99_ns,
        row.max_ns,
        number(row.threads.map(u64::cast_signed)),
    );
}
