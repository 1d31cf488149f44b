//! Threads' names, as Python knows them: until 3.14 it does not tell the system. And whether threads take turns.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rankscope_record::set_thread_name;

thread_local! {
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Tells the recorder what the calling thread is called, the first time.
#[inline]
pub(super) fn told() {
    if !TOLD.get() {
        tell();
    }
}

/// Whether this Python was built without a GIL.
static FREE_THREADED: AtomicBool = AtomicBool::new(false);

/// Whether threads may run Python at the same time; else they take turns.
#[inline]
pub(super) fn is_free_threaded() -> bool {
    FREE_THREADED.load(Ordering::Relaxed)
}

/// Looks what Python this is, as the module is imported.
pub(crate) fn look(py: Python<'_>) -> PyResult<()> {
    let flags: String = py.import("sys")?.getattr("abiflags")?.extract()?;
    FREE_THREADED.store(flags.contains('t'), Ordering::Relaxed);
    Ok(())
}

#[cold]
fn tell() {
    TOLD.set(true);
    let name = Python::attach(|py| own_name(py).ok().flatten());
    if let Some(name) = name {
        set_thread_name(&name);
    }
}

/// None of a thread that Python did not start. Nothing of a program runs here: the table and the name are plain attributes.
fn own_name(py: Python<'_>) -> PyResult<Option<String>> {
    let threading = py.import(intern!(py, "threading"))?;
    let own = threading.call_method0(intern!(py, "get_ident"))?;
    let thread = threading.getattr(intern!(py, "_active"))?.call_method1(intern!(py, "get"), (own,))?;
    if thread.is_none() {
        return Ok(None);
    }
    let name = thread.getattr(intern!(py, "_name"))?;
    Ok(name.cast::<PyString>().ok().map(|name| name.to_string_lossy().into_owned()))
}
