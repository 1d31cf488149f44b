//! Work of the pipeline on a thread of its own, while the thread that asked waits without the interpreter's lock. So Ctrl-C ends the
//! waiting at once, progress is told by the thread that asked, and a panic is an exception there and nothing else.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rankscope_pipeline::{Progress, Stage};

use super::failure::{Failure, internal};

/// How often signals are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long cancelled work is waited for: that it takes its temporary files away is worth that much.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Threads of the standard library have less stack than the first one, on which the command works.
const STACK_BYTES: usize = 8 << 20;

/// What is known of the work while it goes on.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    cancelled: AtomicBool,
    writes: AtomicBool,
    done: AtomicUsize,
    of: AtomicUsize,
    ended: Mutex<bool>,
    end: Condvar,
}

impl Progress for Watch {
    fn begin(&self, stage: Stage, files: usize) {
        self.writes.store(stage == Stage::Writing, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.of.store(files, Ordering::Relaxed);
    }

    fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.of.store(0, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Watch {
    /// Waits for the end of the work, but not for long; whether it has ended.
    fn has_ended_within(&self, time: Duration) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let (ended, _) = self.end.wait_timeout_while(ended, time, |ended| !*ended).unwrap_or_else(PoisonError::into_inner);
        *ended
    }

    /// Tells `listener` how far the work has come, if that is more than was `told`.
    fn tell(&self, py: Python<'_>, listener: &Py<PyAny>, told: &mut (bool, usize, usize)) -> PyResult<()> {
        let now = (self.writes.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed), self.of.load(Ordering::Relaxed));
        if now != *told {
            *told = now;
            let stage = if now.0 { "writing" } else { "reading" };
            listener.call1(py, (stage, now.1, now.2))?;
        }
        Ok(())
    }
}

/// Says that the work has ended, however it did.
struct Ends(Arc<Watch>);

impl Drop for Ends {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.end.notify_all();
    }
}

/// What `act` gives. `listener` is called with a stage and two numbers while it works, and cancels it by raising.
pub(crate) fn work<T: Send + 'static>(
    py: Python<'_>,
    listener: Option<Py<PyAny>>,
    act: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let ends = Ends(Arc::clone(&watch));
    let worker = thread::Builder::new().name("rankscope".to_owned()).stack_size(STACK_BYTES).spawn(move || act(&ends.0))?;
    let mut told = (false, 0, 0);
    while !py.detach(|| watch.has_ended_within(LOOK_EVERY)) {
        let listened = listener.as_ref().map_or(Ok(()), |listener| watch.tell(py, listener, &mut told));
        if let Err(interrupt) = py.check_signals().and(listened) {
            watch.cancelled.store(true, Ordering::Relaxed);
            let begun = Instant::now();
            py.detach(|| while !watch.has_ended_within(LOOK_EVERY) && begun.elapsed() < ENDS_WITHIN {});
            return Err(interrupt);
        }
    }
    match py.detach(|| worker.join()) {
        Ok(done) => done.map_err(|failure| failure.raised(py)),
        Err(panic) => Err(internal(py, panic.as_ref())),
    }
}

/// Panics with `message`, as a defect of ours would. For the test of what becomes of it.
#[pyfunction]
pub(crate) fn panic_in_work(py: Python<'_>, message: String) -> PyResult<()> {
    work(py, None, move |_| resume_unwind(Box::new(message)))
}
