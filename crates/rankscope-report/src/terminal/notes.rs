//! The document's sentences: findings, then cautions, then problems.

use rankscope_document::{Document, Note, NoteLevel};

use super::Sheet;
use crate::text::{clean, width_of, wrap};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    sentences(&document.notes, sheet)
}

/// The notes, most important first.
pub(crate) fn sentences(all: &[Note], sheet: Sheet) -> Vec<String> {
    let mut lines = Vec::new();
    for (level, label, sgr, most) in LEVELS {
        let notes: Vec<_> = all.iter().filter(|note| note.level == level).collect();
        for note in notes.iter().take(most) {
            let hang = width_of(label) + 2;
            for (i, line) in wrap(&clean(&note.text), sheet.width - hang).into_iter().enumerate() {
                let lead = if i == 0 { sheet.paint.with(sgr, label) } else { " ".repeat(width_of(label)) };
                lines.push(format!("{lead}  {line}"));
            }
        }
        if let Some(rest) = notes.len().checked_sub(most).filter(|&rest| rest > 0) {
            lines.push(format!("{}  and {rest} more", " ".repeat(width_of(label))));
        }
    }
    lines
}

/// Level, label, SGR colour, and how many before the screen is about them alone.
const LEVELS: [(NoteLevel, &str, &str, usize); 3] = [
    (NoteLevel::Finding, "finding", "1;32", 8),
    (NoteLevel::Caution, "caution", "33", 5),
    (NoteLevel::Problem, "problem", "1;31", 5),
];
