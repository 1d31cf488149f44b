//! What a rank tells on its live page beside steps: phases that the program marks, and collectives that it is in.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankscope_record::live::{self, Collective, InCollective as Inside, PageOp, Phase as Marked, enter_phase, leave_phase};

/// A phase of a training job: what `phase` makes.
#[pyclass(frozen, module = "rankscope", name = "Phase")]
pub(crate) struct Phase {
    marked: Marked,
    /// How often it was entered and not left.
    entered: AtomicU32,
}

/// Marks a phase in which it may be long before the process does anything else: `checkpoint`, `evaluation` or `initialisation`.
///
/// Whoever watches the job while it runs (`rankscope watch`, `top`, `hang`) is as patient as the phase asks for, and says what the rank does.
/// `training` marks the rest, for programs that mark every phase: then nothing else is waited for. Where the process is no rank of a run, it
/// costs next to nothing.
#[pyfunction]
#[pyo3(signature = (name, /))]
pub(crate) fn phase(name: &str) -> PyResult<Phase> {
    let marked = Marked::named(name).ok_or_else(|| {
        let names: Vec<&str> = Marked::ALL.iter().map(|marked| marked.name()).filter(|name| !name.is_empty()).collect();
        PyValueError::new_err(format!("there is no phase {name:?}: those are {}", names.join(", ")))
    })?;
    Ok(Phase { marked, entered: AtomicU32::new(0) })
}

#[pymethods]
impl Phase {
    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        this.get().entered.fetch_add(1, Ordering::Relaxed);
        enter_phase(this.get().marked);
        this
    }

    #[pyo3(signature = (_kind, _error, _traceback, /))]
    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        let was_entered =
            self.entered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |entered| entered.checked_sub(1)).is_ok();
        if was_entered {
            leave_phase(self.marked);
        }
    }
}

/// Whether this process has a live page.
#[pyfunction]
pub(crate) fn has_page() -> bool {
    live::has_page()
}

/// A collective that the rank is in, until it leaves or nobody knows of this any more.
#[pyclass(frozen, module = "rankscope._native", name = "InCollective")]
pub(crate) struct InCollective(Mutex<Option<Inside>>);

/// Tells that the rank comes to a collective.
#[pyfunction]
#[pyo3(signature = (group, members, sequence, op, bytes, /))]
pub(crate) fn enter_collective(group: &str, members: u32, sequence: u64, op: &str, bytes: u64) -> InCollective {
    let collective = Collective { group, members, sequence, op: PageOp::named(op), bytes };
    InCollective(Mutex::new(Some(live::collective(&collective))))
}

#[pymethods]
impl InCollective {
    /// It leaves.
    fn leave(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
