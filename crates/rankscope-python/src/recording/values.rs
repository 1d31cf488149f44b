//! Arguments of events, from Python's values to the recorder's.
//!
//! Only what can be read without running a program's code is a value: numbers, texts, bytes and lists of whole numbers. Turning
//! a tensor into text would wait for its device, so anything else is recorded as the name of its type. Nothing here fails: an
//! argument must not end a training job.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use rankscope_record::{NameId, Value};

use super::names::{Sort, number};

/// A value, kept until it is written.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    Bool(bool),
    I64(i64),
    U64(u64),
    F64(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    I64s(Box<[i64]>),
    Nothing,
}

/// Arguments in their order.
pub(crate) type Args = Vec<(NameId, Kept)>;

impl Kept {
    fn of(value: &Bound<'_, PyAny>) -> Self {
        // A bool is a number to Python, so it comes first.
        if let Ok(value) = value.cast::<PyBool>() {
            Self::Bool(value.is_true())
        } else if value.is_none() {
            Self::Nothing
        } else if let Ok(number) = value.cast::<PyInt>() {
            whole(number).unwrap_or_else(|| type_of(value))
        } else if let Ok(value) = value.cast::<PyFloat>() {
            Self::F64(value.value())
        } else if let Ok(text) = value.cast::<PyString>() {
            Self::Text(text.to_string_lossy().into())
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            Self::Bytes(bytes.as_bytes().into())
        } else {
            numbers(value).unwrap_or_else(|| type_of(value))
        }
    }

    fn lend(&self) -> Value<'_> {
        match self {
            Self::Bool(value) => Value::Bool(*value),
            Self::I64(value) => Value::I64(*value),
            Self::U64(value) => Value::U64(*value),
            Self::F64(value) => Value::F64(*value),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::I64s(numbers) => Value::I64s(numbers),
            Self::Nothing => Value::Nothing,
        }
    }
}

/// A number of any length; beyond 64 bits it is the text of its digits.
fn whole(number: &Bound<'_, PyInt>) -> Option<Kept> {
    let long = || number.str().ok().map(|digits| Kept::Text(digits.to_string_lossy().into()));
    number.extract().map(Kept::I64).or_else(|_| number.extract().map(Kept::U64)).ok().or_else(long)
}

/// A list or tuple of whole numbers, as of a shape.
fn numbers(value: &Bound<'_, PyAny>) -> Option<Kept> {
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    let whole = |item: PyResult<Bound<'_, PyAny>>| item.ok()?.cast::<PyInt>().ok()?.extract::<i64>().ok();
    is_list.then(|| value.try_iter().ok()?.map(whole).collect::<Option<Box<[i64]>>>()).flatten().map(Kept::I64s)
}

fn type_of(value: &Bound<'_, PyAny>) -> Kept {
    let name = value.get_type().fully_qualified_name();
    Kept::Text(name.map_or_else(|_| "<unknown>".into(), |name| format!("<{}>", name.to_string_lossy()).into()))
}

/// Those of a call: keys are words.
pub(crate) fn kept(arguments: Option<&Bound<'_, PyDict>>) -> Args {
    let Some(arguments) = arguments else { return Args::new() };
    let keyed = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        Some((number(key.cast::<PyString>().ok()?, Sort::Key), Kept::of(&value)))
    };
    arguments.iter().filter_map(keyed).collect()
}

/// One more, with a key that is known here.
pub(crate) fn keep(args: &mut Args, key: NameId, value: &Bound<'_, PyAny>) {
    args.push((key, Kept::of(value)));
}

/// Lends them as the recorder wants them.
pub(crate) fn lent(args: &[(NameId, Kept)]) -> Vec<(NameId, Value<'_>)> {
    args.iter().map(|(key, value)| (*key, value.lend())).collect()
}
