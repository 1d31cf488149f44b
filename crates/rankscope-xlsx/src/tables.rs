//! The tables of single ranks, over all ranks: a function and a line in [`add`] each.

use rankscope_document::{
    CategorySummary, Document, IdleBreakdown, KernelSummary, OperatorArguments, OperatorSummary, Rank, Tables,
};

use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind};

/// Adds a sheet for each table that `document` has.
pub(crate) fn add(book: &mut Book, document: &Document) -> Result<(), Error> {
    book.add(&ops_summary_by_category(document))?;
    book.add(&ops_summary(document))?;
    book.add(&ops_unique_args(document))?;
    book.add(&kernel_summary(document))?;
    book.add(&idle(document))
}

/// A row of a rank's table.
struct Row<'a, T> {
    rank: &'a Rank,
    item: &'a T,
    /// What percentages are of.
    weight: i64,
    /// That of all rows of the rank's table.
    total: i64,
    /// That of this row and those before it.
    running: i64,
}

/// The rows of the table that `of` picks, rank by rank, in the order of the document; `weight` is what percentages are of.
fn rows<'a, T>(document: &'a Document, of: fn(&Tables) -> Option<&Vec<T>>, weight: fn(&T) -> i64) -> Vec<Row<'a, T>> {
    let mut rows = Vec::new();
    for rank in &document.ranks {
        let items = rank.tables.as_ref().and_then(of).map_or(&[][..], Vec::as_slice);
        let total = items.iter().fold(0, |sum: i64, item| sum.saturating_add(weight(item)));
        let mut running = 0_i64;
        for item in items {
            let weight = weight(item);
            running = running.saturating_add(weight);
            rows.push(Row { rank, item, weight, total, running });
        }
    }
    rows
}

/// The leading column of every table here.
fn rank<'a, T>() -> Column<Row<'a, T>> {
    Column::new("rank", Kind::Id, |row| Cell::count(row.rank.rank))
}

/// The last columns of tables of operators.
fn shares<'a, T>() -> [Column<Row<'a, T>>; 2] {
    [
        Column::new("Percentage (%)", Kind::Percent, |row| Cell::percent(row.weight, row.total)),
        Column::new("Cumulative Percentage (%)", Kind::Percent, |row| Cell::percent(row.running, row.total)),
    ]
}

fn ops_summary_by_category(document: &Document) -> Sheet<Row<'_, CategorySummary>> {
    let mut columns = vec![
        rank(),
        Column::new("op category", Kind::Text(24), |row: &Row<'_, CategorySummary>| Cell::text(&row.item.category)),
        Column::new("Count", Kind::Count, |row| Cell::count(row.item.count)),
        Column::new("total_direct_kernel_time_ms", Kind::Ms, |row| Cell::ns(row.item.direct_kernel_ns)),
        Column::new("kernel_sum_ms", Kind::Ms, |row| Cell::ns(row.item.kernel_sum_ns)),
    ];
    columns.extend(shares());
    Sheet {
        name: "ops_summary_by_category",
        about: "Operators by category: device time of the work that they launched themselves",
        columns,
        rows: rows(document, |tables| tables.ops_summary_by_category.as_ref(), |item| item.direct_kernel_ns),
    }
}

fn ops_summary(document: &Document) -> Sheet<Row<'_, OperatorSummary>> {
    let mut columns = vec![
        rank(),
        Column::new("name", Kind::Text(50), |row: &Row<'_, OperatorSummary>| Cell::text(&row.item.name)),
        Column::new("total_direct_kernel_time_sum", Kind::Us, |row| Cell::ns(row.item.direct_kernel_ns)),
        Column::new("total_subtree_kernel_time_sum", Kind::Us, |row| Cell::ns(row.item.subtree_kernel_ns)),
        Column::new("total_direct_kernel_time_ms", Kind::Ms, |row| Cell::ns(row.item.direct_kernel_ns)),
        Column::new("total_subtree_kernel_time_ms", Kind::Ms, |row| Cell::ns(row.item.subtree_kernel_ns)),
        Column::new("kernel_sum_ms", Kind::Ms, |row| Cell::ns(row.item.kernel_sum_ns)),
        Column::new("Count", Kind::Count, |row| Cell::count(row.item.count)),
        Column::new("Categories", Kind::Text(20), |row| Cell::text(&row.item.category)),
    ];
    columns.extend(shares());
    Sheet {
        name: "ops_summary",
        about: "Operators by name: device time of the work that they, and what they called, launched; _sum in µs",
        columns,
        rows: rows(document, |tables| tables.ops_summary.as_ref(), |item| item.direct_kernel_ns),
    }
}

