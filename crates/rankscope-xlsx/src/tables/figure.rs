//! What a column of a table says of a row: a key of it, or what follows from keys and from the rank's other rows.

use std::rc::Rc;

use rankscope_document::{Row, Rows, Value};

use super::keyed;
use crate::column::{Cell, Column, Kind};

/// A row of a table, with what percentages of it are of.
pub(super) struct Line<'a> {
    pub(super) row: &'a Row,
    /// Where it is among those of its sheet.
    at: usize,
    /// How long its rank was recorded.
    total: f64,
}

/// The rows of `rows` that are `wanted`.
pub(super) fn lines<'a>(rows: &'a Rows, total: &dyn Fn(Option<u32>) -> f64, wanted: impl Fn(&Row) -> bool) -> Vec<Line<'a>> {
    let mut of_rank = (None, total(None));
    let mut lines = Vec::new();
    for row in rows.rows.iter().filter(|row| wanted(row)) {
        if of_rank.0 != row.rank {
            of_rank = (row.rank, total(row.rank));
        }
        lines.push(Line { row, at: lines.len(), total: of_rank.1 });
    }
    lines
}

/// What a column holds.
#[derive(Clone, Copy)]
pub(super) enum Figure {
    /// A key, as it is.
    Key(&'static str),
    /// One key over another.
    Mean(&'static str, &'static str),
    /// A share in percent.
    Hundred(&'static str),
    /// The key in percent of its sum over the rows of the rank.
    Share(&'static str),
    /// The same of this row and those of the rank before it.
    Running(&'static str),
    /// The key in percent of the time that was recorded of the rank.
    OfTotal(&'static str),
    /// A list, as JSON.
    Json(&'static str),
    /// Whether there is a value.
    Known(&'static str),
}

impl Figure {
    /// The key that it shows.
    pub(super) fn shows(self) -> Option<&'static str> {
        match self {
            Self::Key(key) | Self::Hundred(key) | Self::Json(key) => Some(key),
            // The others say something about a key, but do not show it.
            Self::Mean(..) | Self::Share(_) | Self::Running(_) | Self::OfTotal(_) | Self::Known(_) => None,
        }
    }

    /// The column, where `rows` have its keys.
    pub(super) fn column<'a>(
        self,
        header: &'static str,
        kind: Kind,
        rows: &Rows,
        lines: &[Line<'a>],
    ) -> Option<Column<'a, Line<'a>>> {
        let number = |at: usize| move |line: &Line<'_>| line.row.values[at].number();
        Some(match self {
            Self::Key(key) => {
                let at = rows.column(key)?;
                Column::new(header, kind, move |line: &Line<'_>| keyed::cell(&line.row.values[at]))
            }
            Self::Json(key) => {
                let at = rows.column(key)?;
                Column::new(header, kind, move |line: &Line<'_>| match &line.row.values[at] {
                    Value::Null => Cell::Empty,
                    value => serde_json::to_string(value).map_or(Cell::Empty, Cell::text),
                })
            }
            Self::Mean(sum, count) => {
                let (sum, count) = (number(rows.column(sum)?), number(rows.column(count)?));
                Column::new(header, kind, move |line| match (sum(line), count(line)) {
                    (Some(sum), Some(count)) if count > 0.0 => Cell::Number(sum / count),
                    _ => Cell::Empty,
                })
            }
            Self::Hundred(key) => {
                let share = number(rows.column(key)?);
                Column::new(header, kind, move |line| Cell::maybe(share(line).map(|share| share * 100.0)))
            }
            Self::Share(key) => {
                let parts = parts(lines, number(rows.column(key)?));
                Column::new(header, kind, move |line: &Line<'_>| Cell::percent_of(parts[line.at].own, *parts[line.at].all))
            }
            Self::Running(key) => {
                let parts = parts(lines, number(rows.column(key)?));
                Column::new(header, kind, move |line: &Line<'_>| Cell::percent_of(parts[line.at].running, *parts[line.at].all))
            }
            Self::OfTotal(key) => {
                let part = number(rows.column(key)?);
                Column::new(header, kind, move |line| part(line).map_or(Cell::Empty, |part| Cell::percent_of(part, line.total)))
            }
            Self::Known(key) => {
                let at = rows.column(key)?;
                Column::new(header, kind, move |line: &Line<'_>| Cell::Bool(line.row.values[at] != Value::Null))
            }
        })
    }
}

/// A row's part in the sum over its rank.
struct Part {
    own: f64,
    running: f64,
    all: Rc<f64>,
}

fn parts(lines: &[Line<'_>], of: impl Fn(&Line<'_>) -> Option<f64>) -> Vec<Part> {
    let mut parts = Vec::with_capacity(lines.len());
    for rank in lines.chunk_by(|a, b| a.row.rank == b.row.rank) {
        let all = Rc::new(rank.iter().filter_map(&of).sum());
        let mut running = 0.0;
        for line in rank {
            let own = of(line).unwrap_or(0.0);
            running += own;
            parts.push(Part { own, running, all: Rc::clone(&all) });
        }
    }
    parts
}
