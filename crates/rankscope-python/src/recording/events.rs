//! Moments, values and arrows.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use rankscope_record::{Category, FlowStage, counter_f64, counter_i64, flow, instant as record_instant, is_on};

use super::names::{Sort, number};
use super::values;

/// Records a moment.
#[pyfunction]
#[pyo3(signature = (name, /, **arguments))]
pub(crate) fn instant(name: &Bound<'_, PyString>, arguments: Option<&Bound<'_, PyDict>>) {
    if is_on(Category::USER_ANNOTATION) {
        let args = values::kept(arguments);
        record_instant(number(name, Sort::Annotation), &values::lent(&args));
    }
}

/// Records a value.
#[pyfunction]
#[pyo3(signature = (name, value, /))]
pub(crate) fn counter(name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let is_whole = value.is_instance_of::<PyInt>();
    if !is_whole && !value.is_instance_of::<PyFloat>() {
        let found = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "the value of counter {} must be an int or a float, not {found}",
            name.repr()?
        )));
    }
    if is_on(Category::CPU_INSTANT_EVENT) {
        let name = number(name, Sort::Counter);
        // What needs more than 64 bits is a float's matter.
        match value.extract::<i64>() {
            Ok(whole) if is_whole => counter_i64(name, whole),
            _ => counter_f64(name, value.extract().unwrap_or(f64::INFINITY)),
        }
    }
    Ok(())
}

/// Records a point of the arrow `id` in the innermost span of this thread: 0 begins it, 1 leads on, 2 ends it.
#[pyfunction]
#[pyo3(signature = (name, id, stage, /))]
pub(crate) fn flow_point(name: &Bound<'_, PyString>, id: u64, stage: u8) {
    if is_on(Category::USER_ANNOTATION) {
        let stage = match stage {
            0 => FlowStage::Start,
            1 => FlowStage::Step,
            _ => FlowStage::End,
        };
        flow(number(name, Sort::Annotation), id, stage);
    }
}
