//! The tables of single ranks, over all ranks: one sheet a table, whatever tables there are.
//!
//! [`known`] gives some of them TraceLens' headers; what it does not name is made of the document's keys ([`keyed`]), so that a new
//! table or a new key needs no line here. Models have a sheet each ([`models`]).

mod figure;
mod keyed;
mod known;
mod models;

use rankscope_document::{Document, Rank, Rows, Value};
use serde::Serialize;

use crate::Error;
use crate::book::{Book, Sheet};
use crate::column::{Cell, Column, Kind};
use figure::Line;

/// Adds a sheet for each table of each rank of `document`; with `ranks`, which rank a row is of comes first.
pub(crate) fn add<'a>(book: &mut Book, ranks: impl Iterator<Item = &'a Rank> + Clone, shows_rank: bool) -> Result<(), Error> {
    let sources = ranks.clone().filter_map(|rank| Some((Some(rank.rank), rank.tables.as_ref()?)));
    let total = |number: Option<u32>| {
        let rank = ranks.clone().find(|rank| Some(rank.rank) == number);
        rank.map_or(0.0, |rank| rank.time_ns.total as f64)
    };
    add_all(book, sources, &total, shows_rank)
}

/// Adds the tables of the job as a whole.
///
/// A table over all ranks that the document holds in one struct of lists needs no more than to be handed to [`add_all`] here.
pub(crate) fn add_of_job(book: &mut Book, document: &Document) -> Result<(), Error> {
    add_all(book, document.across_ranks.iter().map(|across| (None, across)), &|_| 0.0, false)
}

/// Adds a sheet for each table in `sources`, structs whose fields are tables; `total` says how long a rank was recorded.
fn add_all<'a, T: Serialize + 'a>(
    book: &mut Book,
    sources: impl Iterator<Item = (Option<u32>, &'a T)> + Clone,
    total: &dyn Fn(Option<u32>) -> f64,
    shows_rank: bool,
) -> Result<(), Error> {
    let mut names: Vec<String> = Vec::new();
    for (_, source) in sources.clone() {
        for name in Value::keys(source) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in names {
        for rows in Rows::of(sources.clone(), &name) {
            book.add(sheet(&rows, total, shows_rank))?;
            if name == models::TABLE {
                models::add(book, &rows, total, shows_rank)?;
            }
        }
    }
    Ok(())
}

/// The sheet of one table.
fn sheet<'a>(rows: &'a Rows, total: &dyn Fn(Option<u32>) -> f64, shows_rank: bool) -> Sheet<'a, Line<'a>> {
    let lines = figure::lines(rows, total, |_| true);
    let known = known::of(&rows.name);
    let mut columns = leading(shows_rank);
    let named = known.map_or(&[][..], |known| known.columns);
    for column in named {
        columns.extend(column.figure.column(column.header, column.kind, rows, &lines));
    }
    let is_named = |key: &str| named.iter().any(|column| column.figure.shows() == Some(key));
    columns.extend(keyed::columns(rows, &lines, is_named));
    let (name, about) = match known {
        Some(known) => (known.sheet, known.about),
        None => (rows.name.as_str(), "As in report.json, by its keys; docs/reference/tables.md says what each is"),
    };
    Sheet { name: name.to_owned(), about, columns, rows: lines }
}

/// The columns before those of the table.
fn leading<'a>(shows_rank: bool) -> Vec<Column<'a, Line<'a>>> {
    let rank = || Column::new("rank", Kind::Id, |line: &Line<'_>| line.row.rank.map_or(Cell::Empty, Cell::count));
    shows_rank.then(rank).into_iter().collect()
}
