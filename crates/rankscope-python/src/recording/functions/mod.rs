//! Functions of Python as spans: what the interpreter calls when a function begins, waits, goes on and ends.
//!
//! Since Python 3.12 that is `sys.monitoring`, which stops asking about a function that is not wanted; before, `sys.setprofile`,
//! which asks about every call. Either way a call costs a look-up by the address of its code object ([`codes`]) and two events.
//!
//! The interpreter does not say which begin an end belongs to, so each thread keeps what it began ([`stack`]). A generator or
//! coroutine is a span each time that it runs. Which functions are wanted and what they are called is decided in Python, once
//! for each.

mod codes;
mod profile_hook;
mod stack;

use pyo3::prelude::*;
use pyo3::types::{PyAny, PyType};
use rankscope_record::{Category, is_on};

pub(crate) use profile_hook::{on_profile, profile_natives};

use self::codes::Wanted;
use self::stack::Ended;

/// Records functions from now on. `describe(code)` returns what to call a function, or None if it is not wanted; `disable` is
/// what a callback answers so as not to be asked again; deeper calls than `depth_max` are left out.
#[pyfunction]
pub(crate) fn functions_on(describe: Py<PyAny>, disable: Py<PyAny>, depth_max: u32) {
    codes::begin(describe, disable, depth_max);
}

/// Records none any more. Returns the first exception that describing a function ended with.
#[pyfunction]
pub(crate) fn functions_off(py: Python<'_>) -> Option<Py<PyAny>> {
    codes::end(py)
}

/// Cuts off the functions that this thread is in.
#[pyfunction]
pub(crate) fn end_frames() {
    stack::end_all();
}

/// A function begins, or goes on (PY_START, PY_RESUME).
#[pyfunction]
#[pyo3(signature = (code, _offset, /))]
pub(crate) fn on_begin(code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    begin(code)
}

/// A generator or coroutine goes on with an exception (PY_THROW), of which the interpreter asks whatever it is answered.
#[pyfunction]
#[pyo3(signature = (code, _offset, _error, /))]
pub(crate) fn on_throw(code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>) {
    begin(code);
}

/// A function ends, or waits (PY_RETURN, PY_YIELD).
#[pyfunction]
#[pyo3(signature = (code, _offset, _value, /))]
pub(crate) fn on_end(code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    let key = address(code);
    match stack::end(key, None) {
        Ended::Yes => None,
        // Begun before anybody looked, or not wanted: only the latter need never be asked again.
        Ended::NotBegun => match codes::known(key) {
            Some(Wanted::No) => codes::disable(code.py()),
            _ => None,
        },
    }
}

/// A function ends with an exception (PY_UNWIND).
#[pyfunction]
#[pyo3(signature = (code, _offset, error, /))]
pub(crate) fn on_unwind(code: &Bound<'_, PyAny>, _offset: &Bound<'_, PyAny>, error: &Bound<'_, PyAny>) {
    stack::end(address(code), Some(error));
}

/// Something is called (CALL). Only functions written in C are recorded by it: the others say so themselves.
#[pyfunction]
#[pyo3(signature = (code, _offset, callable, _first, /))]
pub(crate) fn on_call(
    code: &Bound<'_, PyAny>,
    _offset: &Bound<'_, PyAny>,
    callable: &Bound<'_, PyAny>,
    _first: &Bound<'_, PyAny>,
) -> Option<Py<PyAny>> {
    if !matches!(codes::of(code), Wanted::As(_)) {
        return codes::disable(code.py());
    }
    if is_native(callable) && is_on(Category::PYTHON_FUNCTION) {
        stack::begin(address(callable), codes::native(callable));
    }
    None
}

/// A function written in C ends (C_RETURN).
#[pyfunction]
#[pyo3(signature = (_code, _offset, callable, _first, /))]
pub(crate) fn on_native_end(
    _code: &Bound<'_, PyAny>,
    _offset: &Bound<'_, PyAny>,
    callable: &Bound<'_, PyAny>,
    _first: &Bound<'_, PyAny>,
) {
    if is_native(callable) {
        stack::end(address(callable), None);
    }
}

#[inline]
fn begin(code: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    match codes::of(code) {
        Wanted::As(name) => {
            if is_on(Category::PYTHON_FUNCTION) {
                stack::begin(address(code), name);
            }
            None
        }
        Wanted::No => codes::disable(code.py()),
    }
}

#[inline]
fn address(object: &Bound<'_, PyAny>) -> usize {
    object.as_ptr() as usize
}

/// Whether it is a function written in C, of those whose end the interpreter tells.
fn is_native(callable: &Bound<'_, PyAny>) -> bool {
    const KINDS: [&str; 4] = ["builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "method-wrapper"];
    let kind = |kind: Bound<'_, PyType>| kind.name().is_ok_and(|name| KINDS.iter().any(|known| name == *known));
    kind(callable.get_type())
}
