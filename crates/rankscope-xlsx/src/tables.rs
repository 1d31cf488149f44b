//! The tables of single ranks and of the job: one sheet a table, whatever tables there are.
//!
//! [`known`] gives some of them TraceLens' headers; what it does not name is made of the document's keys ([`keyed`]), so that a new
//! table or a new key needs no line here. Models have a sheet each ([`models`]).

mod figure;
mod keyed;
mod known;
mod models;

use std::collections::BTreeMap;

use rankscope_document::{Document, Rank, RankCollectiveSummary, Rows, Value};
use serde::Serialize;

use crate::Error;
use crate::book::{Besides, Book, Sheet};
use crate::column::{Cell, Column, Kind};
use figure::Line;

/// Adds a sheet for each table of each of `ranks`; with `shows_rank`, which rank a row is of comes first.
pub(crate) fn add<'a>(book: &mut Book, ranks: impl Iterator<Item = &'a Rank> + Clone, shows_rank: bool) -> Result<(), Error> {
    let of_ranks = ranks.clone().filter_map(|rank| Some((rank.rank, rank.tables.as_ref()?)));
    let totals: BTreeMap<u32, f64> = ranks.map(|rank| (rank.rank, rank.time_ns.total as f64)).collect();
    let total = |rank: Option<u32>| rank.and_then(|rank| totals.get(&rank).copied()).unwrap_or(0.0);
    let mut names: Vec<String> = Vec::new();
    for (_, tables) in of_ranks.clone() {
        for name in Value::keys(tables) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in names {
        for rows in Rows::of(&name, of_ranks.clone().map(|(rank, tables)| (Some(rank), Value::under(&name, tables)))) {
            book.add(sheet(&rows, &total, shows_rank))?;
            if rows.name == models::TABLE {
                models::add(book, &rows, &total, shows_rank)?;
            }
        }
    }
    Ok(())
}

/// Keys of a document that hold tables of the job as a whole.
pub(crate) const OF_JOB: [&str; 2] = [OF_COLLECTIVES, "across_ranks"];

/// The one of them for collectives.
pub(crate) const OF_COLLECTIVES: &str = "collective_tables";

/// Adds the tables of the job as a whole that `document` has under `keys`.
pub(crate) fn add_of_job(book: &mut Book, document: &impl Serialize, keys: &[&str]) -> Result<(), Error> {
    for key in Value::keys(document).into_iter().filter(|key| keys.contains(&key.as_str())) {
        let Value::Object(tables) = Value::under(&key, document) else { continue };
        for (name, table) in tables {
            for rows in Rows::of(&name, [(None, table)]) {
                book.add(sheet(&rows, &|_| 0.0, false))?;
            }
        }
    }
    Ok(())
}

/// Adds the collectives of the rank `number` as TraceLens' report of one rank has them: its rows of `nccl_summary_long`.
pub(crate) fn add_collectives_of(book: &mut Book, number: u32, document: &Document) -> Result<(), Error> {
    let all = document.collective_tables.as_ref().and_then(|tables| tables.nccl_summary_long.as_ref());
    let own: Vec<&RankCollectiveSummary> = all.into_iter().flatten().filter(|row| row.rank == number).collect();
    let tables = BTreeMap::from([(OF_RANKS, own)]);
    for rows in Rows::of(OF_RANKS, [(None, Value::under(OF_RANKS, &tables))]) {
        let mut sheet = sheet(&rows, &|_| 0.0, false);
        "coll_analysis".clone_into(&mut sheet.name);
        book.add(sheet)?;
    }
    Ok(())
}

/// The table of collectives by rank.
const OF_RANKS: &str = "nccl_summary_long";

/// Adds the table `name` of several sides to `book` as `sheet_name`, each row with the `source` it is of.
pub(crate) fn add_of_sides<S: Serialize>(
    book: &mut Book,
    (name, sheet_name): (&str, &str),
    sides: &[(&str, &S)],
    is_hidden: bool,
) -> Result<(), Error> {
    // The number of a side goes where that of a rank is in tables of ranks.
    let tables = (0..).zip(sides).map(|(side, (_, tables))| (Some(side), Value::under(name, *tables)));
    for rows in Rows::of(name, tables) {
        let mut sheet = sheet(&rows, &|_| 0.0, false);
        sheet_name.clone_into(&mut sheet.name);
        let of_side = |line: &Line<'_>| line.row.rank.and_then(|side| sides.get(side as usize)).map(|(label, _)| *label);
        sheet.columns.push(Column::new("source", Kind::Text(24), move |line: &Line<'_>| {
            of_side(line).map_or(Cell::Empty, |label| Cell::text(label.to_owned()))
        }));
        book.add_with(sheet, Besides { is_hidden, ..Besides::default() })?;
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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use calamine::{Reader, Xlsx};

    use super::*;

    #[derive(Serialize)]
    struct Straggler {
        rank: u32,
        total_wait_ns: i64,
        somewhat_new: bool,
    }

    #[derive(Serialize)]
    struct Tables {
        origin_ns: i64,
        straggler_summary: Vec<Straggler>,
        never_heard_of: Vec<(u8, u8)>,
    }

    #[derive(Serialize)]
    struct Job {
        title: &'static str,
        collective_tables: Tables,
    }

    #[test]
    fn tables_of_the_job_need_no_line_here() {
        let straggler_summary = vec![Straggler { rank: 3, total_wait_ns: 2_500, somewhat_new: true }];
        let tables = Tables { origin_ns: 7, straggler_summary, never_heard_of: vec![(1, 2)] };
        let mut book = Book::begin("a test", 10).unwrap();
        add_of_job(&mut book, &Job { title: "a job", collective_tables: tables }, &OF_JOB).unwrap();
        let mut out = Cursor::new(Vec::new());
        book.save(&mut out).unwrap();
        let mut book: Xlsx<_> = Xlsx::new(out).unwrap();
        assert_eq!(book.sheet_names(), ["straggler_summary", "never_heard_of"]);
        let sheet = book.worksheet_range("straggler_summary").unwrap();
        let rows: Vec<Vec<String>> = sheet.rows().map(|row| row.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(rows[0], ["rank", "total_wait_time_us", "somewhat_new"]);
        assert_eq!(rows[1], ["3", "2.5", "true"]);
    }
}
