//! Several configurations in one workbook: figures of every side beside each other, and the ranking.

use rankscope_document::{Beside, CollectiveBeside, CompareDocument, PairOfSides, Place, SideBySide, TimeBeside};

use super::{add, signs};
use crate::Error;
use crate::book::{Besides, Book, Sheet};
use crate::column::{Cell, Column, Kind};

/// Adds the sheets of `final_analysis_report_for_all.xlsx`.
pub(super) fn add_all(book: &mut Book, document: &CompareDocument) -> Result<(), Error> {
    let all = &document.side_by_side;
    book.add_with(
        of_times("Summary", "The mean of all ranks by class, in ms", all, |beside| &beside.summary, false),
        signed(),
    )?;
    book.add_with(
        of_times("Per_Rank_Time_ms", "Time of each rank by class, in ms", all, |beside| &beside.ranks, true),
        signed(),
    )?;
    book.add_with(of_collectives(all), signed())?;
    add_ranking(book, document)
}

/// The change of these sheets is test minus base whatever the convention, as it is in aorta's.
fn signed() -> Besides {
    Besides { signs: Some(signs(&rankscope_document::Convention::Rankscope)), ..Besides::default() }
}

/// A row of the first pair, and those of the others that are of the same thing.
type Row<'a, T> = Vec<Option<&'a T>>;

/// Rows that have the same key in every pair, in the order in which they are first met.
fn aligned<'a, T, K>(all: &'a [SideBySide], of: impl Fn(&'a SideBySide) -> &'a [T], key: impl Fn(&T) -> K) -> Vec<Row<'a, T>>
where
    K: Eq + std::hash::Hash,
{
    let mut places = std::collections::HashMap::new();
    let mut rows: Vec<Row<'a, T>> = Vec::new();
    for (pair, beside) in all.iter().enumerate() {
        for row in of(beside) {
            let at = *places.entry(key(row)).or_insert_with(|| {
                rows.push(vec![None; all.len()]);
                rows.len() - 1
            });
            rows[at][pair] = Some(row);
        }
    }
    rows
}

fn any<'a, T>(row: &Row<'a, T>) -> Option<&'a T> {
    row.iter().flatten().next().copied()
}

fn of_times<'a>(
    name: &str,
    about: &'static str,
    all: &'a [SideBySide],
    of: fn(&SideBySide) -> &Vec<TimeBeside>,
    has_rank: bool,
) -> Sheet<'a, Row<'a, TimeBeside>> {
    let rows = aligned(all, |beside| of(beside).as_slice(), |row: &TimeBeside| (row.rank, row.name.clone()));
    let mut columns: Vec<Column<'_, Row<'_, TimeBeside>>> = Vec::new();
    if has_rank {
        columns.push(Column::new("rank", Kind::Id, |row: &Row<'_, TimeBeside>| {
            any(row).and_then(|row| row.rank).map_or(Cell::Empty, Cell::count)
        }));
    }
    columns.push(Column::new("type", Kind::Text(22), |row: &Row<'_, TimeBeside>| {
        any(row).map_or(Cell::Empty, |row| Cell::text(row.name.clone()))
    }));
    columns.extend(figures(all, "time_ms", Kind::Ms, |row: &TimeBeside| &row.time));
    columns.extend(statuses(all, |row: &TimeBeside| row.status.as_str()));
    Sheet { name: name.to_owned(), about, columns, rows }
}

fn of_collectives(all: &[SideBySide]) -> Sheet<'_, Row<'_, CollectiveBeside>> {
    type Group<'a> = Row<'a, CollectiveBeside>;
    let key = |row: &CollectiveBeside| (row.name.clone(), row.dtype.clone(), row.in_elements, row.process_group.clone());
    let rows = aligned(all, |beside| beside.collectives.as_slice(), key);
    let mut columns: Vec<Column<'_, Group<'_>>> = vec![
        Column::new("Collective name", Kind::Text(28), |row: &Group<'_>| {
            any(row).map_or(Cell::Empty, |row| Cell::text(row.name.clone()))
        }),
        Column::new("dtype", Kind::Text(12), |row: &Group<'_>| {
            any(row).map_or(Cell::Empty, |row| Cell::text(row.dtype.clone()))
        }),
        Column::new("In msg nelems", Kind::Count, |row: &Group<'_>| {
            any(row).and_then(|row| row.in_elements).map_or(Cell::Empty, Cell::count)
        }),
        Column::new("Process Group Name", Kind::Text(20), |row: &Group<'_>| {
            any(row).and_then(|row| row.process_group.clone()).map_or(Cell::Empty, Cell::text)
        }),
    ];
    columns.extend(figures(all, "comm_latency_mean", Kind::Us, |row: &CollectiveBeside| &row.latency));
    columns.extend(figures(all, "bus bw (GB/s)_mean", Kind::Rate, |row: &CollectiveBeside| &row.busbw));
    columns.extend(figures(all, "count", Kind::Count, |row: &CollectiveBeside| &row.count));
    columns.extend(statuses(all, |row: &CollectiveBeside| row.status.as_str()));
    Sheet { name: "NCCL_Summary".to_owned(), about: "Collectives by name, type and size: latency in µs", columns, rows }
}

