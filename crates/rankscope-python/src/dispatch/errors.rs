//! Exceptions by what was wrong, with the text that the command prints. Classes are in `rankscope.dispatch._errors`, because an exception
//! with two parents has to be Python's.

use pyo3::import_exception;
use pyo3::prelude::*;
use rankscope_plan_files::exported::ExportError;
use rankscope_plan_files::plan::PlanError as PlanFault;

import_exception!(rankscope.dispatch._errors, PlanError);
import_exception!(rankscope.dispatch._errors, DocumentsError);
import_exception!(rankscope.dispatch._errors, CaseError);
import_exception!(rankscope.dispatch._errors, NetworkError);

/// What a planner or an exchange refuses.
pub(super) fn plan(error: rankscope_dispatch::Error) -> PyErr {
    PlanError::new_err(error.to_string())
}

/// What the reader of plans refuses.
pub(super) fn plan_file(error: PlanFault) -> PyErr {
    PlanError::new_err(error.to_string())
}

/// Arguments that a plan does not have.
pub(super) fn export(error: ExportError) -> PyErr {
    PlanError::new_err(error.to_string())
}

/// What a function by DistCA's name refuses.
pub(super) fn case<E: Into<rankscope_conformance::Error>>(error: E) -> PyErr {
    CaseError::new_err(error.into().to_string())
}
