//! Pauses for garbage collection, as spans: what `gc.callbacks` calls.

use std::cell::RefCell;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use rankscope_record::{Category, NameId, OpenSpan, Value, begin_raw, end_raw, is_on};

use super::names::{Sort, number_of};
use super::threads;

thread_local! {
    /// A collection does not begin while one runs on the same thread, but another thread's may.
    static RUNNING: RefCell<Option<OpenSpan>> = const { RefCell::new(None) };
}

/// Called with `start` and `stop`, and what was collected.
#[pyfunction]
#[pyo3(signature = (phase, about, /))]
pub(crate) fn on_collection(phase: &Bound<'_, PyString>, about: &Bound<'_, PyDict>) {
    let py = about.py();
    let fact = |key: &Bound<'_, PyString>| about.get_item(key).ok().flatten().and_then(|value| value.extract::<i64>().ok());
    let said = |keys: &[&Bound<'_, PyString>]| -> Vec<(NameId, Value<'static>)> {
        let keyed = |key: &&Bound<'_, PyString>| {
            let value = fact(key)?;
            Some((number_of(&key.to_string_lossy(), Sort::Key), Value::I64(value)))
        };
        keys.iter().filter_map(keyed).collect()
    };
    if phase.to_str().is_ok_and(|phase| phase == "start") {
        if is_on(Category::PYTHON_FUNCTION) {
            threads::told();
            let name = number_of("gc.collect", Sort::Function);
            let begun = begin_raw(name, &said(&[intern!(py, "generation")]));
            RUNNING.with_borrow_mut(|running| *running = begun);
        }
    } else if let Some(begun) = RUNNING.with_borrow_mut(Option::take) {
        end_raw(begun, &said(&[intern!(py, "collected"), intern!(py, "uncollectable")]));
    }
}
