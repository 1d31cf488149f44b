//! Reading files of windows and of offsets from where they lie, and saying what was odd about them.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rankscope_clock::files::OffsetsFile;
use rankscope_clock::solved::{Oddity, RunOffsets, RunWindows, Severity, WindowsReader};
use rankscope_document::{Note, NoteLevel};
use rankscope_run::{SideFile, read_side};

/// Reads files of windows. All windows of a node are on the clock of its last start.
pub(crate) fn windows(paths: &[PathBuf]) -> Result<RunWindows> {
    let mut reader = WindowsReader::default();
    for path in paths {
        reader.add(&name(path), &read_side(path, SideFile::Clock)?)?;
    }
    Ok(reader.finish())
}

/// Reads files of offsets into one.
pub(crate) fn run_offsets(paths: &[PathBuf]) -> Result<RunOffsets> {
    let mut all = RunOffsets::default();
    for path in paths {
        all.add(&name(path), &read_side(path, SideFile::Clock)?)?;
    }
    Ok(all)
}

/// Reads files of offsets into one, with what was odd as notes.
pub(crate) fn offsets(paths: &[PathBuf]) -> Result<(OffsetsFile, Vec<Note>)> {
    let read = run_offsets(paths)?;
    Ok((read.offsets, notes(&read.oddities)))
}

/// What was odd, as documents say it.
pub(super) fn notes(oddities: &[Oddity]) -> Vec<Note> {
    let level = |severity| match severity {
        Severity::Finding => NoteLevel::Finding,
        Severity::Caution => NoteLevel::Caution,
        Severity::Problem => NoteLevel::Problem,
    };
    oddities.iter().map(|oddity| Note { level: level(oddity.severity()), text: oddity.to_string() }).collect()
}

/// What was read, for headings.
pub(super) fn title(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| name(path)).collect::<Vec<_>>().join(" ")
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
