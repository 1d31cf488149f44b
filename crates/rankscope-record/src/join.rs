//! [`join_run`]: a process of a distributed job records itself as its rank, into the run's directory.
//!
//! Who starts the job says where raw traces go (`RANKSCOPE_RAW_DIR`); which rank this is, the launcher says in one of the ways
//! launchers have. The recording lies in a live file from its first event on, so a process that is killed leaves what it had;
//! one that ends well packs it in place (feature `export`). Where devices' profilers have clocks of their own, they are read beside the host's into
//! the run's `clock/` (feature `snapshots`). What goes wrong here is said once, and the program goes on unrecorded.
#![expect(clippy::print_stderr, reason = "a job that is not recorded must be able to learn why")]

use std::path::{Path, PathBuf};

use crate::live::Told;
use crate::plugins::Registry;
use crate::ranks::{self, Place};
use crate::session::{Session, SessionOptions, Stopped};
#[cfg(feature = "snapshots")]
use crate::snapshots::{SnapshotOptions, SnapshotTaker, TracerReader};
use crate::store::Storage;
use crate::test_clock::TestClock;

/// Where raw traces of the run go.
const RAW_DIR: &str = "RANKSCOPE_RAW_DIR";

/// The run itself; a program may be told only of the folder above.
const RUN_DIR: &str = "RANKSCOPE_RUN_DIR";

/// A recording that is part of a run. It goes on until this is dropped; then it is packed in its place.
#[derive(Debug)]
#[must_use = "the recording ends when this is dropped: give it a name like `_run`"]
pub struct JoinedRun {
    session: Session,
    rank: u32,
    file: PathBuf,
    _live: Option<Told>,
}

/// Records this process as a rank of the run it is part of; none, and nothing happens, where it is part of none. Call it once,
/// early in `main`, and keep what it returns.
///
/// ```
/// use rankscope_record::{join_run, record_function};
///
/// // Started by `rankscope run`, this leaves `raw/rank-<r>.rkr` in the run's directory; started by hand, it does nothing.
/// let run = join_run();
/// drop(record_function!("train"));
/// if let Some(run) = &run {
///     println!("rank {} is recorded into {}", run.rank(), run.file().display());
/// }
/// ```
pub fn join_run() -> Option<JoinedRun> {
    join_run_with(SessionOptions::default(), Registry::new())
}

/// As [`join_run`], with other options, and with plugins: they work beside the recording until it ends. Where the recording lies is the
/// run's to say, whatever the options name.
///
/// ```
/// use rankscope_record::plugins::{ProfilerPlugin, Registry};
/// use rankscope_record::{Overflow, SessionOptions, join_run_with};
///
/// struct Sampler;
///
/// impl ProfilerPlugin for Sampler {
///     fn name(&self) -> &str {
///         "sampler"
///     }
/// }
///
/// let options = SessionOptions::default().with_overflow(Overflow::Stop { max_bytes: 4 << 30 });
/// let _run = join_run_with(options, Registry::new().with(Sampler));
/// ```
pub fn join_run_with(options: SessionOptions, plugins: Registry) -> Option<JoinedRun> {
    let folder = PathBuf::from(std::env::var_os(RAW_DIR)?);
    let Some(Place { rank, .. }) = ranks::own() else {
        let names = ranks::variables();
        eprintln!("rankscope: {RAW_DIR} is set, but none of {names} says which rank this is, so it is not recorded");
        return None;
    };
    match JoinedRun::start(&folder, rank, options, plugins) {
        Ok(run) => Some(run),
        Err(why) => {
            eprintln!("rankscope: rank {rank} is not recorded: {why}");
            None
        }
    }
}

impl JoinedRun {
    fn start(
        folder: &Path,
        rank: u32,
        options: SessionOptions,
        mut plugins: Registry,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let file = folder.join(format!("rank-{rank}.rkr"));
        let options = SessionOptions { storage: Storage::file_at(&file), ..options.with_ring_of_run() };
        // Clocks that are bent for a test are no host's, and devices know nothing of them.
        if options.test_clock.is_none() {
            add_plugins(&mut plugins, rank);
        }
        let test_clock = options.test_clock.clone();
        let session = Session::start_with(options, plugins)?;
        Ok(Self { session, rank, file, _live: live_page(rank, test_clock) })
    }

    /// The rank that is recorded.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Where.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The session, to change or to look at.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl Drop for JoinedRun {
    fn drop(&mut self) {
        // Whoever stopped the session has the recording and may have moved it; a fork's is its parent's.
        let Ok(stopped) = self.session.stop() else { return };
        pack(&stopped, self.rank);
    }
}

/// The page by which the job is watched while it runs; a rank without one is recorded all the same.
fn live_page(rank: u32, test_clock: Option<TestClock>) -> Option<Told> {
    let run = std::env::var_os(RUN_DIR)?;
    match Told::begin(Path::new(&run), rank, test_clock) {
        Ok(told) => Some(told),
        Err(why) => {
            eprintln!(
                "rankscope: rank {rank} cannot be watched while it runs: its page in {}: {why}",
                Path::new(&run).display()
            );
            None
        }
    }
}

#[cfg(feature = "export")]
fn pack(stopped: &Stopped, rank: u32) {
    if let Err(error) = stopped.recorded.pack_in_place() {
        eprintln!("rankscope: the recording of rank {rank} could not be completed: {error}");
    }
}

/// Without exports the recording stays the live file that it is; whatever reads the packed one reads that too.
#[cfg(not(feature = "export"))]
fn pack(_stopped: &Stopped, _rank: u32) {}

/// Adds what reads the clocks of devices, and what the environment wants beside the recording.
fn add_plugins(plugins: &mut Registry, rank: u32) {
    add_device_clocks(plugins, rank);
    #[cfg(feature = "foreign-plugins")]
    plugins.load_from_environment();
}

/// Adds what reads the clocks of devices, where there are any; without them there is no thread for it.
#[cfg(feature = "snapshots")]
fn add_device_clocks(plugins: &mut Registry, rank: u32) {
    if let Some(run) = std::env::var_os(RUN_DIR) {
        let (clocks, _absent) = TracerReader::devices();
        if !clocks.is_empty() {
            let path = Path::new(&run).join("clock").join(format!("snapshots-rank{rank}.jsonl"));
            plugins.register(SnapshotTaker::new(SnapshotOptions::of(clocks, path)));
        }
    }
}

#[cfg(not(feature = "snapshots"))]
fn add_device_clocks(_: &mut Registry, _rank: u32) {}