fn ops_unique_args(document: &Document) -> Sheet<Row<'_, OperatorArguments>> {
    let mut columns = vec![
        rank(),
        Column::new("name", Kind::Text(50), |row: &Row<'_, OperatorArguments>| Cell::text(&row.item.name)),
        Column::new("op category", Kind::Text(20), |row| Cell::text(&row.item.category)),
        Column::new("Input Dims", Kind::Text(40), |row| Cell::maybe_text(row.item.input_dims.as_deref())),
        Column::new("Input type", Kind::Text(30), |row| Cell::maybe_text(row.item.input_types.as_deref())),
        Column::new("Input Strides", Kind::Text(30), |row| Cell::maybe_text(row.item.input_strides.as_deref())),
        Column::new("Concrete Inputs", Kind::Text(30), |row| Cell::maybe_text(row.item.concrete_inputs.as_deref())),
        Column::new("operation_count", Kind::Count, |row| Cell::count(row.item.count)),
        Column::new("total_direct_kernel_time_mean", Kind::Us, |row| Cell::Number(row.item.mean_ns)),
        Column::new("total_direct_kernel_time_min", Kind::Us, |row| Cell::ns(row.item.min_ns)),
        Column::new("total_direct_kernel_time_max", Kind::Us, |row| Cell::ns(row.item.max_ns)),
        Column::new("total_direct_kernel_time_sum", Kind::Us, |row| Cell::ns(row.item.direct_kernel_ns)),
    ];
    columns.extend(shares());
    Sheet {
        name: "ops_unique_args",
        about: "Operators by name and recorded inputs; times in µs",
        columns,
        rows: rows(document, |tables| tables.ops_unique_args.as_ref(), |item| item.direct_kernel_ns),
    }
}

fn kernel_summary(document: &Document) -> Sheet<Row<'_, KernelSummary>> {
    Sheet {
        name: "kernel_summary",
        about: "Kernels, copies and fills by name, stream and the operator that launched them",
        columns: vec![
            rank(),
            Column::new("Parent op category", Kind::Text(20), |row: &Row<'_, KernelSummary>| Cell::text(&row.item.category)),
            Column::new("Parent cpu_op", Kind::Text(36), |row| Cell::maybe_text(row.item.parent_op.as_deref())),
            Column::new("Kernel name", Kind::Text(60), |row| Cell::text(&row.item.name)),
            Column::new("Kernel stream", Kind::Text(12), |row| Cell::text(&row.item.stream)),
            Column::new("Kernel duration (µs)_sum", Kind::Us, |row| Cell::ns(row.item.sum_ns)),
            Column::new("Kernel duration (µs)_count", Kind::Count, |row| Cell::count(row.item.count)),
            Column::new("Kernel duration (µs)_mean", Kind::Us, |row| Cell::Number(row.item.mean_ns)),
            Column::new("Kernel duration (µs)_min", Kind::Us, |row| Cell::ns(row.item.min_ns)),
            Column::new("Kernel duration (µs)_max", Kind::Us, |row| Cell::ns(row.item.max_ns)),
            Column::new("Percent of kernels time (%)", Kind::Percent, |row| Cell::percent(row.weight, row.total)),
            Column::new("Percent of total time (%)", Kind::Percent, |row| Cell::percent(row.weight, row.rank.time_ns.total)),
        ],
        rows: rows(document, |tables| tables.kernel_summary.as_ref(), |item| item.sum_ns),
    }
}

/// Idle time of a rank's devices, or of one stream.
struct Idle<'a> {
    rank: u32,
    stream: Option<&'a str>,
    host_wait_ns: i64,
    kernel_wait_ns: i64,
    other_ns: i64,
}

impl<'a> Idle<'a> {
    fn of(rank: u32, idle: &'a IdleBreakdown) -> impl Iterator<Item = Self> {
        let IdleBreakdown { host_wait_ns, kernel_wait_ns, other_ns, streams } = idle;
        let (host_wait_ns, kernel_wait_ns, other_ns) = (*host_wait_ns, *kernel_wait_ns, *other_ns);
        let all = Self { rank, stream: None, host_wait_ns, kernel_wait_ns, other_ns };
        let streams = streams.iter().map(move |idle| Self {
            rank,
            stream: Some(&idle.stream),
            host_wait_ns: idle.host_wait_ns,
            kernel_wait_ns: idle.kernel_wait_ns,
            other_ns: idle.other_ns,
        });
        std::iter::once(all).chain(streams)
    }
}

fn idle(document: &Document) -> Sheet<Idle<'_>> {
    let of = document.ranks.iter().filter_map(|rank| Some((rank.rank, rank.tables.as_ref()?.idle.as_ref()?)));
    Sheet {
        name: "idle",
        about: "Idle time by cause: of all devices of the rank, then of each stream by itself",
        columns: vec![
            Column::new("rank", Kind::Id, |row: &Idle<'_>| Cell::count(row.rank)),
            Column::new("stream", Kind::Text(14), |row| Cell::text(row.stream.unwrap_or("all devices"))),
            Column::new("host_wait ms", Kind::Ms, |row| Cell::ns(row.host_wait_ns)),
            Column::new("kernel_wait ms", Kind::Ms, |row| Cell::ns(row.kernel_wait_ns)),
            Column::new("other ms", Kind::Ms, |row| Cell::ns(row.other_ns)),
        ],
        rows: of.flat_map(|(rank, idle)| Idle::of(rank, idle)).collect(),
    }
}
