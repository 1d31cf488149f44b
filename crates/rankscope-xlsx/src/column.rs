//! A column of a table: its header, what its cells are, and how one is taken from a row.

use std::borrow::Cow;

use rankscope_document::Time;

/// What is in a cell.
pub(crate) enum Cell<'a> {
    /// The document does not have it.
    Empty,
    /// Text, whatever it looks like.
    Text(Cow<'a, str>),
    /// A number; a time is in nanoseconds, and its column divides it.
    Number(f64),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn maybe_text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Empty, Self::text)
    }

    pub(crate) fn count(count: impl Into<u64>) -> Self {
        Self::Number(count.into() as f64)
    }

    /// A length of time.
    pub(crate) fn ns(ns: i64) -> Self {
        Self::Number(ns as f64)
    }

    pub(crate) fn maybe(number: Option<f64>) -> Self {
        number.map_or(Self::Empty, Self::Number)
    }

    /// `part` of `total` in percent.
    pub(crate) fn percent(part: i64, total: i64) -> Self {
        if total <= 0 { Self::Empty } else { Self::Number(part as f64 / total as f64 * 100.0) }
    }
}

/// What the cells of a column are, which says how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, with about so many characters to be seen.
    Text(u16),
    /// A number that names something: a rank, a step.
    Id,
    Count,
    /// Nanoseconds, shown as milliseconds.
    Ms,
    /// Nanoseconds, shown as microseconds.
    Us,
    /// Already in percent.
    Percent,
    Rate,
}

impl Kind {
    /// What a value is divided by.
    pub(crate) fn divisor(self) -> f64 {
        match self {
            Self::Ms => 1e6,
            Self::Us => 1e3,
            _ => 1.0,
        }
    }

    /// Characters that its values take.
    fn width(self) -> u16 {
        match self {
            Self::Text(width) => width,
            Self::Id => 6,
            _ => 13,
        }
    }
}

/// A column of a table of `R`.
pub(crate) struct Column<R> {
    pub(crate) header: &'static str,
    pub(crate) kind: Kind,
    pub(crate) of: fn(&R) -> Cell<'_>,
}

impl<R> Column<R> {
    pub(crate) fn new(header: &'static str, kind: Kind, of: fn(&R) -> Cell<'_>) -> Self {
        Self { header, kind, of }
    }

    /// Characters that it is wide: those of its values and of its header, which has a button.
    pub(crate) fn width(&self) -> u16 {
        self.kind.width().max(u16::try_from(self.header.chars().count()).unwrap_or(60) + 6)
    }
}

/// A row of TraceLens' `gpu_timeline`: its name, and the time.
pub(crate) type TimeOf = (&'static str, fn(&Time) -> i64);

/// The rows of TraceLens' `gpu_timeline`, in its order.
pub(crate) const TIMES: [TimeOf; 8] = [
    ("computation_time", |time| time.computation),
    ("exposed_comm_time", |time| time.exposed_comm),
    ("exposed_memcpy_time", |time| time.exposed_memcpy),
    ("busy_time", |time| time.busy),
    ("idle_time", |time| time.idle),
    ("total_time", |time| time.total),
    ("total_comm_time", |time| time.total_comm),
    ("total_memcpy_time", |time| time.total_memcpy),
];
