//! [`RecordingError`]: what recording raises where a program asks for what cannot be.

use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(
    rankscope,
    RecordingError,
    PyRuntimeError,
    "A recording could not be started, stopped, looked at or written."
);

/// An error of the recorder, in its own words.
pub(super) fn raised(error: impl std::fmt::Display) -> PyErr {
    RecordingError::new_err(error.to_string())
}
