//! Columns of tables: a head, a width, what a row has there, and what it is sorted by.

use rankscope_report::duration;

use crate::scene::Scene;

/// One column.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// Columns of the terminal; none takes what the others leave.
    pub(crate) width: Option<u16>,
    pub(crate) align: Align,
    /// It is left out on narrower terminals.
    pub(crate) from_width: u16,
    /// Whether there is anything to show; a column without is left out.
    pub(crate) is_known: fn(&Scene) -> bool,
    value: Value,
}

/// What a row has in a column: what is shown and what it is sorted by follow from it.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Time(Figure),
    /// What something may be off by.
    Error(Figure),
    Count(Figure),
    Text(fn(&Scene, usize) -> String),
    /// Something else than what it is sorted by.
    Shown {
        cell: fn(&Scene, usize) -> String,
        by: Figure,
    },
}

/// A figure of a row, if it is known.
type Figure = fn(&Scene, usize) -> Option<i64>;

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

impl Column {
    /// Figures.
    pub(crate) const fn figures(head: &'static str, width: u16, value: Value) -> Self {
        Self { head, width: Some(width), align: Align::Right, from_width: 0, is_known: |_| true, value }
    }

    /// Words.
    pub(crate) const fn words(head: &'static str, width: u16, value: Value) -> Self {
        Self { align: Align::Left, ..Self::figures(head, width, value) }
    }

    /// Words that take what the other columns leave.
    pub(crate) const fn rest(head: &'static str, value: Value) -> Self {
        Self { width: None, ..Self::words(head, 0, value) }
    }

    /// The same, left out on narrower terminals.
    pub(crate) const fn if_wide(self, from_width: u16) -> Self {
        Self { from_width, ..self }
    }

    /// The same, left out where there is nothing to show.
    pub(crate) const fn if_known(self, is_known: fn(&Scene) -> bool) -> Self {
        Self { is_known, ..self }
    }

    /// What the row at `at` has there.
    pub(crate) fn cell(&self, scene: &Scene, at: usize) -> String {
        match self.value {
            Value::Time(ns) => time(ns(scene, at)),
            Value::Error(ns) => error(ns(scene, at)),
            Value::Count(count) => figure(count(scene, at)),
            Value::Text(cell) | Value::Shown { cell, .. } => cell(scene, at),
        }
    }

    /// What it is sorted by.
    pub(crate) fn order(&self, scene: &Scene, at: usize) -> Order {
        match self.value {
            Value::Time(by) | Value::Error(by) | Value::Count(by) | Value::Shown { by, .. } => Order::Number(by(scene, at)),
            Value::Text(text) => Order::Text(text(scene, at)),
        }
    }
}

impl Order {
    pub(crate) fn is_absent(&self) -> bool {
        *self == Self::Number(None)
    }
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
