//! A column of a table: its header, what its cells are, and how one is taken from a row.

use std::borrow::Cow;

/// What is in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    /// The document does not have it.
    Empty,
    /// Text, whatever it looks like.
    Text(Cow<'a, str>),
    /// A number in the document's unit; its column divides it.
    Number(f64),
    Bool(bool),
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
        Self::percent_of(part as f64, total as f64)
    }

    /// The same of what has been added up already.
    pub(crate) fn percent_of(part: f64, total: f64) -> Self {
        if total > 0.0 { Self::Number(part / total * 100.0) } else { Self::Empty }
    }
}

/// What the cells of a column are, which says how they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text, with about so many characters to be seen.
    Text(u16),
    /// A word of what the evidence says, on the colour of that word.
    Verdict,
    /// A number that names something: a rank, a step.
    Id,
    Count,
    /// Nanoseconds, shown as milliseconds.
    Ms,
    /// Nanoseconds, shown as microseconds.
    Us,
    /// Already in percent.
    Percent,
    /// Already in percent, with a bar that begins at 0.
    Bar,
    /// A share, 0 to 1.
    Share,
    Rate,
    /// Operations, shown as 10^9 of them.
    Giga,
    /// Bytes, shown as 2^20 of them.
    MiB,
}

impl Kind {
    /// What a value is divided by.
    pub(crate) fn divisor(self) -> f64 {
        match self {
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Giga => 1e9,
            Self::MiB => 1_048_576.0,
            _ => 1.0,
        }
    }

    /// Characters that its values take.
    fn width(self) -> u16 {
        match self {
            Self::Text(width) => width,
            Self::Verdict => 18,
            Self::Id => 6,
            _ => 13,
        }
    }
}

/// Takes a cell from a row.
type Of<'a, R> = Box<dyn Fn(&R) -> Cell<'_> + 'a>;

/// A column of a table of `R`.
pub(crate) struct Column<'a, R> {
    pub(crate) header: Cow<'static, str>,
    pub(crate) kind: Kind,
    pub(crate) of: Of<'a, R>,
}

impl<'a, R> Column<'a, R> {
    pub(crate) fn new(header: impl Into<Cow<'static, str>>, kind: Kind, of: impl Fn(&R) -> Cell<'_> + 'a) -> Self {
        Self { header: header.into(), kind, of: Box::new(of) }
    }

    /// Characters that it is wide: those of its values and of its header, which has a button.
    pub(crate) fn width(&self) -> u16 {
        self.kind.width().max(u16::try_from(self.header.chars().count()).unwrap_or(60) + 6)
    }
}

/// Makes the headers of `columns` differ, as those of a table must, whatever their case.
pub(crate) fn differ<R>(columns: &mut [Column<'_, R>]) {
    let mut seen = std::collections::HashSet::new();
    for column in columns {
        let plain = column.header.clone().into_owned();
        let mut number = 1;
        while !seen.insert(column.header.to_lowercase()) {
            number += 1;
            column.header = format!("{plain} ({number})").into();
        }
    }
}
