//! Exceptions by what was wrong. The text is that of the command; all of them are a `ValueError`, too.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankscope_plan_files::exported::ExportError;
use rankscope_plan_files::plan::PlanError as PlanFault;

create_exception!(rankscope.dispatch, DispatchError, PyValueError, "Something about a dispatch that cannot be done.");
create_exception!(rankscope.dispatch, PlanError, DispatchError, "No plan can be made of this, or this is no plan.");
create_exception!(rankscope.dispatch, DocumentsError, DispatchError, "These are no lengths of documents.");
create_exception!(rankscope.dispatch, CaseError, DispatchError, "A function of DistCA's cannot answer to these inputs.");
create_exception!(rankscope.dispatch, NetworkError, DispatchError, "This is no network.");

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
