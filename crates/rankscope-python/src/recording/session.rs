//! Sessions of the recorder, and what they leave.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankscope_record::live::Told;
use rankscope_record::plugins::Registry;
use rankscope_record::snapshots::{SnapshotOptions, SnapshotTaker, TracerReader};
use rankscope_record::{
    Categories, Category, ExportFormat, OpenSpan, Overflow, Recorded as Events, Session, SessionOptions, Storage,
    begin_step_raw, end_raw, set_metadata, set_process_name,
};

use super::error::raised;
use super::threads;

/// What is never made here, so that a session for it alone keeps a file open and records nothing.
const NOTHING: Categories = Category::CUDA_PROFILER_RANGE.alone();

/// A session that runs. It is stopped with this object, unless it was before.
#[pyclass(frozen, module = "rankscope._native", name = "Session")]
pub(crate) struct PySession {
    session: Session,
    /// By which the job is watched while it runs; none where the process is no rank of a run.
    page: Mutex<Option<Told>>,
}

#[pymethods]
impl PySession {
    /// Starts one, into the live file `path`, or in memory. One that is `idle` records nothing until it is told to, but keeps the
    /// recording that others join. Where there are devices with clocks, they are read into the file `clocks`. With `page`, a run directory and a
    /// rank, whoever watches the run sees where this process is.
    #[new]
    #[pyo3(signature = (path, *, idle, max_bytes, ring_s, keep_earlier, clocks, page))]
    #[expect(clippy::too_many_arguments, reason = "Python gives all but the first by name")]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        idle: bool,
        max_bytes: u64,
        ring_s: Option<f64>,
        keep_earlier: u32,
        clocks: Option<PathBuf>,
        page: Option<(PathBuf, u32)>,
    ) -> PyResult<Self> {
        let options = SessionOptions::default()
            .with_storage(path.map_or(Storage::Memory, Storage::File))
            .with_keep_earlier(keep_earlier)
            .with_categories(if idle { NOTHING } else { Categories::ALL })
            .with_overflow(overflow(max_bytes, ring_s)?);
        let session = py.detach(|| Session::start_with(options, device_clocks(clocks))).map_err(raised)?;
        // A rank that cannot be watched is recorded all the same.
        let page = page.and_then(|(run, rank)| Told::begin(&run, rank, None).ok());
        Ok(Self { session, page: Mutex::new(page) })
    }

    /// Records from now on, or does not.
    fn record(&self, py: Python<'_>, wanted: bool) -> PyResult<()> {
        let categories = if wanted { Categories::ALL } else { NOTHING };
        py.detach(|| self.session.set_categories(categories)).map_err(raised)
    }

    /// The live file it records into.
    fn live_file(&self, py: Python<'_>) -> PyResult<Option<PathBuf>> {
        let recorded = py.detach(|| self.session.snapshot()).map_err(raised)?;
        Ok(recorded.live_file().map(ToOwned::to_owned))
    }

    /// What was recorded so far.
    fn snapshot(&self, py: Python<'_>) -> PyResult<Recorded> {
        py.detach(|| self.session.snapshot()).map(Recorded).map_err(raised)
    }

    /// Ends it. Returns what it recorded, and how it went as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<(Recorded, String)> {
        let stopped = py.detach(|| self.session.stop()).map_err(raised)?;
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let report = serde_json::to_string(&stopped.report).map_err(raised)?;
        Ok((Recorded(stopped.recorded), report))
    }
}

/// What reads the clocks of devices, where there are any; without them there is no thread for it.
fn device_clocks(path: Option<PathBuf>) -> Registry {
    let mut plugins = Registry::new();
    if let Some(path) = path {
        let (clocks, _absent) = TracerReader::devices();
        if !clocks.is_empty() {
            plugins.register(SnapshotTaker::new(SnapshotOptions::of(clocks, path)));
        }
    }
    plugins
}

fn overflow(max_bytes: u64, ring_s: Option<f64>) -> PyResult<Overflow> {
    match ring_s {
        None => Ok(Overflow::Stop { max_bytes }),
        Some(seconds) => {
            let keep = Duration::try_from_secs_f64(seconds).map_err(|error| PyValueError::new_err(error.to_string()))?;
            Ok(Overflow::Ring { max_bytes, keep })
        }
    }
}

/// What a session recorded.
#[pyclass(frozen, module = "rankscope._native", name = "Recorded")]
pub(crate) struct Recorded(pub(super) Events);

#[pymethods]
impl Recorded {
    /// Writes it in the format of the file's name, or as Chrome JSON whatever that is.
    #[pyo3(signature = (path, *, chrome))]
    fn save(&self, py: Python<'_>, path: PathBuf, chrome: bool) -> PyResult<()> {
        let saved = py.detach(|| if chrome { self.0.export(ExportFormat::KinetoJson, &path) } else { self.0.save(&path) });
        saved.map_err(raised)
    }

    /// Puts the packed recording in the place of the live file; nothing happens to one in memory.
    fn pack(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.pack_in_place()).map_err(raised)
    }
}

/// A step of the training loop that is under way. Ended on another thread than began it, it is left open, and counted.
#[pyclass(frozen, module = "rankscope._native", name = "Step")]
pub(crate) struct Step(Mutex<Option<OpenSpan>>);

#[pymethods]
impl Step {
    /// Begins step `number`.
    #[new]
    fn new(number: i64) -> Self {
        threads::told();
        Self(Mutex::new(begin_step_raw(number)))
    }

    /// Ends it.
    fn end(&self) {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(open) = open {
            end_raw(open, &[]);
        }
    }
}

/// Says something about the recording that runs; `json` is JSON text.
#[pyfunction]
pub(crate) fn metadata(key: &str, json: &str) {
    set_metadata(key, json);
}

/// Calls the process something in the recording that runs.
#[pyfunction]
pub(crate) fn process_name(name: &str) {
    set_process_name(name);
}

/// The rank that whoever started the process gave it.
#[pyfunction]
pub(crate) fn own_rank() -> Option<u32> {
    rankscope_record::own_rank()
}
