//! [`SnapshotTaker`]: the plugin that reads clocks through a session, on a thread of its own.
//!
//! The thread reads once at the start, at every period, and once at the end, so that no event of the session lies outside. It
//! stops by itself when its file is refused or no clock is left, and says so once. A stop waits for it a moment and no longer:
//! a driver that hangs must not hang the program.

use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::TracerReader;
use super::device::ClockAbsent;
use super::sandwich::Kernel;
use super::series::{Pace, Series, write_header};
use crate::about::set_metadata;
use crate::keeper::block_signals;
use crate::plugins::{PluginError, ProfilerPlugin, TraceSink};
use crate::session::SessionOptions;

/// What is read, how often, and where it goes.
#[derive(Debug)]
#[non_exhaustive]
pub struct SnapshotOptions {
    /// The file, which lines are appended to; in a run directory `clock/snapshots-rank<r>.jsonl`.
    pub path: PathBuf,
    /// The clocks.
    pub clocks: Vec<TracerReader>,
    /// Clocks that were looked for and are not here; the recording names them.
    pub absent: Vec<ClockAbsent>,
    /// Between readings, at first.
    pub period: Duration,
    /// Readings made at once, of which the narrowest is kept.
    pub tries: u32,
    /// Readings that are surer than this are kept.
    pub half_width_max_ns: u64,
    /// Readings of each clock after which the period doubles.
    pub rounds_max: u64,
}

impl SnapshotOptions {
    /// Every clock of this machine every 100 ms, the narrowest of five; the period doubles every hour at first, and readings
    /// off by up to 100 us are kept, since whoever uses them weighs them.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        let (clocks, absent) = TracerReader::available();
        Self { absent, ..Self::of(clocks, path) }
    }

    /// The same of `clocks` alone.
    pub fn of(clocks: Vec<TracerReader>, path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            clocks,
            absent: Vec::new(),
            period: Duration::from_millis(100),
            tries: 5,
            half_width_max_ns: 100_000,
            rounds_max: 36_000,
        }
    }
}

/// What became of the readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotCounts {
    /// Written.
    pub taken: u64,
    /// Not made: their time had passed, or the clock gave no answer.
    pub missed: u64,
    /// Made and not written: too wide, or the file was refused.
    pub dropped: u64,
    /// Left out because the session is long.
    pub thinned: u64,
}

/// The plugin.
#[derive(Debug)]
pub struct SnapshotTaker {
    /// None once the thread has them.
    options: Option<SnapshotOptions>,
    running: Option<Running>,
    counts: Arc<Mutex<SnapshotCounts>>,
    /// As they were when the thread began.
    names: Vec<String>,
    absent: Vec<String>,
}

#[derive(Debug)]
struct Running {
    /// The thread ends when this is dropped.
    until_dropped: Sender<()>,
    ended: Receiver<Vec<String>>,
}

impl SnapshotTaker {
    /// One that begins with its session.
    pub fn new(options: SnapshotOptions) -> Self {
        let names = options.clocks.iter().map(|clock| clock.name.clone()).collect();
        let absent = options.absent.iter().map(ToString::to_string).collect();
        Self { options: Some(options), running: None, counts: Arc::default(), names, absent }
    }

    /// What became of the readings so far.
    pub fn counts(&self) -> SnapshotCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProfilerPlugin for SnapshotTaker {
    fn name(&self) -> &str {
        "snapshots"
    }

    fn is_enabled(&self) -> bool {
        !self.names.is_empty()
    }

    fn initialize(&mut self, _: &SessionOptions) -> Result<(), PluginError> {
        let folder = self.options.as_ref().and_then(|options| options.path.parent());
        Ok(folder.map_or(Ok(()), fs::create_dir_all)?)
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        let Some(options) = self.options.take() else { return Ok(()) };
        let named = |error: std::io::Error| format!("{}: {error}", options.path.display());
        let mut file = OpenOptions::new().create(true).append(true).open(&options.path).map_err(named)?;
        write_header(&mut file, nanos(options.period)).map_err(named)?;
        let (until_dropped, stopping) = mpsc::channel();
        let (say_ended, ended) = mpsc::channel();
        let counts = self.counts.clone();
        thread::Builder::new().name("rankscope-snap".to_owned()).stack_size(256 << 10).spawn(move || {
            block_signals();
            let lost = take_until(&stopping, options, file, &counts);
            // Nobody listens any more if the session did not wait.
            let _ = say_ended.send(lost);
        })?;
        self.running = Some(Running { until_dropped, ended });
        Ok(())
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        let Some(Running { until_dropped, ended }) = self.running.take() else { return Ok(()) };
        drop(until_dropped);
        match ended.recv_timeout(STOP_PATIENCE) {
            Ok(lost) if lost.is_empty() => Ok(()),
            Ok(lost) => Err(lost.join("; ").into()),
            Err(_) => Err("a clock has not answered for two seconds; its thread was left behind".into()),
        }
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        sink.metadata("clocks", &serde_json::to_string(&self.names)?);
        sink.metadata("absent", &serde_json::to_string(&self.absent)?);
        sink.metadata("counts", &serde_json::to_string(&self.counts())?);
        Ok(())
    }
}

/// Longer than any clock takes that works at all.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Reads until told to stop or nothing is left to do, and returns what was lost on the way.
fn take_until(
    stopping: &Receiver<()>,
    options: SnapshotOptions,
    mut file: File,
    shared: &Mutex<SnapshotCounts>,
) -> Vec<String> {
    let mut series = Series::new(options.clocks, options.tries, options.half_width_max_ns);
    let mut pace = Pace::new(nanos(options.period), options.rounds_max);
    let (mut counts, mut lost) = (SnapshotCounts::default(), Vec::new());
    let began = Instant::now();
    let mut is_last = false;
    loop {
        let known = lost.len();
        let written = series.round(&mut Kernel, &mut file, &mut counts, &mut lost);
        let is_refused = written.is_err();
        lost.extend(written.err().map(|error| format!("{}: {error}", options.path.display())));
        // What is said at once is known also of a program that is killed later.
        lost[known..].iter().for_each(|reason| set_metadata("snapshots.lost", reason));
        let due_ns = pace.next_ns(nanos(began.elapsed()), &mut counts);
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = counts;
        if is_last || is_refused || series.clocks.is_empty() {
            return lost;
        }
        let wait = Duration::from_nanos(due_ns).saturating_sub(began.elapsed());
        is_last = stopping.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
