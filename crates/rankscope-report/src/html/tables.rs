//! The tables in a page: those that answer most questions, each with as many rows as a browser draws with ease.
//!
//! A page gets the tables that its document has, of all ranks side by side first. What it leaves out, rows and columns, it names, with the
//! command that prints it.

use rankscope_document::Document;
use serde::Serialize;
use serde_json::Value;

use crate::tables::{TableView, heading, ordered, table};

/// One table of a page.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct PageTable {
    /// Its key.
    name: &'static str,
    /// What it is about, in a word or two.
    title: &'static str,
    /// What its rows are, in a sentence.
    about: &'static str,
    columns: Vec<PageColumn>,
    rows: Vec<Vec<Value>>,
    /// Rows of the whole table.
    total: usize,
    /// Columns that are not in the page.
    more_columns: Vec<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct PageColumn {
    key: String,
    head: String,
    kind: Kind,
}

/// How values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Nanoseconds.
    Time,
    Bytes,
    /// Gigabytes a second.
    Rate,
    /// A part of a whole, 0 to 1.
    Share,
    /// A number of any other sort.
    Number,
    /// A name from the trace.
    Name,
    /// A word.
    Text,
}

/// The tables that a page can have, in its order.
const TABLES: [(&str, &str, &str); 15] = [
    (
        "ops_across_ranks",
        "Operators, all ranks",
        "Device time of each operator on every rank: the median rank, the least and the most. The spread is the distance of the two, in medians.",
    ),
    (
        "kernels_across_ranks",
        "Kernels, all ranks",
        "Time of each kernel on every rank: the median rank, the least and the most. The spread is the distance of the two, in medians.",
    ),
    (
        "idle_across_ranks",
        "Idle time, all ranks",
        "Why devices had nothing to do, on every rank: the median rank, the least and the most.",
    ),
    ("overlap_across_ranks", "Overlap, all ranks", "Communication on every rank, and the share of it that computation hides."),
    (
        "ops_summary",
        "Operators",
        "Operators by name. Direct time is that of the kernels an operator launched itself; its subtree adds those of the operators it called.",
    ),
    ("ops_summary_by_category", "Categories", "Operators by category, with the device time of what they launched themselves."),
    ("kernel_summary", "Kernels", "Kernels, copies and fills by name, stream and the operator that launched them."),
    (
        "unified_perf_summary",
        "Performance",
        "Operators by name and inputs, those first that would save most time at the roofline of the card.",
    ),
    ("gemm", "GEMM", "Matrix products by shape, with what they reached of the roofline of the card."),
    (
        "nccl_summary_implicit_sync",
        "Collectives",
        "Collectives that all ranks of a group must reach, by name, type and size: how long they waited for the last rank, and how long the transfer took.",
    ),
    ("nccl_summary_long", "Collectives by rank", "Time in collectives by rank, name, type and size, waiting included."),
    ("straggler_summary", "Last ranks", "How often each rank came last to a collective, and how long it waited for others."),
    ("by_group", "Process groups", "Time in collectives by process group, split into waiting and transfer."),
    ("idle", "Idle time", "Why the streams of devices had nothing to do."),
    ("idle_gaps", "Idle gaps", "The gaps in which a device had nothing to do, by cause and by what the host did meanwhile."),
];

/// Rows of one table.
const ROWS_MAX: usize = 200;

/// Columns of one table.
const COLUMNS_MAX: usize = 12;

/// Text of all tables together, in bytes: kernel names run to hundreds of bytes each.
const TEXT_MAX: usize = 2_000_000;

/// Those of `document`.
pub(super) fn tables(document: &Document) -> Vec<PageTable> {
    let mut room = TEXT_MAX;
    let views = TABLES.into_iter().filter_map(|about| Some((about, table(document, about.0)?)));
    let made =
        views.map(|((name, title, about), view)| page_table(name, title, about, view, document.ranks.len() > 1, &mut room));
    made.filter(|table| !table.rows.is_empty()).collect()
}

