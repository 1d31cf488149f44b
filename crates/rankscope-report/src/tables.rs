//! One of the tables of the ranks or of the job ([`rankscope_document::Tables`], [`rankscope_document::AcrossRanks`],
//! [`rankscope_document::CollectiveTables`]) as rows and columns, whatever its keys are: for a terminal, and for whoever
//! writes it into another file. The columns are the document's keys; nothing is computed here but which rows come first.

mod ordered;
mod sheet;

use std::cmp::Ordering;

use rankscope_document::Document;
use serde::Serialize;
use serde_json::Value;

use self::ordered::{Nested, Ordered, ordered};
use crate::Style;
use crate::terminal::{Sheet, Table, joined};
use crate::text::{clean, shorten, width_of, wrap};
use crate::units::{ABSENT, duration};

pub use self::sheet::operators;

/// A table: of all ranks that have it, or of the job.
#[derive(Clone, Debug, PartialEq)]
pub struct TableView {
    /// The table's key.
    pub name: String,
    /// The keys of its rows. The first is `rank` where each row is of one rank.
    pub columns: Vec<String>,
    /// A row has a value for each column: text, a number, true or false, a list of these, or null.
    pub rows: Vec<Vec<Value>>,
}

/// The table called `name` of every rank of `document`, or of the job; none where there is none.
pub fn table(document: &Document, name: &str) -> Option<TableView> {
    table_of(document, name, |_| true)
}

/// The rows of the table called `name` that `is_wanted` wants.
fn table_of(document: &Document, name: &str, is_wanted: impl Fn(&Ordered) -> bool) -> Option<TableView> {
    let mut view = TableView { name: name.to_owned(), columns: Vec::new(), rows: Vec::new() };
    let across = || document.across_ranks.as_ref().and_then(|tables| rows_of(tables, name));
    let of_collectives = || document.collective_tables.as_ref().and_then(|tables| rows_of(tables, name));
    if let Some(rows) = across().or_else(of_collectives) {
        rows.into_iter().for_each(|row| view.push(None, row));
        return Some(view);
    }
    view.columns.push(RANK.to_owned());
    let mut is_there = false;
    for rank in &document.ranks {
        let Some(rows) = rank.tables.as_ref().and_then(|tables| rows_of(tables, name)) else { continue };
        is_there = true;
        rows.into_iter().filter(&is_wanted).for_each(|row| view.push(Some(rank.rank), row));
    }
    is_there.then_some(view)
}

/// The rows of the table called `name` in `tables`.
fn rows_of(tables: &impl Serialize, name: &str) -> Option<Vec<Ordered>> {
    match ordered(tables)?.0.into_iter().find(|(key, _)| key == name)?.1 {
        Nested::Rows(rows) => Some(rows),
        Nested::One(row) => Some(vec![row]),
        Nested::Scalar(_) => None,
    }
}

/// The cells of what is under `key` in a row: one, or one for each parameter of an operator.
fn cells(key: String, value: Nested) -> Vec<(String, Value)> {
    match value {
        Nested::Scalar(value) => vec![(key, value)],
        Nested::One(Ordered(params)) if key == "params" => {
            let cell = |(name, value)| Some((format!("{PARAM}{name}"), Nested::scalar(value)?));
            params.into_iter().filter_map(cell).collect()
        }
        _ => Vec::new(),
    }
}

/// What columns of parameters begin with, as TraceLens' do.
const PARAM: &str = "param: ";

/// The column that tells whose a row is.
const RANK: &str = "rank";

impl TableView {
    fn push(&mut self, rank: Option<u32>, Ordered(row): Ordered) {
        let mut values = vec![Value::Null; self.columns.len()];
        if let Some(rank) = rank {
            values[0] = Value::from(rank);
        }
        for (key, value) in row.into_iter().flat_map(|(key, value)| cells(key, value)) {
            match self.columns.iter().position(|column| *column == key) {
                Some(at) => values[at] = value,
                None => {
                    self.columns.push(key);
                    self.rows.iter_mut().for_each(|row| row.push(Value::Null));
                    values.push(value);
                }
            }
        }
        self.rows.push(values);
    }

    /// Puts the rows with most in `column` first, text by alphabet; rows that have nothing there come last. False where there is no
    /// such column.
    pub fn sort_by(&mut self, column: &str) -> bool {
        let Some(at) = self.columns.iter().position(|known| known == column) else { return false };
        self.rows.sort_by(|a, b| compare(&a[at], &b[at]));
        true
    }

    /// The first `top` rows as text of at most `style.width` columns, ending in a line break.
    pub fn text(&self, title: &str, top: usize, style: Style) -> String {
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
        while figures.len() > 1 && of(&figures, 0).width() + texts.len() * (name_width_min(texts.len()) + 2) + 4 > sheet.width()
        {
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
            let text = format!("more columns with --csv: {}", named_in_short(&names));
            lines.extend(wrap(&text, sheet.width() - 2).into_iter().map(|line| format!("  {}", sheet.paint().dim(&line))));
        }
        joined(vec![lines])
    }