/// A figure of the base and of every test, and the change of each test in percent of the base.
fn figures<'a, T>(all: &'a [SideBySide], name: &str, kind: Kind, of: fn(&T) -> &Beside) -> Vec<Column<'a, Row<'a, T>>> {
    let base = all.first().map(|beside| beside.base.as_str()).unwrap_or_default();
    let mut columns = vec![Column::new(format!("{base}_{name}"), kind, move |row: &Row<'_, T>| {
        Cell::maybe(row.iter().flatten().find_map(|row| of(row).base))
    })];
    for (at, beside) in all.iter().enumerate() {
        columns.push(Column::new(format!("{}_{name}", beside.test), kind, move |row: &Row<'_, T>| {
            Cell::maybe(row[at].and_then(|row| of(row).test))
        }));
    }
    for (at, beside) in all.iter().enumerate() {
        let header = format!("{}_percentage_change_{name}", beside.test);
        columns.push(Column::new(header, Kind::Percent, move |row: &Row<'_, T>| {
            let figure = row[at].map(of);
            figure
                .and_then(|figure| figure.diff.zip(figure.base))
                .map_or(Cell::Empty, |(diff, base)| Cell::percent_of(diff, base))
        }));
    }
    columns
}

fn statuses<'a, T>(all: &'a [SideBySide], of: fn(&T) -> &str) -> Vec<Column<'a, Row<'a, T>>> {
    let status = |(at, beside): (usize, &'a SideBySide)| {
        Column::new(format!("{}_status", beside.test), Kind::Verdict, move |row: &Row<'a, T>| {
            row[at].map_or(Cell::Empty, |row| Cell::text(of(row).to_owned()))
        })
    };
    all.iter().enumerate().map(status).collect()
}

/// Adds the ranking and the pairs, where there are more than two sides.
pub(super) fn add_ranking(book: &mut Book, document: &CompareDocument) -> Result<(), Error> {
    let Some(ranking) = &document.ranking else { return Ok(()) };
    type Ranked<'a> = (usize, &'a Place);
    let winner = ranking.winner.as_deref();
    let columns = vec![
        Column::<Ranked<'_>>::new("place", Kind::Id, |(place, _)| Cell::count(*place as u64)),
        Column::<Ranked<'_>>::new("side", Kind::Text(36), |(_, place)| Cell::text(&place.label)),
        Column::<Ranked<'_>>::new("step (ms)", Kind::Ms, |(_, place)| Cell::maybe(place.step_ns)),
        Column::<Ranked<'_>>::new("longer than the fastest (ms)", Kind::Ms, |(_, place)| Cell::maybe(place.shift)),
        Column::<Ranked<'_>>::new("from (ms)", Kind::Ms, |(_, place)| Cell::maybe(place.lo)),
        Column::<Ranked<'_>>::new("to (ms)", Kind::Ms, |(_, place)| Cell::maybe(place.hi)),
        Column::<Ranked<'_>>::new("verdict", Kind::Verdict, |(_, place)| Cell::text(place.verdict.as_str())),
        Column::<Ranked<'_>>::new("winner", Kind::Text(44), move |(index, place)| match winner {
            Some(label) if label == place.label => Cell::text("faster than every other side"),
            None if *index == 1 => Cell::text("not certain to be the fastest"),
            _ => Cell::Empty,
        }),
    ];
    let ours = rankscope_document::Convention::Rankscope;
    let rows = (1..).zip(&ranking.places).collect();
    let about = "The sides by the time of a step, the fastest first";
    add(book, "Ranking".to_owned(), Sheet { name: String::new(), about, columns, rows }, &ours)?;
    let columns = vec![
        Column::<&PairOfSides>::new("base", Kind::Text(30), |pair| Cell::text(&pair.base)),
        Column::<&PairOfSides>::new("test", Kind::Text(30), |pair| Cell::text(&pair.test)),
        Column::<&PairOfSides>::new("change (ms)", Kind::Ms, |pair| Cell::maybe(pair.shift)),
        Column::<&PairOfSides>::new("from (ms)", Kind::Ms, |pair| Cell::maybe(pair.lo)),
        Column::<&PairOfSides>::new("to (ms)", Kind::Ms, |pair| Cell::maybe(pair.hi)),
        Column::<&PairOfSides>::new("of the base", Kind::Share, |pair| Cell::maybe(pair.ratio)),
        Column::<&PairOfSides>::new("p adjusted", Kind::Rate, |pair| Cell::maybe(pair.p_adjusted)),
        Column::<&PairOfSides>::new("verdict", Kind::Verdict, |pair| Cell::text(pair.verdict.as_str())),
    ];
    let about = "Every two sides beside each other, corrected for their number";
    add(book, "Pairs".to_owned(), Sheet { name: String::new(), about, columns, rows: ranking.pairs.iter().collect() }, &ours)
}
