//! Columns of tables: a head, a width, what a row has there, and what it is sorted by.

use rankscope_report::duration;

use crate::scene::Scene;

/// One column.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// Columns of the terminal; none takes what the others leave.
    pub(crate) width: Option<u16>,
    pub(crate) align: Align,
    /// It is left out on narrower terminals.
    pub(crate) from_width: u16,
    /// Whether there is anything to show; a column without is left out.
    pub(crate) is_known: fn(&Scene) -> bool,
    pub(crate) cell: fn(&Scene, usize) -> String,
    pub(crate) order: fn(&Scene, usize) -> Order,
}

/// Figures stand on the right, so that their units stand below each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What a row is sorted by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// What is not known comes last, whichever way rows are sorted.
    Number(Option<i64>),
    Text(String),
}

impl Order {
    pub(crate) fn is_absent(&self) -> bool {
        *self == Self::Number(None)
    }
}

/// The narrowest terminal.
pub(crate) const NARROW: u16 = 0;

/// What is always known.
pub(crate) fn always(_: &Scene) -> bool {
    true
}

/// What stands where nothing is known.
pub(crate) const ABSENT: &str = "–";

/// A duration, or that it is not known.
pub(crate) fn time(ns: Option<i64>) -> String {
    ns.map_or_else(|| ABSENT.to_owned(), |ns| duration(ns as f64))
}

/// What something may be off by.
pub(crate) fn error(ns: Option<i64>) -> String {
    ns.map_or_else(|| ABSENT.to_owned(), |ns| format!("± {}", duration(ns as f64)))
}

/// Any figure, or that it is not known.
pub(crate) fn figure(figure: Option<impl ToString>) -> String {
    figure.map_or_else(|| ABSENT.to_owned(), |figure| figure.to_string())
}

/// A part of a step.
pub(crate) fn part_of_step(ns: Option<i64>, step_ns: Option<i64>) -> String {
    match (ns, step_ns) {
        (Some(ns), Some(step_ns)) if step_ns > 0 => format!("{:.1} %", 100.0 * ns as f64 / step_ns as f64),
        _ => ABSENT.to_owned(),
    }
}
