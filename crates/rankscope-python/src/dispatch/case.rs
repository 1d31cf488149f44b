//! A case in, the answer of the command out: every function by its name, on JSON.

use std::sync::Arc;

use pyo3::prelude::*;
use rankscope_conformance::check as checks;
use rankscope_conformance::{Case, FileError, Files, KINDS, Revision, answer as answered};

use super::errors::{CaseError, case};

/// Cases from Python have arrays, not names of files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        Err(format!("{name}: files are read by the command; give the array itself").into())
    }

    fn write(&self, name: &str, _: &[u8]) -> Result<(), FileError> {
        Err(format!("{name}: files are written by the command; take the array from the answer").into())
    }

    fn shown(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// The answer to a case, both as JSON.
#[pyfunction]
pub(crate) fn answer(py: Python<'_>, asked: &str, documented: bool) -> PyResult<String> {
    py.detach(|| {
        let asked = read(asked)?;
        let revision = if documented { Revision::Documented } else { Revision::Exact };
        let answer = answered(&asked, revision).map_err(case)?;
        serde_json::to_string(&answer).map_err(|error| CaseError::new_err(error.to_string()))
    })
}

/// The findings of the command about an answer, whoever computed it; both as JSON.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, answer: &str) -> PyResult<String> {
    py.detach(|| {
        let findings = checks::check(&read(answer)?).map_err(case)?;
        serde_json::to_string(&findings).map_err(|error| CaseError::new_err(error.to_string()))
    })
}

fn read(json: &str) -> PyResult<Case> {
    let value = serde_json::from_str(json).map_err(|error| case(rankscope_conformance::Error::from(error)))?;
    Case::new(value, Arc::new(NoFiles)).map_err(case)
}

/// A name, and what it means.
type Named = (&'static str, &'static str);

/// Every kind of case, and its inputs.
#[pyfunction]
pub(crate) fn kinds() -> Vec<(Named, Vec<Named>)> {
    let inputs = |kind: &rankscope_conformance::Kind| kind.inputs.iter().map(|input| (input.0[0], input.1)).collect();
    KINDS.iter().map(|kind| ((kind.name, kind.line), inputs(kind))).collect()
}
