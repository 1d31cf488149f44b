//! Figures of what was recorded: a row for each name, and stacks for flame graphs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_analyze::spans::{By, Nesting, Order, Selection, SpanStats, SpanTable, SpansOf, Stacks};
use rankscope_formats::recording::to_trace;
use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_record::Recorded as Events;
use rankscope_trace::Trace;

use super::error::raised;
use super::session::Recorded;

/// A row: name, category, whether it belongs to no thread, count, then total, own, median, 99th percentile and longest in
/// nanoseconds.
type Row = (String, String, bool, u64, i64, Option<i64>, i64, i64, i64);

/// A row for each name, the one with most time of its own first.
#[pyfunction]
pub(crate) fn figures(py: Python<'_>, recorded: &Recorded) -> PyResult<Vec<Row>> {
    let table =
        py.detach(|| with_spans(&recorded.0, |of| SpanTable::of(&[of], By::Name, Order::Own, Selection::ALL)).map_err(raised))?;
    let [spans, asynchronous] = [(table.spans, false), (table.asynchronous, true)]
        .map(|(rows, is_async)| rows.into_iter().map(move |row| row_of(row, is_async)));
    Ok(spans.chain(asynchronous).collect())
}

/// Writes folded stacks, a line each with the nanoseconds spent in it, as flame graphs are drawn from.
#[pyfunction]
pub(crate) fn folded_stacks(py: Python<'_>, recorded: &Recorded, path: PathBuf) -> PyResult<()> {
    py.detach(|| {
        let stacks = with_spans(&recorded.0, |of| Stacks::of(&[of], By::Name, Selection::ALL)).map_err(raised)?;
        let write = || {
            let mut out = BufWriter::new(File::create(&path)?);
            rankscope_profile::folded(&stacks, &mut out)?;
            out.flush()
        };
        write().map_err(|error| raised(format_args!("{} could not be written: {error}", path.display())))
    })
}

fn row_of(row: SpanStats, is_async: bool) -> Row {
    let SpanStats { name, category, count, total_ns, self_ns, p50_ns, p99_ns, max_ns, .. } = row;
    (name, category, is_async, count, total_ns, self_ns, p50_ns, p99_ns, max_ns)
}

fn with_spans<T>(events: &Events, look: impl FnOnce(SpansOf<'_>) -> T) -> Result<T, rankscope_record::recording::Error> {
    let recording = events.open()?;
    let trace: Trace = to_trace(&recording, events.cut(), &ReadOptions::default().with_args(ArgsPolicy::All));
    let nesting = Nesting::of(&trace);
    Ok(look(SpansOf { process: "", trace: &trace, nesting: &nesting }))
}
