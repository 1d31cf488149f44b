//! What clock agents left behind below a directory, as the clock of each node.

use std::path::{Path, PathBuf};

use rankscope_align::NodeClock;
use rankscope_clock::solved::{self, MeasuredClock, Readings, RunOffsets, RunWindows, Severity, WindowsReader};
use rankscope_job::KnownClocks;
use rankscope_run::{ClockFiles, SideFile, clock_files, files_in, is_folder, read_side};
use rankscope_time::Knot;
use rankscope_trace::SnapshotPair;

use crate::Error;

/// The clocks that the files below `folder` tell of; none where it holds none.
///
/// # Errors
/// [`Error::Clocks`] for a file without a line that can be read, and what the file system refuses.
pub fn read_clocks(folder: &Path) -> Result<Option<KnownClocks>, Error> {
    let Some(files) = files_of(folder)? else { return Ok(None) };
    let Readings { realtime, witnesses } = node_readings(&[folder.to_owned()])?;
    let windows = if files.windows.is_empty() { None } else { Some(windows(&files.windows)?) };
    let offsets = if files.offsets.is_empty() { None } else { Some(offsets(&files.offsets)?) };
    let mut found = solved::measured(windows, offsets, realtime);
    found.oddities.extend(solved::beside(&found.rounds, found.reference, &witnesses));
    let odd = found.oddities.iter().filter(|oddity| oddity.severity() != Severity::Finding);
    let mut known = KnownClocks::default();
    known.notes = odd.map(ToString::to_string).collect();
    known.nodes = found.clocks.into_iter().map(node_clock).collect();
    known.hosts = found.hosts.into_iter().map(|(node, host)| (node.0, host)).collect();
    known.reference = found.reference.0;
    Ok(Some(known))
}

/// Whether anything in `folder` is named like clocks; what cannot be looked at may be.
pub(crate) fn may_have_clocks(folder: &Path) -> bool {
    files_of(folder).map_or(true, |files| files.is_some())
}

fn files_of(folder: &Path) -> Result<Option<ClockFiles>, Error> {
    match clock_files(&[folder.to_owned()]) {
        Err(rankscope_run::Error::NoClocks { .. } | rankscope_run::Error::Missing { .. }) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Reads files of windows. All windows of a node are on the clock of its last start.
///
/// # Errors
/// As [`read_clocks`].
pub fn windows(paths: &[PathBuf]) -> Result<RunWindows, Error> {
    let mut reader = WindowsReader::default();
    for path in paths {
        reader.add(&path.display().to_string(), &read_side(path, SideFile::Clock)?)?;
    }
    Ok(reader.finish())
}

/// Reads files of offsets into one.
///
/// # Errors
/// As [`read_clocks`].
pub fn offsets(paths: &[PathBuf]) -> Result<RunOffsets, Error> {
    let mut all = RunOffsets::default();
    for path in paths {
        all.add(&path.display().to_string(), &read_side(path, SideFile::Clock)?)?;
    }
    Ok(all)
}

fn node_clock(clock: MeasuredClock) -> NodeClock {
    NodeClock {
        node: clock.node.0,
        to_reference: clock.to_reference,
        host_minus_raw_ns: clock.host_minus_raw_ns,
        realtime: clock.realtime.iter().map(pair).collect(),
        degraded: clock.degraded,
    }
}

/// What nodes read beside their host clocks, from those of `paths` that are folders.
///
/// # Errors
/// What the file system refuses.
pub fn node_readings(paths: &[PathBuf]) -> Result<Readings, Error> {
    let mut readings = Readings::default();
    for folder in paths {
        if is_folder(folder)? {
            for path in files_named(folder, "snapshots-node")? {
                readings.add(&path.display().to_string(), &read_side(&path, SideFile::Clock)?);
            }
        }
    }
    Ok(readings)
}

/// A knot as the model has it.
pub fn pair(knot: &Knot) -> SnapshotPair {
    SnapshotPair { tracer_ns: knot.from_ns, host_ns: knot.to_ns, half_width_ns: knot.uncertainty_ns }
}

/// Files of clock synchronisation in `folder` whose names begin so.
pub(crate) fn files_named(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>, Error> {
    let inner = folder.join("clock");
    let folder = if is_folder(&inner)? { inner } else { folder.to_owned() };
    let mut paths = files_in(&folder)?;
    let begins = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    paths.retain(begins);
    Ok(paths)
}
