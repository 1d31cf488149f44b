//! [`RecordingError`]: what recording raises where a program asks for what cannot be. The class is in `rankscope._errors`, because an
//! exception with two parents has to be Python's.

use pyo3::import_exception;
use pyo3::prelude::*;

import_exception!(rankscope._errors, RecordingError);

/// An error of the recorder, in its own words.
pub(super) fn raised(error: impl std::fmt::Display) -> PyErr {
    RecordingError::new_err(error.to_string())
}
