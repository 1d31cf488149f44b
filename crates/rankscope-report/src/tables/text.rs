//! A table on a terminal: text from the left, figures from the right, and what does not fit named below.

use serde_json::Value;

use super::front::ordered;
use super::{PARAM, RANK, TableView};
use crate::Style;
use crate::terminal::{Sheet, Table, joined};
use crate::text::{clean, shorten, width_of, wrap};
use crate::units::{ABSENT, bytes, duration};

impl TableView {
    /// The first `top` rows as text of at most `style.width` columns, ending in a line break.
    pub fn text(&self, title: &str, top: usize, style: Style) -> String {
        self.text_beside(title, top, style, "--csv")
    }

    /// The same; columns that do not fit can be had with `option`.
    pub(crate) fn text_beside(&self, title: &str, top: usize, style: Style, option: &str) -> String {
        let sheet = Sheet::of(style);
        let title = shorten(&clean(title), sheet.width().saturating_sub(width_of(&self.name) + 20));
        let mut lines = vec![sheet.heading(&self.name.to_uppercase(), &title)];
        if self.rows.is_empty() {
            lines.push("  No rows: the traces hold nothing that this table is about.".to_owned());
            return joined(vec![lines]);
        }
        let shown = &self.rows[..top.min(self.rows.len())];
        let is_text = |at: &usize| {
            let is_text = |row: &Vec<Value>| row[*at].is_string() || row[*at].is_array();
            !self.columns[*at].starts_with(PARAM) && shown.iter().any(is_text)
        };
        let (mut texts, mut figures): (Vec<usize>, Vec<usize>) = self.drawn(shown).into_iter().partition(is_text);
        let of = |columns: &[usize], left: usize| {
            let mut table = Table::new(&columns.iter().map(|at| heading(&self.columns[*at])).collect::<Vec<_>>(), left);
            shown.iter().for_each(|row| table.push(columns.iter().map(|at| cell(&self.columns[*at], &row[*at])).collect()));
            table
        };
        // What does not fit is named below: text that says ever less first, then figures.
        let mut left_out = Vec::new();
        let names_width = |texts: &[usize]| {
            let least = name_width_min(texts.len());
            texts.iter().map(|at| of(&[*at], 1).width().min(least) + 2).sum::<usize>()
        };
        while figures.len() > 1 && of(&figures, 0).width() + names_width(&texts) + 4 > sheet.width() {
            left_out.extend(if texts.len() > TEXTS_MAX { texts.pop() } else { figures.pop() });
        }
        let figures = of(&figures, 0);
        let room = sheet.width().saturating_sub(figures.width() + 4);
        let texts = self.names(shown, &texts, room);
        let ((text_header, text_lines), (header, figure_lines)) = (texts.lines(), figures.lines());
        lines.push(format!("  {}", sheet.paint().dim(&format!("{text_header}  {header}"))));
        lines.extend(text_lines.iter().zip(&figure_lines).map(|(text, figures)| format!("  {text}  {figures}")));
        if shown.len() < self.rows.len() {
            let more = self.rows.len() - shown.len();
            lines.push(format!("  {}", sheet.paint().dim(&format!("and {more} more; --top {} shows all", self.rows.len()))));
        }
        if !left_out.is_empty() {
            left_out.sort_unstable();
            let names: Vec<&str> = left_out.iter().map(|at| self.columns[*at].as_str()).collect();
            let text = format!("more columns with {option}: {}", named_in_short(&names));
            lines.extend(wrap(&text, sheet.width() - 2).into_iter().map(|line| format!("  {}", sheet.paint().dim(&line))));
        }
        joined(vec![lines])
    }

