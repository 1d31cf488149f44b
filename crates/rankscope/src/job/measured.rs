//! What clock agents left behind below a directory, as the clock of each node.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_align::NodeClock;
use rankscope_clock::NodeId;
use rankscope_clock::solved::{self, MeasuredClock, Severity};
use rankscope_run::{SideFile, clock_files, read_side};
use rankscope_time::Knot;
use rankscope_trace::SnapshotPair;

use crate::clock::read;

/// The clocks of the nodes of a run.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) nodes: Vec<NodeClock>,
    /// Names of their hosts, where files tell.
    pub(crate) hosts: BTreeMap<u32, String>,
    /// The node whose clock is the reference.
    pub(crate) reference: u32,
    /// What was odd.
    pub(crate) notes: Vec<String>,
}

/// The clocks that the files below `folder` tell of; none where it holds none.
pub(crate) fn measured(folder: &Path) -> Result<Option<Measured>> {
    let Ok(files) = clock_files(&[folder.to_owned()]) else { return Ok(None) };
    let realtime = realtime(folder)?;
    let windows = if files.windows.is_empty() { None } else { Some(read::windows(&files.windows)?) };
    let offsets = if files.offsets.is_empty() { None } else { Some(read::run_offsets(&files.offsets)?) };
    let found = solved::measured(windows, offsets, realtime);
    let odd = found.oddities.iter().filter(|oddity| oddity.severity() != Severity::Finding);
    Ok(Some(Measured {
        nodes: found.clocks.into_iter().map(node_clock).collect(),
        hosts: found.hosts.into_iter().map(|(node, host)| (node.0, host)).collect(),
        reference: found.reference.0,
        notes: odd.map(ToString::to_string).collect(),
    }))
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

/// `CLOCK_REALTIME` against the host clock, of each node that wrote it.
fn realtime(folder: &Path) -> Result<BTreeMap<NodeId, Vec<Knot>>> {
    let files = files_named(folder, "snapshots-node")?.into_iter();
    let files = files.map(|path| Ok((path.display().to_string(), read_side(&path, SideFile::Clock)?)));
    Ok(solved::snapshots(files.collect::<Result<Vec<_>>>()?))
}

/// A knot as the model has it.
pub(crate) fn pair(knot: &Knot) -> SnapshotPair {
    SnapshotPair { tracer_ns: knot.from_ns, host_ns: knot.to_ns, half_width_ns: knot.uncertainty_ns }
}

/// Files of clock synchronisation in `folder` whose names begin so.
pub(super) fn files_named(folder: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let inner = folder.join("clock");
    let folder = if inner.is_dir() { inner } else { folder.to_owned() };
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let begins = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
    paths.retain(begins);
    paths.sort();
    Ok(paths)
}
