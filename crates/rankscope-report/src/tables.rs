//! One of the tables of the ranks or of the job ([`rankscope_document::Tables`], [`rankscope_document::AcrossRanks`],
//! [`rankscope_document::CollectiveTables`]) as rows and columns, whatever its keys are: for a terminal, and for whoever writes it into
//! another file. The columns are the document's keys; nothing is computed here but which rows come first.

mod front;
mod lacks;
mod sheet;
mod text;

use std::borrow::Cow;
use std::cmp::Ordering;

use rankscope_document::{Document, PARAMS, Row, Rows, Value as Held, WaitsFor};
use serde::Serialize;
use serde_json::{Number, Value};

pub(crate) use self::front::ordered;
pub use self::lacks::{Lack, lacks};
pub use self::sheet::operators;
pub(crate) use self::text::heading;

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

/// The column that tells whose a row is.
const RANK: &str = "rank";

/// What columns of parameters begin with, as TraceLens' do.
const PARAM: &str = "param: ";

/// The table called `name` of every rank of `document`, or of the job; none where there is none.
pub fn table(document: &Document, name: &str) -> Option<TableView> {
    let across = document.across_ranks.as_ref().map(|tables| Held::under(name, tables));
    let of_collectives = document.collective_tables.as_ref().map(|tables| Held::under(name, tables));
    let of_job = across.into_iter().chain(of_collectives).find(|table| *table != Held::Null);
    let rows = match of_job {
        Some(table) => first(name, [(None, table)]),
        None => of_ranks(document, name),
    };
    rows.map(|rows| TableView::of(&rows, |_| true))
}

/// Rows of a list that is no table of a report; none where it has none.
pub(crate) fn rows(name: &str, list: &impl Serialize) -> Option<TableView> {
    let rows = first(name, [(None, Held::of(list))]).filter(|rows| !rows.rows.is_empty());
    rows.map(|rows| TableView::of(&rows, |_| true))
}

/// The table called `name` of every rank that has it.
fn of_ranks(document: &Document, name: &str) -> Option<Rows> {
    let of_rank = |rank: &rankscope_document::Rank| Some((Some(rank.rank), Held::under(name, rank.tables.as_ref()?)));
    first(name, document.ranks.iter().filter_map(of_rank))
}

/// What is inside the table is a table of its own, which nobody asked for.
fn first(name: &str, tables: impl IntoIterator<Item = (Option<u32>, Held)>) -> Option<Rows> {
    Rows::of(name, tables).into_iter().next()
}

impl TableView {
    /// The `rows` that are wanted, their parameters in columns of their own; lists of objects are left out.
    fn of(rows: &Rows, is_wanted: impl Fn(&Row) -> bool) -> Self {
        let is_of_ranks = rows.rows.iter().any(|row| row.rank.is_some()) || rows.rows.is_empty();
        let mut columns: Vec<String> = if is_of_ranks { vec![RANK.to_owned()] } else { Vec::new() };
        let mut kept = Vec::new();
        for row in rows.rows.iter().filter(|row| is_wanted(row)) {
            let mut values = vec![Value::Null; columns.len()];
            if let Some(rank) = row.rank {
                values[0] = Value::from(rank);
            }
            let cells = rows.columns.iter().zip(&row.values).flat_map(|(key, value)| cells(key, value));
            for (expected, (key, value)) in cells.enumerate() {
                // Rows of one type have the same keys in the same order, as a rule.
                let expected = expected + usize::from(is_of_ranks);
                let is_there = columns.get(expected).is_some_and(|column| *column == key);
                match if is_there { Some(expected) } else { columns.iter().position(|column| *column == key) } {
                    Some(at) => values[at] = value,
                    None => {
                        columns.push(key.into_owned());
                        values.push(value);
                    }
                }
            }
            kept.push(values);
        }
        // What only later rows have, earlier ones lack.
        kept.iter_mut().for_each(|values: &mut Vec<Value>| values.resize(columns.len(), Value::Null));
        Self { name: rows.name.clone(), columns, rows: kept }
    }

    /// Puts the rows with most in `column` first, text by alphabet; rows that have nothing there come last. False where there is no
    /// such column.
    pub fn sort_by(&mut self, column: &str) -> bool {
        let Some(at) = self.columns.iter().position(|known| known == column) else { return false };
        self.rows.sort_by(|a, b| compare(&a[at], &b[at]));
        true
    }

    /// Whether `row` has waits that are what ranks can have waited at most, as not all of them wait for the last.
    pub fn waits_at_most(&self, row: &[Value]) -> bool {
        let of = |column: &str| self.columns.iter().position(|known| known == column).map(|at| &row[at]);
        let is_some = of("waits_for").is_some_and(|whom| whom == WaitsFor::Some.as_str());
        is_some || of("wait_at_most_ns").and_then(Value::as_i64).is_some_and(|ns| ns > 0)
    }

    /// Puts the rows of all ranks in the order that those of each are in. Of one rank, and of a table in order of time or of names,
    /// nothing changes.
    pub fn mix_ranks(&mut self) {
        for column in front::order(&self.name) {
            self.sort_by(column);
        }
    }
}

/// The cells of what is under `key` in a row: one, or one for each parameter of an operator.
fn cells<'a>(key: &'a str, value: &'a Held) -> Vec<(Cow<'a, str>, Value)> {
    match value {
        Held::Object(params) if key == PARAMS => {
            params.iter().map(|(name, value)| (format!("{PARAM}{name}").into(), json(value))).collect()
        }
        Held::Null if key == PARAMS => Vec::new(),
        Held::List(items) if !items.is_empty() && items.iter().all(|item| matches!(item, Held::Object(_))) => Vec::new(),
        value => vec![(key.into(), json(value))],
    }
}

fn json(value: &Held) -> Value {
    match value {
        Held::Null | Held::Object(_) => Value::Null,
        Held::Bool(is) => Value::Bool(*is),
        Held::Integer(number) => Value::from(*number),
        Held::Unsigned(number) => Value::from(*number),
        Held::Float(number) => Number::from_f64(*number).map_or(Value::Null, Value::Number),
        Held::Text(text) => Value::String(text.clone()),
        Held::List(items) => items.iter().map(json).collect(),
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

    use crate::Style;
    use crate::text::width_of;

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
    fn a_parameter_that_is_a_column_already_is_drawn_once() {
        let columns = ["name", "m", "param: M", "param: bias"].map(str::to_owned).to_vec();
        let rows = vec![vec!["aten::mm".into(), 192.into(), 192.into(), true.into()]];
        let text = TableView { name: "gemm".to_owned(), columns, rows }.text("a job", 1, Style { color: false, width: 80 });
        assert_eq!(
            text.lines().nth(2).map(|row| row.split_whitespace().collect()),
            Some(vec!["aten::mm", "192", "true"]),
            "{text}"
        );
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