    /// The columns worth drawing: those that say anything that no other says, and the rank where there are several.
    fn drawn(&self, rows: &[Vec<Value>]) -> Vec<usize> {
        let is_column = |param: &str| self.columns.iter().any(|own| own.eq_ignore_ascii_case(param));
        let is_new = |at: &usize| !self.columns[*at].strip_prefix(PARAM).is_some_and(is_column);
        let says = |at: &usize| match self.columns[*at].as_str() {
            RANK => self.rows.iter().any(|row| row[*at] != self.rows[0][*at]),
            _ => rows.iter().any(|row| !row[*at].is_null()),
        };
        ordered(&self.name, &self.columns).into_iter().filter(|at| is_new(at) && says(at)).collect()
    }

    /// The columns of text within `room` columns, the widest cut first.
    fn names(&self, rows: &[Vec<Value>], columns: &[usize], room: usize) -> Table {
        let texts = |at: usize| rows.iter().map(move |row| cell(&self.columns[at], &row[at]));
        let mut widths: Vec<usize> = columns
            .iter()
            .map(|at| texts(*at).map(|text| width_of(&text)).max().unwrap_or(0).max(width_of(heading(&self.columns[*at]))))
            .collect();
        let (gaps, least) = (2 * columns.len().saturating_sub(1), name_width_min(columns.len()));
        while widths.iter().sum::<usize>() + gaps > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > least) else { break };
            *widest -= 1;
        }
        let mut table = Table::new(&columns.iter().map(|at| heading(&self.columns[*at])).collect::<Vec<_>>(), columns.len());
        for row in rows {
            let cells = columns.iter().zip(&widths).map(|(at, width)| shorten(&cell(&self.columns[*at], &row[*at]), *width));
            table.push(cells.collect());
        }
        table
    }
}

/// The names of `columns`; of many parameters how many there are.
fn named_in_short(columns: &[&str]) -> String {
    let (params, mut named): (Vec<&str>, Vec<&str>) = columns.iter().partition(|column| column.starts_with(PARAM));
    let counted = format!("{} parameters (param: ...)", params.len());
    if params.len() > NAMED_PARAMS {
        named.push(&counted);
    } else {
        named = columns.to_vec();
    }
    match named.len().checked_sub(NAMED_COLUMNS).filter(|more| *more > 1) {
        Some(more) => format!("{} and {more} more", named[..NAMED_COLUMNS].join(", ")),
        None => named.join(", "),
    }
}

/// So many columns that do not fit are named.
const NAMED_COLUMNS: usize = 14;

/// So many parameters that do not fit are named.
const NAMED_PARAMS: usize = 9;

/// Text columns that are drawn even where figures do not fit.
const TEXTS_MAX: usize = 3;

/// What each of so many text columns is not cut below.
fn name_width_min(texts: usize) -> usize {
    (48 / texts.max(1)).clamp(12, 28)
}

/// A key as a heading: the unit stands beside every figure.
pub(crate) fn heading(key: &str) -> &str {
    let key = key.strip_prefix(PARAM).unwrap_or(key);
    if let Some(per) = key.strip_prefix("ns_") {
        return per;
    }
    key.strip_suffix("_ns").or_else(|| key.strip_suffix("_bytes")).unwrap_or(key)
}

fn cell(key: &str, value: &Value) -> String {
    match value {
        Value::Null => ABSENT.to_owned(),
        Value::String(text) => clean(text),
        Value::Array(values) if key.starts_with(PARAM) => {
            format!("({})", values.iter().map(|value| cell(key, value)).collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => values.iter().map(|value| cell(key, value)).collect::<Vec<_>>().join(" > "),
        Value::Number(number) if key.ends_with("_ns") || key.starts_with("ns_") => {
            number.as_f64().map_or_else(String::new, duration)
        }
        Value::Number(number) if key.ends_with("_bytes") => number.as_i64().map_or_else(String::new, signed_bytes),
        Value::Number(number) if number.is_f64() => format!("{:.3}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Bytes, below zero too.
fn signed_bytes(count: i64) -> String {
    let sign = if count < 0 { "-" } else { "" };
    format!("{sign}{}", bytes(count.unsigned_abs()))
}
