//! What clock agents left behind, as the clock of each node.
//!
//! Windows are solved anew and smoothed over the whole run: what is known afterwards is more than what was known live. Where
//! there are only offsets, as the origin leaves them, those are smoothed. A single node has neither and needs neither.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_align::NodeClock;
use rankscope_clock::NodeId;
use rankscope_clock::files::{REALTIME, node_of_name, read_snapshots, solutions};
use rankscope_clock::nodes::{Solution, SolveOptions, Stretch, smooth};
use rankscope_report::NoteLevel;
use rankscope_run::{ClockFiles, SideFile, clock_files, read_side};
use rankscope_time::{ClockMap, HostClock, Knot, ReferenceClock};
use rankscope_trace::SnapshotPair;

use crate::clock::read;
use crate::clock::solve::{How, solved_files};

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
    let snapshots = snapshots(folder)?;
    let mut found = Measured::default();
    let headers = if files.windows.is_empty() { Vec::new() } else { read::windows(&files.windows)?.headers };
    let rounds = rounds(&files, &mut found)?;
    let reference = NodeId(found.reference);
    let mut nodes: Vec<NodeId> = headers.iter().map(|(node, _)| *node).collect();
    nodes.extend(rounds.iter().flat_map(|round| round.nodes.iter().map(|estimate| estimate.node)));
    nodes.extend(snapshots.keys().copied());
    nodes.sort_unstable();
    nodes.dedup();
    for node in nodes {
        let header = headers.iter().find(|(known, _)| *known == node).map(|(_, header)| header);
        found.hosts.extend(header.and_then(|header| header.host.clone()).map(|host| (node.0, host)));
        let Some((to_reference, degraded)) = to_reference(node, reference, &rounds, &mut found.notes) else { continue };
        found.nodes.push(NodeClock {
            node: node.0,
            to_reference,
            host_minus_raw_ns: header.and_then(|header| header.host_minus_raw_ns),
            realtime: snapshots.get(&node).cloned().unwrap_or_default(),
            degraded,
        });
    }
    Ok(Some(found))
}

/// All rounds, from windows where there are any.
fn rounds(files: &ClockFiles, found: &mut Measured) -> Result<Vec<Solution>> {
    let told = if files.offsets.is_empty() { None } else { Some(read::offsets(&files.offsets)?.0) };
    let reference = told.as_ref().and_then(|told| told.header.as_ref()?.reference);
    found.reference = reference.map_or(0, |node| node.0);
    if let Some(reference) = reference.or(Some(NodeId(0))).filter(|_| !files.windows.is_empty())
        // A lone node, or one that was told another reference, has windows that nothing can be solved from.
        && let Ok(solved) = solved_files(&files.windows, &How::usual(reference))
        && solved.solutions.iter().any(|round| round.nodes.len() > 1)
    {
        let worth = |note: &&rankscope_report::Note| note.level != NoteLevel::Finding;
        found.notes.extend(solved.notes.iter().filter(worth).map(|note| note.text.clone()));
        return Ok(solved.solutions);
    }
    Ok(told.map(|told| solutions(&told.rows)).unwrap_or_default())
}

/// The clock of `node` on the reference's, and whether it is degraded; none where no round placed it.
fn to_reference(
    node: NodeId,
    reference: NodeId,
    rounds: &[Solution],
    notes: &mut Vec<String>,
) -> Option<(ClockMap<HostClock, ReferenceClock>, bool)> {
    if node == reference {
        return Some((ClockMap::identity(), false));
    }
    let change = SolveOptions::for_reference(reference).skew_change_ppb_per_s;
    let stretches = match smooth(node, rounds, change) {
        Ok(stretches) => stretches,
        Err(error) => {
            notes.push(format!(
                "the offsets of node {node} do not form a valid clock: {error}; its ranks keep their recorded timestamps"
            ));
            return None;
        }
    };
    if stretches.len() > 1 {
        notes.push(format!(
            "the clock of node {node} jumped {}; the longest stretch without a jump is used throughout",
            if stretches.len() == 2 { "once".to_owned() } else { format!("{} times", stretches.len() - 1) }
        ));
    }
    let Stretch { map, degraded, .. } = stretches.into_iter().max_by_key(known_ns)?;
    Some((map, degraded))
}

/// How long the estimates of a stretch reach.
fn known_ns(stretch: &Stretch) -> i64 {
    let known = stretch.map.known().into_iter().flatten().next();
    known.map_or(0, |(from, until)| (until - from).as_nanos())
}

/// `CLOCK_REALTIME` against the host clock, of each node that wrote it.
fn snapshots(folder: &Path) -> Result<BTreeMap<NodeId, Vec<SnapshotPair>>> {
    let mut found = BTreeMap::new();
    for path in files_named(folder, "snapshots-node")? {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(node) = node_of_name(&name) else { continue };
        let bytes = read_side(&path, SideFile::Clock)?;
        let mut file = read_snapshots(&bytes);
        if let Some(series) = file.clocks.remove(REALTIME) {
            found.insert(node, series.pairs.iter().map(pair).collect());
        }
    }
    Ok(found)
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
