//! Files of offsets, and what was odd about them and about files of windows.

use std::path::PathBuf;

use anyhow::Result;
use rankscope_clock::files::OffsetsFile;
use rankscope_clock::solved::{Oddity, Severity};
use rankscope_document::{Note, NoteLevel};

/// Reads files of offsets into one, with what was odd as notes.
pub(crate) fn offsets(paths: &[PathBuf]) -> Result<(OffsetsFile, Vec<Note>)> {
    let read = rankscope_pipeline::offsets(paths)?;
    Ok((read.offsets, notes(&read.oddities)))
}

/// What was odd, as documents say it.
pub(crate) fn notes(oddities: &[Oddity]) -> Vec<Note> {
    let level = |severity| match severity {
        Severity::Finding => NoteLevel::Finding,
        Severity::Caution => NoteLevel::Caution,
        Severity::Problem => NoteLevel::Problem,
    };
    oddities.iter().map(|oddity| Note { level: level(oddity.severity()), text: oddity.to_string() }).collect()
}
