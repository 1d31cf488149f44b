//! The one function that `sys.setprofile` takes: it tells what happened by a word.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rankscope_record::{Category, is_on};

use super::{address, begin, codes, is_native, stack};

/// What a profile function is called with. A return with None is an exception's as often as a function's own, so exceptions are not
/// told here.
#[pyfunction]
#[pyo3(signature = (frame, event, argument, /))]
pub(crate) fn on_profile(frame: &Bound<'_, PyAny>, event: &Bound<'_, PyString>, argument: &Bound<'_, PyAny>) -> PyResult<()> {
    let code = frame.getattr(intern!(frame.py(), "f_code"))?;
    match event.to_str()? {
        "call" => drop(begin(&code)),
        "return" => drop(stack::end(address(&code), None)),
        "c_call" if NATIVE.load(Ordering::Relaxed) => {
            let is_wanted = matches!(codes::of(&code), codes::Wanted::As(_));
            if is_wanted && is_native(argument) && is_on(Category::PYTHON_FUNCTION) {
                stack::begin(address(argument), codes::native(argument));
            }
        }
        "c_return" | "c_exception" if NATIVE.load(Ordering::Relaxed) => {
            stack::end(address(argument), None);
        }
        _ => {}
    }
    Ok(())
}

/// Whether functions written in C are wanted.
static NATIVE: AtomicBool = AtomicBool::new(false);

/// Whether `on_profile` tells of functions written in C.
#[pyfunction]
pub(crate) fn profile_natives(wanted: bool) {
    NATIVE.store(wanted, Ordering::Relaxed);
}
