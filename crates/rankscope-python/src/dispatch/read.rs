//! Arrays from Python: our own, those of any library that speaks DLPack, and nested lists of integers.

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PySequence, PyString, PyTuple};
use rankscope_conformance::{ArrayError, Error, Place};
use rankscope_dispatch::Padded;

use super::array::Array;
use super::dlpack::{self, Taken};
use super::errors::{CaseError, case};

/// The same values in an array of ours.
#[pyfunction]
pub(crate) fn as_array(given: &Bound<'_, PyAny>) -> PyResult<Array> {
    Ok(Array::of(&array(given, "array")?))
}

/// The array that `given` is; messages call it `name`.
pub(super) fn array(given: &Bound<'_, PyAny>, name: &str) -> PyResult<Padded> {
    let at = |source: Error| case(Error::At { place: Place::Input(name.to_owned()), source: Box::new(source) });
    let no_integers = || at(ArrayError::NoInteger.into());
    let (shape, values) = if let Ok(array) = given.cast::<Array>() {
        (array.get().axes().to_vec(), array.get().values().ok_or_else(no_integers)?)
    } else if given.hasattr("__dlpack__")? {
        match handed(given)? {
            Some(Taken::Integers(shape, values)) => (shape, values),
            Some(Taken::Others) => return Err(no_integers()),
            Some(Taken::Elsewhere) => {
                let device = given.getattr("device").map_or_else(|_| "another device".to_owned(), |device| device.to_string());
                return Err(CaseError::new_err(format!("the input `{name}`: it is on {device}; give its copy on the CPU")));
            }
            None => nested(&given.call_method0("tolist")?).map_err(|fault| fault.error(at))?,
        }
    } else {
        nested(given).map_err(|fault| fault.error(at))?
    };
    Padded::new(&shape, values).map_err(|error| at(error.into()))
}

/// What a library hands out; `None` if it does not, as numpy with arrays that must not be written, which then have to be asked
/// for their lists.
fn handed(given: &Bound<'_, PyAny>) -> PyResult<Option<Taken>> {
    if let Ok(device) = given.call_method0("__dlpack_device__") {
        let (kind, _): (i32, i32) = device.extract()?;
        if !dlpack::is_readable(kind) {
            return Ok(Some(Taken::Elsewhere));
        }
    }
    match given.call_method0("__dlpack__") {
        Ok(capsule) => dlpack::take(capsule.cast::<PyCapsule>()?).map(Some),
        Err(_) if given.hasattr("tolist")? => Ok(None),
        Err(error) => Err(error),
    }
}

/// What is wrong with lists: as a case would say it, or what Python said itself.
enum ListFault {
    Array(ArrayError),
    Python(PyErr),
}

impl ListFault {
    fn error(self, at: impl Fn(Error) -> PyErr) -> PyErr {
        match self {
            Self::Array(error) => at(error.into()),
            Self::Python(error) => error,
        }
    }
}

impl From<PyErr> for ListFault {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Shape and values of nested lists or tuples; the first rows say how deep they are.
fn nested(lists: &Bound<'_, PyAny>) -> Result<(Vec<usize>, Vec<i64>), ListFault> {
    let (mut shape, mut level) = (Vec::new(), lists.clone());
    while let Some(list) = list(&level)? {
        shape.push(list.len()?);
        // Lists in a circle would have no end.
        if shape.len() > MOST_AXES || shape.last() == Some(&0) {
            break;
        }
        level = list.get_item(0)?;
    }
    let mut values = Vec::new();
    gather(lists, &shape, &mut values)?;
    Ok((shape, values))
}

/// More than any array here has.
const MOST_AXES: usize = 8;

fn list<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PySequence>>> {
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    if is_list || (value.cast::<PySequence>().is_ok() && !value.is_instance_of::<PyString>()) {
        return Ok(Some(value.cast::<PySequence>()?.clone()));
    }
    Ok(None)
}

fn gather(value: &Bound<'_, PyAny>, shape: &[usize], values: &mut Vec<i64>) -> Result<(), ListFault> {
    match (list(value)?, shape) {
        (Some(list), [axis, inner @ ..]) => {
            let length = list.len()?;
            if length != *axis {
                return Err(ListFault::Array(ArrayError::Ragged { length, first: *axis }));
            }
            (0..length).try_for_each(|at| gather(&list.get_item(at)?, inner, values))
        }
        (None, []) => {
            let number = value.extract::<i64>().map_err(|_| ListFault::Array(ArrayError::NoInteger))?;
            values.push(number);
            Ok(())
        }
        (Some(_), []) => Err(ListFault::Array(ArrayError::TooDeep)),
        (None, _) => {
            let value = value.repr().map_or_else(|_| "a value".to_owned(), |text| text.to_string());
            Err(ListFault::Array(ArrayError::NoList { value: value.into() }))
        }
    }
}
