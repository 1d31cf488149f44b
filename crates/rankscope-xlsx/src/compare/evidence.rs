//! Sheets of what the evidence says: metrics, what the change is made of, what was added or replaced, and what the words mean.

use rankscope_document::{Comparison, Contribution, MetricComparison};
use rankscope_report::{StructureRow, structure_rows};

use super::add as add_sheet;
use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind};

/// A row of a pair.
type Of<'a, T> = (&'a Comparison, &'a T);

/// Adds the sheets of `pairs`.
pub(super) fn add(book: &mut Book, pairs: &[&Comparison]) -> Result<(), Error> {
    let ours = rankscope_document::Convention::Rankscope;
    add_sheet(book, "metrics".to_owned(), metrics(pairs), &ours)?;
    add_sheet(book, "contributions".to_owned(), contributions(pairs), &ours)?;
    add_sheet(book, "structure".to_owned(), structure(pairs), &ours)
}

fn pair_columns<'a, T: 'a>() -> Vec<Column<'a, Of<'a, T>>> {
    vec![
        Column::<Of<'_, T>>::new("base", Kind::Text(18), |(pair, _)| Cell::text(&pair.base)),
        Column::<Of<'_, T>>::new("test", Kind::Text(18), |(pair, _)| Cell::text(&pair.test)),
    ]
}

fn metrics<'a>(pairs: &[&'a Comparison]) -> Sheet<'a, Of<'a, MetricComparison>> {
    type Row<'a> = Of<'a, MetricComparison>;
    let mut columns = vec![Column::<Row<'_>>::new("metric", Kind::Text(44), |(_, metric)| Cell::text(&metric.name))];
    columns.extend(pair_columns::<MetricComparison>());
    columns.extend([
        Column::<Row<'_>>::new("unit", Kind::Text(8), |(_, metric)| {
            Cell::text(if metric.unit.as_str() == "ns" { "ms" } else { metric.unit.as_str() })
        }),
        Column::<Row<'_>>::new("better", Kind::Text(10), |(_, metric)| Cell::text(metric.direction.as_str())),
        value("base median", |metric| metric.base),
        value("test median", |metric| metric.test),
        value("change", |metric| metric.shift),
        value("from", |metric| metric.lo),
        value("to", |metric| metric.hi),
        as_is("change of base", Kind::Share, |metric| metric.ratio),
        as_is("at least", Kind::Share, |metric| metric.ratio_lo),
        as_is("at most", Kind::Share, |metric| metric.ratio_hi),
        Column::<Row<'_>>::new("margin", Kind::Share, |(_, metric)| Cell::Number(metric.margin)),
        as_is("p", Kind::Rate, |metric| metric.p),
        as_is("p adjusted", Kind::Rate, |metric| metric.p_adjusted),
        Column::<Row<'_>>::new("verdict", Kind::Verdict, |(_, metric)| Cell::text(metric.verdict.as_str())),
        Column::<Row<'_>>::new("over", Kind::Text(22), |(_, metric)| Cell::text(metric.over.as_str())),
        Column::<Row<'_>>::new("observations base", Kind::Count, |(_, metric)| Cell::count(metric.observations[0] as u64)),
        Column::<Row<'_>>::new("observations test", Kind::Count, |(_, metric)| Cell::count(metric.observations[1] as u64)),
        Column::<Row<'_>>::new("counted", Kind::Text(8), |(pair, _)| Cell::text(pair.unit.as_str())),
    ]);
    let rows = pairs.iter().flat_map(|pair| pair.metrics.iter().map(|metric| (*pair, metric))).collect();
    Sheet {
        name: String::new(),
        about: "Every metric with the evidence for its change: times in ms, rates in GB/s",
        columns,
        rows,
    }
}

/// A value in the unit of its metric, times in milliseconds.
fn value<'a>(header: &'static str, of: fn(&MetricComparison) -> Option<f64>) -> Column<'a, Of<'a, MetricComparison>> {
    Column::new(header, Kind::Rate, move |(_, metric): &Of<'_, MetricComparison>| {
        let scale = if metric.unit.as_str() == "ns" { 1e6 } else { 1.0 };
        Cell::maybe(of(metric).map(|value| value / scale))
    })
}

fn as_is<'a>(
    header: &'static str,
    kind: Kind,
    of: fn(&MetricComparison) -> Option<f64>,
) -> Column<'a, Of<'a, MetricComparison>> {
    Column::new(header, kind, move |(_, metric): &Of<'_, MetricComparison>| Cell::maybe(of(metric)))
}

fn contributions<'a>(pairs: &[&'a Comparison]) -> Sheet<'a, Of<'a, Contribution>> {
    type Row<'a> = Of<'a, Contribution>;
    let mut columns = vec![
        Column::<Row<'_>>::new("what", Kind::Text(60), |(_, part)| Cell::text(&part.name)),
        Column::<Row<'_>>::new("kind", Kind::Text(20), |(_, part)| Cell::text(part.kind.as_str())),
    ];
    columns.extend(pair_columns::<Contribution>());
    columns.extend([
        Column::<Row<'_>>::new("a step (ms)", Kind::Ms, |(_, part)| Cell::ns(part.delta_ns)),
        Column::<Row<'_>>::new("from (ms)", Kind::Ms, |(_, part)| part.lo_ns.map_or(Cell::Empty, Cell::ns)),
        Column::<Row<'_>>::new("to (ms)", Kind::Ms, |(_, part)| part.hi_ns.map_or(Cell::Empty, Cell::ns)),
        Column::<Row<'_>>::new("rank", Kind::Id, |(_, part)| part.rank.map_or(Cell::Empty, Cell::count)),
        Column::<Row<'_>>::new("class", Kind::Text(16), |(_, part)| Cell::maybe_text(part.class.as_deref())),
        Column::<Row<'_>>::new("why", Kind::Text(60), |(_, part)| Cell::maybe_text(part.detail.as_deref())),
    ]);
    let rows = pairs.iter().flat_map(|pair| pair.contributions.iter().map(|part| (*pair, part))).collect();
    Sheet {
        name: String::new(),
        about: "What the change of the mean step is made of; the rows of a test add up to it",
        columns,
        rows,
    }
}

