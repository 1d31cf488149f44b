//! What an agent leaves behind: its windows, its clock snapshots, and as master the clocks of all nodes.
//!
//! Everything is appended as soon as it is known. Formats are those of `rankscope_clock::files`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use rankscope_clock::files::{
    AlphaBeta, NodeOrigin, OffsetRow, OffsetsHeader, WindowsHeader, Witness, encode_offset, encode_offsets_header,
    encode_snapshot, encode_window, encode_windows_header, encode_witness,
};
use rankscope_clock::nodes::Solution;
use rankscope_clock::{NodeId, NodeWindow};
use rankscope_time::{Knot, Span};

use super::journal::Journal;
use crate::clocks::TraceRun;

/// What the headers say.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) header: WindowsHeader,
    pub(super) node: NodeId,
    pub(super) nodes: u32,
    pub(super) reference: NodeId,
    pub(super) window: Span,
}

/// The files of one agent; none of them where it was told to write nothing.
pub(super) struct Files {
    about: About,
    folder: Option<PathBuf>,
    windows: Option<Journal>,
    /// Opened by the first solution: most nodes are never master.
    offsets: Option<Journal>,
    snapshots: Option<Journal>,
    /// Whether there is a header above the snapshots of this agent.
    snapshots_begun: bool,
    alpha_beta: AlphaBeta,
}

impl Files {
    /// Opens the files below `folder` and writes the first headers.
    pub(super) fn open(folder: Option<PathBuf>, snapshots: bool, about: About) -> io::Result<Self> {
        let node = about.node;
        let open = |name: String| folder.as_ref().map(|folder| Journal::open(folder.join(name))).transpose();
        let mut windows = open(format!("windows-node{node}.jsonl"))?;
        if let Some(journal) = &mut windows {
            journal.append(&encode_windows_header(&about.header))?;
        }
        let snapshots = if snapshots { open(format!("snapshots-node{node}.jsonl"))? } else { None };
        let alpha_beta = AlphaBeta::default();
        Ok(Self { about, folder, windows, offsets: None, snapshots, snapshots_begun: false, alpha_beta })
    }

    /// Appends a window.
    pub(super) fn window(&mut self, window: &NodeWindow) -> Result<(), String> {
        self.alpha_beta.add(window);
        append(self.windows.as_mut(), || encode_window(window))
    }

    /// Appends the clocks of all nodes.
    pub(super) fn solution(&mut self, round: u64, solution: &Solution) -> Result<(), String> {
        if self.offsets.is_none()
            && let Some(folder) = self.folder.as_deref()
        {
            self.offsets = Some(self.begin_offsets(folder)?);
        }
        for row in OffsetRow::of_solution(round, self.about.window, solution) {
            append(self.offsets.as_mut(), || encode_offset(&row))?;
        }
        Ok(())
    }

    /// Whether anybody wants to know what witnesses say.
    pub(super) fn has_snapshots(&self) -> bool {
        self.snapshots.is_some()
    }

    /// Appends what a witness says. Not before the first pair of readings, which begins the file.
    pub(super) fn witness(&mut self, witness: Witness, knot: &Knot) -> Result<(), String> {
        if self.snapshots_begun { append(self.snapshots.as_mut(), || encode_witness(witness, knot)) } else { Ok(()) }
    }

    /// Appends pairs of readings of the clock of traces and the host clock.
    pub(super) fn snapshots(&mut self, runs: &[TraceRun]) -> Result<(), String> {
        for knot in runs.iter().flat_map(|run| &run.knots) {
            // With the first pair and not before it: who waits for the file waits for a pair.
            let begun = std::mem::replace(&mut self.snapshots_begun, true);
            let header = || if begun { String::new() } else { encode_windows_header(&self.about.header) };
            append(self.snapshots.as_mut(), || header() + &encode_snapshot(knot))?;
        }
        Ok(())
    }

    /// Writes what is written once, and brings all to disk.
    pub(super) fn finish(&mut self) -> Result<(), String> {
        if let Some(folder) = &self.folder {
            let path = folder.join(format!("alpha_beta_node{}.csv", self.about.node));
            written_anew(&path, &self.alpha_beta.csv()).map_err(|error| unwritten(&path, &error))?;
        }
        for journal in [&self.windows, &self.offsets, &self.snapshots].into_iter().flatten() {
            journal.sync().map_err(|error| unwritten(journal.path(), &error))?;
        }
        Ok(())
    }

    fn begin_offsets(&self, folder: &Path) -> Result<Journal, String> {
        let path = folder.join("offsets.jsonl");
        let nodes = (0..self.about.nodes).map(|node| NodeOrigin {
            node: NodeId(node),
            start_walltime_ns: (NodeId(node) == self.about.node).then_some(self.about.header.start_walltime_ns).flatten(),
            start_gpu_ns: None,
        });
        let header = OffsetsHeader {
            nodes: nodes.collect(),
            reference: Some(self.about.reference),
            run_id: self.about.header.run_id.clone(),
        };
        let mut journal = Journal::open(path.clone()).map_err(|error| unwritten(&path, &error))?;
        journal.append(&encode_offsets_header(&header)).map_err(|error| unwritten(&path, &error))?;
        Ok(journal)
    }
}

/// Writes a file; a link in its place is not followed.
fn written_anew(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(libc::O_NOFOLLOW);
    options.open(path)?.write_all(text.as_bytes())
}

fn append(journal: Option<&mut Journal>, line: impl FnOnce() -> String) -> Result<(), String> {
    let Some(journal) = journal else { return Ok(()) };
    journal.append(&line()).map_err(|error| unwritten(journal.path(), &error))
}

fn unwritten(path: &Path, error: &io::Error) -> String {
    format!("{} is no longer written: {error}. Synchronisation continues without it", path.display())
}
