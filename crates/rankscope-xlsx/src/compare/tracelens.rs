//! TraceLens' layout of a comparison: its sheets of two runs, joined row by row, and what only one of them has.
//!
//! `metric__<tag>_diff` is variant minus baseline and `_pct` that in percent of the baseline, so a negative time is faster. Only metrics
//! that it takes differences of have them; what is put beside without one (percentages) still differs by what the whole is.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;

use rankscope_document::{Document, Tables};

use crate::book::{Besides, Book, Sheet};
use crate::column::{Cell, Column, Kind};
use crate::job::TIMES;
use crate::{Error, ROWS};

/// A table of one run: a name for each row, and its metrics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it is called.
    pub name: &'static str,
    /// The header of the names.
    pub key: &'static str,
    /// The headers of the metrics.
    pub metrics: Vec<String>,
    /// Rows by name, a value for each metric.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

/// Rows of two tables: of both, of the baseline only, of the variant only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joined {
    /// Headers after the name.
    pub headers: Vec<String>,
    /// What both have.
    pub intersect: Vec<(String, Vec<Option<f64>>)>,
    /// What the baseline alone has.
    pub only_baseline: Vec<(String, Vec<Option<f64>>)>,
    /// What the variant alone has.
    pub only_variant: Vec<(String, Vec<Option<f64>>)>,
}

/// Metrics that differences are taken of.
const DIFFERS: [&str; 3] = ["time ms", "total_direct_kernel_time_ms", "Count"];

/// `base` and `variant`, called `tags`, row by row in the order of `base`.
pub fn joined(base: &Table, variant: &Table, tags: [&str; 2]) -> Joined {
    let differing: Vec<(usize, &String)> =
        base.metrics.iter().enumerate().filter(|(_, metric)| DIFFERS.contains(&metric.as_str())).collect();
    let mut headers: Vec<String> =
        differing.iter().flat_map(|(_, metric)| ["diff", "pct"].map(|what| format!("{metric}__{}_{what}", tags[1]))).collect();
    for (table, tag) in [base, variant].into_iter().zip(tags) {
        headers.extend(table.metrics.iter().map(|metric| format!("{tag}::{metric}")));
    }
    let row = |of_base: &[Option<f64>], of_variant: &[Option<f64>]| -> Vec<Option<f64>> {
        let at = |values: &[Option<f64>], index: usize| values.get(index).copied().flatten();
        let differences = differing.iter().flat_map(|(index, metric)| {
            let place = variant.metrics.iter().position(|other| other == *metric);
            difference(at(of_base, *index), place.and_then(|place| at(of_variant, place)))
        });
        let of_both = (0..base.metrics.len()).map(|index| at(of_base, index));
        differences.chain(of_both).chain((0..variant.metrics.len()).map(|index| at(of_variant, index))).collect()
    };
    let mut others: HashMap<&str, &Vec<Option<f64>>> =
        variant.rows.iter().map(|(name, values)| (name.as_str(), values)).collect();
    let mut found = Joined { headers, ..Joined::default() };
    for (name, values) in &base.rows {
        match others.remove(name.as_str()) {
            Some(of_variant) => found.intersect.push((name.clone(), row(values, of_variant))),
            None => found.only_baseline.push((name.clone(), row(values, &[]))),
        }
    }
    let alone = variant.rows.iter().filter(|(name, _)| others.contains_key(name.as_str()));
    found.only_variant = alone.map(|(name, values)| (name.clone(), row(&[], values))).collect();
    found
}

/// Variant minus baseline, and that in percent of the baseline.
fn difference(base: Option<f64>, variant: Option<f64>) -> [Option<f64>; 2] {
    let diff = base.zip(variant).map(|(base, variant)| variant - base);
    [diff, diff.zip(base.filter(|base| *base != 0.0)).map(|(diff, base)| diff / base * 100.0)]
}

/// The ranks that both documents have, ascending.
pub fn ranks([base, variant]: [&Document; 2]) -> Vec<u32> {
    let of_variant: BTreeSet<u32> = variant.ranks.iter().map(|rank| rank.rank).collect();
    let both: BTreeSet<u32> = base.ranks.iter().map(|rank| rank.rank).filter(|rank| of_variant.contains(rank)).collect();
    both.into_iter().collect()
}

/// Writes the tables of `rank` in both documents, joined, to `out`; of a document without it there are no rows.
///
/// # Errors
/// What `out` or the temporary files refuse.
pub fn write([base, variant]: [&Document; 2], rank: u32, tags: [&str; 2], out: impl Write + Send) -> Result<(), Error> {
    let mut book = Book::begin("rankscope compare", ROWS)?;
    for (base, variant) in tables(base, rank).iter().zip(&tables(variant, rank)) {
        let Joined { headers, intersect, only_baseline, only_variant } = joined(base, variant, tags);
        for (part, rows) in [("intersect", intersect), ("only_baseline", only_baseline), ("only_variant", only_variant)] {
            let mut columns =
                vec![Column::new(base.key, Kind::Text(40), |(name, _): &(String, Vec<Option<f64>>)| Cell::text(name.clone()))];
            columns.extend(headers.iter().enumerate().map(|(index, header)| {
                Column::new(header.clone(), Kind::Rate, move |(_, values): &(String, Vec<Option<f64>>)| {
                    Cell::maybe(values[index])
                })
            }));
            let name = format!("{}_{part}", base.name);
            book.add_with(Sheet { name, about: "", columns, rows }, Besides { signs: Some(SIGNS), ..Besides::default() })?;
        }
    }
    book.save(out)
}

/// What a positive difference means there.
const SIGNS: &str = "TraceLens' signs: variant minus baseline, so a negative time is faster";

/// The tables of `rank` in `document`, by TraceLens' names.
fn tables(document: &Document, rank: u32) -> Vec<Table> {
    let rank = document.ranks.iter().find(|own| own.rank == rank);
    let total = rank.map_or(0, |rank| rank.time_ns.total) as f64;
    let percent = |ns: f64, of: f64| (of > 0.0).then(|| ns / of * 100.0);
    let times = rank.into_iter().flat_map(|rank| {
        TIMES.map(|(name, of)| {
            let ns = of(&rank.time_ns) as f64;
            (name.to_owned(), vec![Some(ns / 1e6), percent(ns, total)])
        })
    });
    let timeline = Table { name: "gpu_timeline", key: "type", metrics: named(&["time ms", "percent"]), rows: times.collect() };
    vec![timeline, operators(rank.and_then(|rank| rank.tables.as_ref()))]
}

fn named(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn operators(tables: Option<&Tables>) -> Table {
    let rows: Vec<_> = tables.and_then(|tables| tables.ops_summary.as_ref()).into_iter().flatten().collect();
    let total: f64 = rows.iter().map(|row| row.direct_kernel_ns as f64).sum();
    let row = |row: &&rankscope_document::OperatorSummary| {
        let ns = row.direct_kernel_ns as f64;
        (row.name.clone(), vec![Some(row.count as f64), Some(ns / 1e6), (total > 0.0).then(|| ns / total * 100.0)])
    };
    Table {
        name: "ops_summary",
        key: "name",
        metrics: named(&["Count", "total_direct_kernel_time_ms", "Percentage (%)"]),
        rows: rows.iter().map(row).collect(),
    }
}
