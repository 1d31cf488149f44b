//! Reading files of windows and of offsets.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rankscope_clock::files::{
    Damage, DamagedLine, NodeOrigin, OffsetsFile, OffsetsHeader, WindowsFile, WindowsHeader, node_of_name, read_offsets,
    read_windows,
};
use rankscope_clock::restarts::{Start, join};
use rankscope_clock::{NodeId, NodeWindow};
use rankscope_report::{Note, NoteLevel};
use rankscope_run::{SideFile, read_side};

/// Windows of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    pub(super) windows: Vec<NodeWindow>,
    pub(crate) headers: Vec<(NodeId, WindowsHeader)>,
    /// What was odd about the files.
    pub(super) notes: Vec<Note>,
}

/// Reads files of windows. All windows of a node are on the clock of its last start.
pub(crate) fn windows(paths: &[PathBuf]) -> Result<Windows> {
    let mut all = Windows::default();
    let mut unbounded = 0;
    let mut starts = Vec::new();
    for path in paths {
        let WindowsFile { header, windows, constants, foreign, damaged } =
            read_windows(&name(path), &read_side(path, SideFile::Clock)?);
        if windows.is_empty() && header.is_none() {
            let why = damaged.first().map_or_else(|| "it is empty".to_owned(), DamagedLine::to_string);
            bail!("{}: no window can be read: {why}. Give window files written by clock agents", path.display());
        }
        all.notes.extend(damage(path, &damaged));
        unbounded += usize::from(foreign);
        let node = windows.first().map(|window| window.node).or_else(|| node_of_name(&name(path)));
        let start = |node| {
            let before = all.windows.len();
            move |(at, host_minus_raw_ns): (usize, i64)| Start { node, first_window: before + at, host_minus_raw_ns }
        };
        starts.extend(node.into_iter().flat_map(|node| constants.iter().copied().map(start(node))));
        all.headers.extend(node.zip(header));
        all.windows.extend(windows);
    }
    join(&mut all.windows, &starts);
    if unbounded > 0 {
        let text = format!("{unbounded} of {} files hold no bounds, so their edges guarantee nothing", paths.len());
        all.notes.push(note(NoteLevel::Caution, text));
    }
    all.notes.extend(several_runs(&all.headers));
    Ok(all)
}

/// Reads files of offsets into one.
pub(crate) fn offsets(paths: &[PathBuf]) -> Result<(OffsetsFile, Vec<Note>)> {
    let mut all = OffsetsFile::default();
    let mut notes = Vec::new();
    for path in paths {
        let OffsetsFile { header, rows, damaged } = read_offsets(&read_side(path, SideFile::Clock)?);
        if rows.is_empty() && header.is_none() {
            let why = damaged.first().map_or_else(|| "it is empty".to_owned(), DamagedLine::to_string);
            bail!(
                "{}: no offset can be read: {why}. Give a file of offsets written by `rankscope clock solve`",
                path.display()
            );
        }
        notes.extend(damage(path, &damaged));
        all.header = all.header.or(header);
        all.rows.extend(rows);
    }
    Ok((all, notes))
}

/// The header of offsets made from windows of these.
pub(super) fn offsets_header(windows: &Windows, nodes: &BTreeSet<NodeId>, reference: NodeId) -> OffsetsHeader {
    let of = |node: NodeId| windows.headers.iter().find(|(known, _)| *known == node).map(|(_, header)| header);
    let origin = |node: &NodeId| NodeOrigin {
        node: *node,
        start_walltime_ns: of(*node).and_then(|header| header.start_walltime_ns),
        start_gpu_ns: of(*node).and_then(|header| header.start_gpu_ns),
    };
    OffsetsHeader {
        nodes: nodes.iter().map(origin).collect(),
        reference: Some(reference),
        run_id: windows.headers.iter().find_map(|(_, header)| header.run_id.clone()),
    }
}

/// What was read, for headings.
pub(super) fn title(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
}

pub(super) fn note(level: NoteLevel, text: String) -> Note {
    Note { level, text }
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A line that was cut off is told mildly; of other damage the first lines are named.
fn damage(path: &Path, damaged: &[DamagedLine]) -> Vec<Note> {
    let path = path.display();
    let (cut, malformed): (Vec<_>, Vec<_>) = damaged.iter().partition(|line| line.damage == Damage::CutOff);
    let mut notes: Vec<_> =
        malformed.iter().take(3).map(|line| note(NoteLevel::Problem, format!("{path}: {line}; skipped"))).collect();
    if let Some(more) = malformed.len().checked_sub(3).filter(|more| *more > 0) {
        notes.push(note(NoteLevel::Problem, format!("{path}: {more} more lines cannot be read")));
    }
    notes.extend(cut.iter().map(|line| note(NoteLevel::Caution, format!("{path}: {line}; all other lines are used"))));
    notes
}

fn several_runs(headers: &[(NodeId, WindowsHeader)]) -> Option<Note> {
    let runs: BTreeSet<&str> = headers.iter().filter_map(|(_, header)| header.run_id.as_deref()).collect();
    (runs.len() > 1).then(|| {
        let runs: Vec<_> = runs.into_iter().collect();
        note(NoteLevel::Problem, format!("these files come from several runs: {}", runs.join(", ")))
    })
}