fn page_table(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    mut view: TableView,
    has_ranks: bool,
    room: &mut usize,
) -> PageTable {
    if has_ranks {
        // The rows with most, whatever the rank.
        view.mix_ranks();
    }
    let total = view.rows.len();
    view.rows.truncate(ROWS_MAX);
    let says = |at: &usize| match view.columns[*at].as_str() {
        "rank" => has_ranks,
        _ => view.rows.iter().any(|row| !row[*at].is_null()),
    };
    let mut columns: Vec<usize> = ordered(name, &view.columns).into_iter().filter(says).collect();
    let more = columns.split_off(columns.len().min(COLUMNS_MAX));
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(view.rows.len());
    for row in &view.rows {
        let row: Vec<Value> = columns.iter().map(|at| row[*at].clone()).collect();
        let bytes: usize = row.iter().map(|value| value.as_str().map_or(8, str::len)).sum();
        let Some(left) = room.checked_sub(bytes) else { break };
        *room = left;
        rows.push(row);
    }
    let column = |at: &usize| PageColumn {
        key: view.columns[*at].clone(),
        head: head(&view.columns[*at]),
        kind: Kind::of(&view.columns[*at], view.rows.iter().map(|row| &row[*at])),
    };
    PageTable {
        name,
        title,
        about,
        columns: columns.iter().map(column).collect(),
        more_columns: more.iter().map(|at| view.columns[*at].clone()).collect(),
        rows,
        total,
    }
}

/// A key as a heading: `direct_kernel_ns` is `Direct kernel`.
fn head(key: &str) -> String {
    let words = heading(key).replace('_', " ");
    match SPELT.iter().find(|(word, _)| *word == words) {
        Some((_, spelt)) => (*spelt).to_owned(),
        None => {
            let mut letters = words.chars();
            letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
        }
    }
}

/// Headings that are no words.
const SPELT: [(&str, &str); 8] = [
    ("tflops", "TFLOP/s"),
    ("tb per s", "TB/s"),
    ("flops", "FLOP"),
    ("m", "M"),
    ("n", "N"),
    ("k", "K"),
    ("busbw mean gbps", "Bus bandwidth"),
    ("algbw mean gbps", "Algorithm bandwidth"),
];

impl Kind {
    fn of<'a>(key: &str, mut values: impl Iterator<Item = &'a Value>) -> Self {
        let is_text = |value: &Value| value.is_string() || value.is_array();
        match key {
            "name" | "parent_op" | "input_dims" | "path" | "host" | "after" => Self::Name,
            _ if values.any(is_text) => Self::Text,
            _ if key.ends_with("_ns") => Self::Time,
            _ if key.ends_with("_bytes") || key == "bytes" => Self::Bytes,
            _ if key.ends_with("_gbps") => Self::Rate,
            _ if key.ends_with("_share") || key == "share" => Self::Share,
            _ => Self::Number,
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_document::{AcrossRanks, AcrossRow, KernelSummary, Rank, Tables};

    use super::*;

    fn document(kernels: usize) -> Document {
        let kernel = |at: usize| KernelSummary {
            parent_op: None,
            category: "other".to_owned(),
            name: format!("k{at}"),
            stream: "7".to_owned(),
            count: 1,
            sum_ns: at as i64,
            mean_ns: at as f64,
            min_ns: at as i64,
            max_ns: at as i64,
        };
        let rank = |rank| {
            let kernels = (0..kernels).map(kernel).collect();
            Rank { rank, tables: Some(Tables { kernel_summary: Some(kernels), ..Tables::default() }), ..Rank::default() }
        };
        let across = AcrossRow { name: "k".to_owned(), ..AcrossRow::default() };
        let across = AcrossRanks { kernels_across_ranks: Some(vec![across]), ..AcrossRanks::default() };
        Document { ranks: vec![rank(0), rank(1)], across_ranks: Some(across), ..Document::default() }
    }

    #[test]
    fn all_ranks_are_first_and_long_tables_are_their_longest_rows() {
        let tables = tables(&document(300));
        let names: Vec<&str> = tables.iter().map(|table| table.name).collect();
        assert_eq!(names, ["kernels_across_ranks", "kernel_summary"]);
        let kernels = &tables[1];
        assert_eq!((kernels.rows.len(), kernels.total), (ROWS_MAX, 600));
        assert_eq!((&kernels.rows[0][0], &kernels.rows[1][0]), (&Value::from(0), &Value::from(1)), "the longest of both ranks");
        let of = |key: &str| {
            kernels.columns.iter().find(|column| column.key == key).map(|column| (column.head.as_str(), column.kind))
        };
        assert_eq!(of("sum_ns"), Some(("Sum", Kind::Time)));
        assert_eq!(of("name"), Some(("Name", Kind::Name)));
        assert_eq!(of("count"), Some(("Count", Kind::Number)));
    }

    #[test]
    fn a_document_without_tables_has_none() {
        assert_eq!(tables(&Document::default()), []);
    }
}
