//! Errors of the pipeline as Python's exceptions, with the text that the command prints. Classes are in `rankscope._errors`, because an
//! exception with two parents has to be Python's.

use std::any::Any;

use pyo3::prelude::*;
use rankscope_pipeline::{Error, ExitClass, told};
use rankscope_report::plain::one_line;

/// Why there is no answer: whose fault it is, and the text.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    text: String,
}

impl Failure {
    /// What was asked for makes no sense.
    pub(crate) fn usage(text: impl Into<String>) -> Self {
        Self { class: "UsageError", text: text.into() }
    }

    /// An input is not what it must be.
    pub(crate) fn input(text: impl Into<String>) -> Self {
        Self { class: "InputError", text: text.into() }
    }

    /// Something else failed.
    pub(crate) fn other(error: &(dyn std::error::Error + 'static)) -> Self {
        Self { class: "Error", text: told(error) }
    }

    /// The exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        raised(py, self.class, &one_line(&self.text))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let class = match error.class() {
            ExitClass::Usage => "UsageError",
            ExitClass::InputChanged => "InputChanged",
            _ => match error {
                Error::Io { .. } | Error::Timeline(_) | Error::Page(_) | Error::Workbook { .. } | Error::Cancelled => "Error",
                _ => "InputError",
            },
        };
        Self { class, text: told(&error) }
    }
}

impl From<rankscope_run::Error> for Failure {
    fn from(error: rankscope_run::Error) -> Self {
        Error::from(error).into()
    }
}

/// A defect of ours, which said this as it panicked.
pub(crate) fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = format!("a defect of rankscope {}: {}", env!("CARGO_PKG_VERSION"), said.unwrap_or("it panicked"));
    raised(py, "InternalError", &one_line(&text))
}

fn raised(py: Python<'_>, class: &str, text: &str) -> PyErr {
    let exception = || py.import("rankscope._errors")?.getattr(class)?.call1((text,));
    match exception() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
