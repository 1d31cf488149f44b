//! Columns that are made of a document's keys, by what their names end in and by what is in them.

use rankscope_document::{PARAMS, Rows, Value};

use super::figure::Line;
use crate::column::{Cell, Column, Kind};

/// A column for each key of `rows` that is not `named`, in their order.
pub(super) fn columns<'a>(rows: &Rows, lines: &[Line<'a>], named: impl Fn(&str) -> bool) -> Vec<Column<'a, Line<'a>>> {
    let unnamed = rows.columns.iter().enumerate().filter(|(_, key)| !named(key) && *key != PARAMS);
    unnamed.map(|(at, key)| column(key, at, lines)).collect()
}

/// The column of `key`, which is at `at` of each row.
fn column<'a>(key: &str, at: usize, lines: &[Line<'a>]) -> Column<'a, Line<'a>> {
    let values = || lines.iter().map(|line| &line.row.values[at]);
    if values().any(is_beyond) {
        return Column::new(key.to_owned(), Kind::Text(20), move |line: &Line<'_>| exact(&line.row.values[at]));
    }
    let (header, kind) = heading(key, values());
    Column::new(header, kind, move |line: &Line<'_>| cell(&line.row.values[at]))
}

/// Characters of a column of text: those of its first values, within these.
const NARROWEST: usize = 10;
const WIDEST: usize = 60;
/// Values that are looked at for it.
const LOOKED_AT: usize = 200;

fn heading<'a>(key: &str, values: impl Iterator<Item = &'a Value> + Clone) -> (String, Kind) {
    if values.clone().any(|value| matches!(value, Value::Text(_) | Value::List(_) | Value::Object(_))) {
        let width = values.take(LOOKED_AT).map(width).max().unwrap_or(0).clamp(NARROWEST, WIDEST);
        return (key.to_owned(), Kind::Text(u16::try_from(width).unwrap_or(60)));
    }
    if let Some((unit, kind)) = time(key) {
        return (format!("{} ({unit})", key.replace("_ns", "")), kind);
    }
    let word = key.rsplit(['_', '.']).next().unwrap_or(key);
    let kind = match word {
        "rank" | "step" | "peer" | "node" | "index" => Kind::Id,
        "share" => Kind::Share,
        _ if values.clone().any(|value| matches!(value, Value::Float(_))) => Kind::Rate,
        _ => Kind::Count,
    };
    (key.to_owned(), kind)
}

/// The unit of a key that ends in `_ns`, also where it is one of an object's: what is of one event in microseconds, sums in
/// milliseconds.
fn time(key: &str) -> Option<(&'static str, Kind)> {
    if !key.split('.').any(|part| part.ends_with("_ns")) {
        return None;
    }
    const OF_ONE: [&str; 8] = ["mean", "median", "min", "max", "std", "p50", "p90", "p99"];
    let is_of_one = key.split(['_', '.']).any(|word| OF_ONE.contains(&word));
    Some(if is_of_one { ("µs", Kind::Us) } else { ("ms", Kind::Ms) })
}

fn width(value: &Value) -> usize {
    match cell(value) {
        Cell::Text(text) => text.chars().count(),
        _ => 0,
    }
}

/// Beyond this, a cell rounds integers.
const EXACT: u64 = 1 << 53;

fn is_beyond(value: &Value) -> bool {
    match *value {
        Value::Integer(number) => number.unsigned_abs() > EXACT,
        Value::Unsigned(number) => number > EXACT,
        _ => false,
    }
}

/// The cell of `value` where all digits count.
fn exact(value: &Value) -> Cell<'_> {
    match value {
        Value::Integer(number) => Cell::text(number.to_string()),
        Value::Unsigned(number) => Cell::text(number.to_string()),
        other => cell(other),
    }
}

/// The cell of `value`, in the document's unit.
pub(super) fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Empty,
        Value::Bool(is) => Cell::Bool(*is),
        Value::Integer(number) => Cell::Number(*number as f64),
        Value::Unsigned(number) => Cell::Number(*number as f64),
        Value::Float(number) => Cell::Number(*number),
        Value::Text(text) => Cell::text(text),
        Value::List(_) | Value::Object(_) => Cell::text(written(value)),
    }
}

/// `value` in words: names of a sequence follow each other, everything else is listed.
fn written(value: &Value) -> String {
    match value {
        Value::List(items) => {
            let between = if items.iter().all(|item| matches!(item, Value::Text(_))) { " > " } else { ", " };
            items.iter().map(written).collect::<Vec<_>>().join(between)
        }
        other => bracketed(other),
    }
}

/// `value` in words, its lists in brackets, as parameters are written.
fn bracketed(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(is) => is.to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::List(items) => format!("({})", items.iter().map(bracketed).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", bracketed(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The column of the parameter `key` of the object at `at` of each row.
pub(super) fn param<'a>(key: &str, at: usize, lines: &[Line<'a>]) -> Column<'a, Line<'a>> {
    fn of<'v>(value: &'v Value, key: &str) -> &'v Value {
        let Value::Object(params) = value else { return &Value::Null };
        params.iter().find(|(name, _)| name == key).map_or(&Value::Null, |(_, value)| value)
    }
    let is_text = |value: &Value| matches!(value, Value::Text(_) | Value::List(_) | Value::Object(_));
    let is_text = lines.iter().any(|line| is_text(of(&line.row.values[at], key)));
    let (header, key) = (format!("param: {key}"), key.to_owned());
    let kind = if is_text { Kind::Text(20) } else { Kind::Count };
    Column::new(header, kind, move |line: &Line<'_>| match of(&line.row.values[at], &key) {
        list @ Value::List(_) => Cell::text(bracketed(list)),
        other => cell(other),
    })
}