    /// The columns worth drawing: those that say anything, and the rank where there are several.
    fn drawn(&self, rows: &[Vec<Value>]) -> Vec<usize> {
        let says = |at: &usize| match self.columns[*at].as_str() {
            RANK => rows.iter().any(|row| row[*at] != rows[0][*at]),
            _ => rows.iter().any(|row| !row[*at].is_null()),
        };
        (0..self.columns.len()).filter(says).collect()
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
        return named.join(", ");
    }
    columns.join(", ")
}

/// So many parameters that do not fit are named.
const NAMED_PARAMS: usize = 9;

/// Text columns that are drawn even where figures do not fit.
const TEXTS_MAX: usize = 3;

/// What each of so many text columns is not cut below.
fn name_width_min(texts: usize) -> usize {
    (48 / texts.max(1)).clamp(12, 28)
}

/// A key as a heading: the unit stands beside every figure.
fn heading(key: &str) -> &str {
    let key = key.strip_prefix(PARAM).unwrap_or(key);
    key.strip_suffix("_ns").unwrap_or(key)
}

fn cell(key: &str, value: &Value) -> String {
    match value {
        Value::Null => ABSENT.to_owned(),
        Value::String(text) => clean(text),
        Value::Array(values) if key.starts_with(PARAM) => {
            format!("({})", values.iter().map(|value| cell(key, value)).collect::<Vec<_>>().join(", "))
        }
        Value::Array(values) => values.iter().map(|value| cell(key, value)).collect::<Vec<_>>().join(" > "),
        Value::Number(number) if key.ends_with("_ns") => number.as_f64().map_or_else(String::new, duration),
        Value::Number(number) if number.is_f64() => format!("{:.3}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::MIN), b.as_f64().unwrap_or(f64::MIN));
            b.total_cmp(&a)
        }
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (a, b) => a.is_null().cmp(&b.is_null()),
    }
}

#[cfg(test)]
mod tests {
    use rankscope_document::{OperatorSummary, Tables};

    use super::*;

    fn view() -> TableView {
        let row = |name: &str, count, direct_kernel_ns| OperatorSummary {
            name: name.to_owned(),
            category: "GEMM".to_owned(),
            count,
            direct_kernel_ns,
            subtree_kernel_ns: direct_kernel_ns,
            kernel_sum_ns: direct_kernel_ns,
        };
        let tables =
            Tables { ops_summary: Some(vec![row("aten::mm", 2, 3_000), row("aten::addmm", 5, 1_000)]), ..Tables::default() };
        let rank = rankscope_document::Rank { rank: 3, tables: Some(tables), ..Default::default() };
        table(&Document { ranks: vec![rank], ..Document::default() }, "ops_summary").expect("it is there")
    }

    #[test]
    fn a_table_of_the_job_has_the_columns_of_its_rows_alone() {
        let row = |rank, last| rankscope_document::StragglerRow { rank, last, ..Default::default() };
        let rows = Some(vec![row(1, 4), row(0, 7)]);
        let tables = rankscope_document::CollectiveTables { straggler_summary: rows, ..Default::default() };
        let document = Document { collective_tables: Some(tables), ..Document::default() };
        let mut view = table(&document, "straggler_summary").expect("it is there");
        assert_eq!(&view.columns[..3], ["rank", "node", "host"]);
        assert!(view.sort_by("last") && view.rows[0][0] == 0 && view.rows.len() == 2);
        assert_eq!(table(&document, "nccl_long"), None);
    }

    #[test]
    fn columns_are_the_keys_in_their_order_and_rows_are_sorted_by_any() {
        let mut view = view();
        let columns = ["rank", "name", "category", "count", "direct_kernel_ns", "subtree_kernel_ns", "kernel_sum_ns"];
        assert_eq!(view.columns, columns);
        assert!(view.sort_by("count"));
        assert_eq!(view.rows[0][1], "aten::addmm");
        assert!(view.sort_by("name") && view.rows[0][1] == "aten::addmm");
        assert!(!view.sort_by("size"));
    }

    #[test]
    fn figures_that_do_not_fit_are_named_below() {
        let text = view().text("a job", 2, Style { color: false, width: 72 });
        assert!(text.contains("more columns with --csv:") && text.contains("kernel_sum_ns"), "{text}");
        assert!(text.lines().all(|line| width_of(line) <= 72), "{text}");
    }

    #[test]
    fn a_terminal_gets_as_many_rows_as_it_asks_for_within_its_width() {
        let text = view().text("a job", 1, Style { color: false, width: 80 });
        assert!(text.contains("aten::mm") && !text.contains("addmm") && text.contains("3.00 us"), "{text}");
        assert!(text.contains("and 1 more; --top 2 shows all"), "{text}");
        assert!(text.lines().all(|line| width_of(line) <= 80), "{text}");
        assert!(!text.contains("rank"), "one rank needs no column: {text}");
    }
}
