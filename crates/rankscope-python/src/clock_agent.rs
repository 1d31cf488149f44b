//! The clock agent of a node on a thread of this process, which meets the others over the job's own store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rankscope_config::{ClockSettings, Sources, resolve};
use rankscope_launch::agent::{AgentRequest, run_over};

use crate::job_store::JobStore;

/// An agent that measures until it is stopped.
#[pyclass(frozen, module = "rankscope._native")]
pub(crate) struct ClockAgent {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<Result<(), String>>>>,
}

#[pymethods]
impl ClockAgent {
    /// Starts it over `store`, with `settings` as keys and values of the command line.
    #[new]
    fn start(store: &Bound<'_, PyAny>, settings: Vec<(String, String)>) -> PyResult<Self> {
        let lossy = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let environment: Vec<_> = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value))).collect();
        let resolved = resolve(&Sources { file: None, environment: &environment, flags: &settings });
        if let Some(complaint) = resolved.complaints.first() {
            return Err(PyRuntimeError::new_err(complaint.to_string()));
        }
        let settings = ClockSettings::of(&resolved);
        let request = AgentRequest {
            settings,
            rendezvous: None,
            duration: None,
            keep_minutes: false,
            on_demand: false,
            tell_ranks: false,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let store = Box::new(JobStore::new(store, Arc::clone(&stop))?);
        let switch = Arc::clone(&stop);
        let work = move || run_over(store, &request, &switch, &mut |_| {}).map_err(|error| error.to_string());
        let thread = std::thread::Builder::new().name("rankscope-agent".to_owned()).spawn(work)?;
        Ok(Self { stop, thread: Mutex::new(Some(thread)) })
    }

    /// Stops it, and waits until all it measured is written. Says once what went wrong.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else { return Ok(()) };
        let ended = py.detach(|| thread.join());
        ended.unwrap_or_else(|_| Err("the agent's thread failed".to_owned())).map_err(PyRuntimeError::new_err)
    }
}