/// A change of structure of a pair.
type Structure<'a> = (&'a Comparison, StructureRow);

fn structure<'a>(pairs: &[&'a Comparison]) -> Sheet<'a, Structure<'a>> {
    type Row<'a> = Structure<'a>;
    let ns = |(_, row): &Row<'_>, side: usize| row.ns.map_or(Cell::Empty, |ns| Cell::ns(ns[side]));
    let columns = vec![
        Column::<Row<'_>>::new("change", Kind::Text(14), |(_, row)| Cell::text(row.change)),
        Column::<Row<'_>>::new("kind", Kind::Text(14), |(_, row)| Cell::text(&row.kind)),
        Column::<Row<'_>>::new("name", Kind::Text(60), |(_, row)| Cell::text(&row.name)),
        Column::<Row<'_>>::new("replaced by", Kind::Text(60), |(_, row)| Cell::maybe_text(row.replaced_by.as_deref())),
        Column::<Row<'_>>::new("within", Kind::Text(30), |(_, row)| Cell::maybe_text(row.within.as_deref())),
        Column::<Row<'_>>::new("base", Kind::Text(18), |(pair, _)| Cell::text(&pair.base)),
        Column::<Row<'_>>::new("test", Kind::Text(18), |(pair, _)| Cell::text(&pair.test)),
        Column::<Row<'_>>::new("base count", Kind::Count, |(_, row)| Cell::count(row.counts[0])),
        Column::<Row<'_>>::new("test count", Kind::Count, |(_, row)| Cell::count(row.counts[1])),
        Column::<Row<'_>>::new("base, a step (ms)", Kind::Ms, move |row| ns(row, 0)),
        Column::<Row<'_>>::new("test, a step (ms)", Kind::Ms, move |row| ns(row, 1)),
        Column::<Row<'_>>::new("modules", Kind::Text(40), |(_, row)| Cell::text(&row.modules)),
        Column::<Row<'_>>::new("ranks", Kind::Count, |(_, row)| Cell::count(row.ranks as u64)),
    ];
    let of = |pair: &'a Comparison| structure_rows(&pair.structure).into_iter().map(move |row| (pair, row));
    let rows = pairs.iter().flat_map(|pair| of(pair)).collect();
    Sheet {
        name: String::new(),
        about: "What was added, removed, replaced or is launched in another order; what varies differs between runs of one side, from least to most",
        columns,
        rows,
    }
}

/// What the columns and words mean.
const DEFINITIONS: &[(&str, &str)] = &[
    ("base, test", "The side that is compared with, and the side that is compared. Each is one run or several."),
    (
        "base median, test median",
        "The median of the steps that are compared, warm-up left out; of several runs, the median of their medians.",
    ),
    ("change", "The estimated difference, test minus base. A positive time takes longer in the test."),
    (
        "from, to",
        "The interval of the change: 95 % of such intervals hold the true change. Empty where too little is known to bound it.",
    ),
    ("change of base", "The change as a share of the base; at least and at most are the ends of its interval."),
    ("margin", "The change that counts as none, as a share of the base."),
    ("better", "Which way the metric is better: lower, higher, or neutral, where neither way is."),
    (
        "p, p adjusted",
        "How likely a difference as large is if nothing changed; adjusted for the number of metrics that were looked at.",
    ),
    ("improved, regressed", "Better or worse by more than the margin, and certain to be."),
    ("changed", "Another value, by more than the margin, of a metric that has no better and worse."),
    ("equivalent", "The same within the margin, and certain to be."),
    ("inconclusive", "The evidence does not decide between the others. More runs would."),
    ("differs", "The two runs differ. Whether other runs of the same two sides would, one run a side cannot tell."),
    ("no_difference_seen", "The two runs do not differ visibly."),
    ("no_evidence", "Too few observations to say anything, or a row that no metric is of."),
    ("new, gone", "In the test only, in the base only."),
    ("step_ns", "The time of a step: that of its slowest rank, as all others wait for it."),
    (
        "metrics that end in _ns",
        "A class of time; the median of all ranks in each step. With @rank and a number, that rank's own.",
    ),
    (
        "comm. ... latency, busbw, wait",
        "Collectives by operation, type and elements: the shortest time that any rank spends in one, bytes over it times the \
        operation's factor, and the wait for the last rank; the median of a step.",
    ),
    ("contributions", "Parts of the change of the mean step; those of one test add up to it."),
    (
        "sheet ranks",
        "Time of each rank by class over the whole trace; of several runs the median. Percentages are of the rank's total.",
    ),
    ("sheet collectives", "Means over the matched collectives of a name, type and size; of several runs the median."),
];

/// Adds the sheet of definitions.
pub(super) fn add_definitions(book: &mut Book) -> Result<(), Error> {
    type Row<'a> = &'a (&'static str, &'static str);
    book.add(Sheet {
        name: "definitions".to_owned(),
        about: "What the columns and the words mean",
        columns: vec![
            Column::<Row<'_>>::new("word", Kind::Text(34), |(word, _)| Cell::text(*word)),
            Column::<Row<'_>>::new("meaning", Kind::Text(150), |(_, meaning)| Cell::text(*meaning)),
        ],
        rows: DEFINITIONS.iter().collect(),
    })
}
