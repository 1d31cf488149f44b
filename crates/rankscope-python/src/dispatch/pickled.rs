//! Arrays in pickles: workers of data loaders send what they planned. Type, shape and values, lowest byte first, are all of an array.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::array::{Array, Words};
use super::errors::CaseError;

/// How `array` is made again, as pickle asks: a function, and what to give it.
pub(super) fn reduced<'py>(py: Python<'py>, array: &Array) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let again = py.import("rankscope.dispatch._arrays")?.getattr("_unpickled")?;
    let values = PyBytes::new(py, &array.words().bytes());
    Ok((again, (array.words().layout().0, array.axes().to_vec(), values).into_pyobject(py)?))
}

/// The array of a pickle.
#[pyfunction]
pub(crate) fn unpickled_array(dtype: &str, shape: Vec<usize>, values: &[u8]) -> PyResult<Array> {
    let words = match dtype {
        "int64" => Words::Int64(chunks(values).map(|word| i64::from_le_bytes(*word).into()).collect()),
        "int32" => Words::Int32(chunks(values).map(|word| i32::from_le_bytes(*word).into()).collect()),
        "uint64" => Words::UInt64(chunks(values).map(|word| u64::from_le_bytes(*word).into()).collect()),
        "uint32" => Words::UInt32(chunks(values).map(|word| u32::from_le_bytes(*word).into()).collect()),
        other => return Err(CaseError::new_err(format!("no array has values of type {other}"))),
    };
    let width = usize::from(words.layout().3 / 8);
    let expected = shape.iter().try_fold(width, |bytes, axis| bytes.checked_mul(*axis));
    if expected != Some(values.len()) {
        return Err(CaseError::new_err(format!("{} bytes are no array of {dtype} with shape {shape:?}", values.len())));
    }
    Ok(Array::shaped(shape, words))
}

fn chunks<const WIDTH: usize>(values: &[u8]) -> impl Iterator<Item = &[u8; WIDTH]> {
    values.as_chunks().0.iter()
}
