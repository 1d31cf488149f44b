//! What is known of a job beside its traces: its run directory, the clocks that agents measured, readings of tracers' clocks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rankscope_clock::files::{SnapshotSeries, SnapshotsFile, read_snapshots};
use rankscope_job::{Facts, Failure, KnownClocks};
use rankscope_run::{RunDirectory, SideFile, is_folder, read_side};
use rankscope_time::Rank;
use rankscope_trace::{ClockScope, Trace, TracerClock, rank_of_name};

use crate::Error;
use crate::clocks::{files_named, pair, read_clocks};

/// Where to look for what is known of a job.
#[derive(Clone, Debug, Default)]
pub struct Clues {
    /// The run directory, where there is one.
    pub run: Option<PathBuf>,
    /// The folder that the user named for measured clocks.
    pub clocks: Option<PathBuf>,
}

impl Clues {
    /// Those of `paths`, and of a folder that the user named for `clocks`.
    pub fn of(paths: &[PathBuf], clocks: Option<&Path>) -> Self {
        Self { run: run_directory(paths).map(Path::to_owned), clocks: clocks.map(Path::to_owned) }
    }

    /// The folder that clocks are read from.
    pub fn clock_folder(&self) -> Option<&Path> {
        self.clocks.as_deref().or(self.run.as_deref())
    }
}

/// The run directory that a user means, if it is one.
pub fn run_directory(paths: &[PathBuf]) -> Option<&Path> {
    match paths {
        [only] if RunDirectory::is_run(only) || is_folder(&only.join("clock")).unwrap_or(false) => Some(only),
        _ => None,
    }
}

/// What `clues` lead to; with `measured`, the clocks as well.
///
/// # Errors
/// [`Error::NoClockFolder`] and [`Error::NoClocks`] where the user named a folder in vain, and files that cannot be understood.
pub fn facts(clues: &Clues, measured: bool) -> Result<Facts, Error> {
    if let Some(folder) = &clues.clocks
        && !is_folder(folder)?
    {
        return Err(Error::NoClockFolder { folder: folder.clone() });
    }
    let mut facts = Facts::default();
    if let Some(run) = clues.run.as_ref().and_then(|run| RunDirectory::open(run).ok()) {
        facts.world_size = run.manifest().world_size;
        facts.failure = run.first_failure().map(|first| Failure { rank: first.rank, text: first.to_string() });
    }
    let Some(folder) = clues.clock_folder() else { return Ok(facts) };
    if RunDirectory::is_run(folder) {
        let run = RunDirectory::open(folder)?;
        facts.nodes = run.manifest().ranks.iter().map(|entry| (entry.rank, entry.node)).collect();
    }
    if measured {
        facts.clocks = known_clocks(folder, clues.clocks.is_some())?;
    }
    Ok(facts)
}

/// The clocks in `folder`, which holds some where the user named it.
pub(crate) fn known_clocks(folder: &Path, named: bool) -> Result<Option<KnownClocks>, Error> {
    match read_clocks(folder)? {
        None if named => Err(Error::NoClocks { folder: folder.to_owned() }),
        known => Ok(known),
    }
}

/// Readings of tracers' clocks that lie beside traces in files of their own, by rank.
#[derive(Clone, Debug, Default)]
pub struct SideReadings(BTreeMap<Rank, Vec<TracerClock>>);

/// Those in `folder`.
///
/// # Errors
/// What the file system refuses.
fn side_readings(folder: &Path) -> Result<SideReadings, Error> {
    let mut found = SideReadings::default();
    for path in files_named(folder, "snapshots-rank")? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(rank) = rank_of_name(&name) else { continue };
        let read = read_snapshots(&read_side(&path, SideFile::Clock)?);
        // Of clocks that stamp everything the trace's own readings tell more.
        found.0.entry(rank).or_default().extend(device_clocks(read, |series| series.devices_only));
    }
    Ok(found)
}

/// The clocks of `read` that `is` holds for, as those of devices.
pub fn device_clocks(read: SnapshotsFile, is: impl Fn(&SnapshotSeries) -> bool) -> impl Iterator<Item = TracerClock> {
    let clock = |(name, series): (String, SnapshotSeries)| TracerClock {
        name,
        scope: ClockScope::Devices,
        pairs: series.pairs.iter().map(pair).collect(),
    };
    read.clocks.into_iter().filter(move |(_, series)| is(series)).map(clock)
}

impl SideReadings {
    /// Those that `clues` lead to.
    ///
    /// # Errors
    /// What the file system refuses.
    pub fn of(clues: &Clues) -> Result<Self, Error> {
        clues.clock_folder().map(side_readings).transpose().map(Option::unwrap_or_default)
    }

    /// Adds to `trace` those of its rank, as its file or its name tells it.
    pub fn attach(&self, trace: &mut Trace) {
        if self.0.is_empty() {
            return;
        }
        let about = &mut trace.provenance;
        let rank = about.own_rank();
        if let Some(clocks) = rank.and_then(|rank| self.0.get(&rank)) {
            about.tracer_clocks.extend(clocks.iter().cloned());
        }
    }
}
