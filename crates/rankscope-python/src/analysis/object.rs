//! Documents as Python's objects: what `json.loads` makes of their text, without the text.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use rankscope_document::Value;

/// `value` as dictionaries, lists, text and numbers. A number that is not finite is `None`, as JSON has it.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(is) => is.into_bound_py_any(py),
        Value::Integer(number) => number.into_bound_py_any(py),
        Value::Unsigned(number) => number.into_bound_py_any(py),
        Value::Float(number) => Some(*number).filter(|number| number.is_finite()).into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| object(py, item)).collect::<PyResult<_>>()?;
            PyList::new(py, items)?.into_bound_py_any(py)
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                // The same few keys, row after row.
                dict.set_item(PyString::intern(py, key), object(py, value)?)?;
            }
            dict.into_bound_py_any(py)
        }
    }
}
