//! A raw probe log, fitted window by window: the file, what is wrong with it, and the length of windows as people write it.

use std::path::Path;

use rankscope_clock::fit::FitOptions;
use rankscope_clock::fit_log::{FittedWindow, fit_log};
use rankscope_clock::probe_log::{self, LineProblem, ProbeLog};
use rankscope_run::SideFile;
use rankscope_time::Span;
use serde::Serialize;

use crate::Error;
use crate::inflate::{Inflated, read_inflated};

/// The clock difference of two hosts, window by window. What is serialised is the windows.
#[derive(Debug, Serialize)]
pub struct FittedLog {
    /// The windows in order.
    pub windows: Vec<FittedWindow>,
    /// Lines that could not be read.
    #[serde(skip)]
    pub problems: Vec<LineProblem>,
}

/// Fits the log at `path`, plain or gzip, in windows of the length `window`.
///
/// # Errors
/// [`Error::Run`] for a file that cannot be read, [`Error::ProbeLog`] for one that is no probe log.
pub fn fit_probe_log(path: &Path, window: Span, options: &FitOptions) -> Result<FittedLog, Error> {
    let ProbeLog { exchanges, problems } = read(path)?;
    let windows = fit_log(exchanges, window, options);
    match windows.is_empty() {
        true => Err(refused(path, ProbeLogFault::NoStamps)),
        false => Ok(FittedLog { windows, problems }),
    }
}

/// What can be wrong with a probe log as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeLogFault {
    /// No line is one of a probe log.
    #[error("{first}; a probe log has five columns, tab-separated: seq a_tx_ns b_rx_ns b_tx_ns a_rx_ns")]
    NoLines {
        /// What is wrong with the first of them.
        first: String,
    },
    /// Nothing can be placed in time.
    #[error("no line has a timestamp of a, so nothing can be placed on its clock")]
    NoStamps,
    /// It cannot be unpacked.
    #[error("damaged gzip; copy the file again")]
    Gzip,
}

fn refused(path: &Path, fault: ProbeLogFault) -> Error {
    Error::ProbeLog { path: path.to_owned(), fault }
}

fn read(path: &Path) -> Result<ProbeLog, Error> {
    let text = read_inflated(path, SideFile::Clock).map_err(|error| match error {
        Inflated::Damaged(_) => refused(path, ProbeLogFault::Gzip),
        Inflated::Run(error) => error.into(),
    })?;
    let log = probe_log::parse(&text);
    if log.exchanges.is_empty() {
        let first = log.problems.first().map_or_else(|| "the file is empty".to_owned(), ToString::to_string);
        return Err(refused(path, ProbeLogFault::NoLines { first }));
    }
    Ok(log)
}

/// A length that no window has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowLengthError {
    /// In a unit that nobody knows.
    #[error("unknown unit `{unit}`; use s, ms or us")]
    Unit {
        /// The unit.
        unit: String,
    },
    /// Not a number.
    #[error("expected a time such as 4s, 500ms or 2")]
    Number,
    /// Too short or too long.
    #[error("a window must be between 1 us and 1 hour long")]
    Length,
}

/// The length of a window as people write it: `4s`, `500ms`, `250us`, or a number of seconds.
///
/// # Errors
/// [`WindowLengthError`].
pub fn window_length(text: &str) -> Result<Span, WindowLengthError> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns = match &text[digits.len()..] {
        "" | "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        unit => return Err(WindowLengthError::Unit { unit: unit.to_owned() }),
    };
    let number: f64 = digits.parse().map_err(|_| WindowLengthError::Number)?;
    let ns = number * unit_ns;
    if !(1e3..=3.6e12).contains(&ns) {
        return Err(WindowLengthError::Length);
    }
    Ok(Span::from_nanos(ns.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_units() {
        let ns = |text| window_length(text).map(Span::as_nanos);
        assert_eq!(ns("4s"), Ok(4_000_000_000));
        assert_eq!(ns("500ms"), Ok(500_000_000));
        assert_eq!(ns("2"), Ok(2_000_000_000));
        assert_eq!(ns("0.5"), Ok(500_000_000));
        for wrong in ["", "s", "4h", "0", "-4s", "nan", "1e99"] {
            assert!(ns(wrong).is_err(), "{wrong}");
        }
    }
}
