//! The dashboard: what was reported on, the answers, where the time goes, who is late, and what costs most. Every block of it is
//! short, and says which sheet has all.

pub(crate) mod blocks;
mod chart;
mod facts;
pub(crate) mod page;
mod top;

use rankscope_document::{Document, NoteLevel};

use crate::book::{Book, Summary};
use crate::style::{CAUTION, FINDING, PROBLEM};
use crate::{Error, NoTables};
use page::Page;

/// Fills the first sheet of `book`.
pub(crate) fn write(book: &mut Book, document: &Document, no_tables: Option<NoTables>) -> Result<(), Error> {
    let Summary { sheet, styles, written, empty } = book.summary()?;
    let mut page = Page::begin(sheet, styles, written)?;
    page.title(&format!("rankscope report: {}", document.title))?;
    for (label, text) in facts::of(document) {
        page.paragraph(label, &text, None)?;
    }
    notes(&mut page, document, no_tables)?;
    if document.is_training() {
        blocks::times(&mut page, document)?;
        blocks::stragglers(&mut page, document)?;
        blocks::collectives(&mut page, document)?;
    }
    blocks::operators(&mut page, document)?;
    blocks::kernels(&mut page, document)?;
    blocks::products(&mut page, document)?;
    blocks::sheets(&mut page, empty)
}

/// What the document says in sentences, most important first.
fn notes(page: &mut Page<'_>, document: &Document, no_tables: Option<NoTables>) -> Result<(), Error> {
    page.heading("Findings", "", None)?;
    const LEVELS: [(NoteLevel, &str, u32); 3] = [
        (NoteLevel::Finding, "finding", FINDING),
        (NoteLevel::Caution, "caution", CAUTION),
        (NoteLevel::Problem, "problem", PROBLEM),
    ];
    for (level, label, fill) in LEVELS {
        for note in document.notes.iter().filter(|note| note.level == level) {
            page.paragraph(label, &note.text, Some(fill))?;
        }
    }
    lacks(page, document)?;
    match no_tables {
        Some(why) => page.paragraph("caution", &why.to_string(), Some(CAUTION)),
        None => Ok(()),
    }
}

/// Notes on tables that the dashboard shows; the sheet of notes has all.
const LACKS: usize = 5;

/// What the ranks' tables lack, as far as there is room.
fn lacks(page: &mut Page<'_>, document: &Document) -> Result<(), Error> {
    let lacks = rankscope_report::lacks(document);
    for lack in lacks.iter().take(LACKS) {
        page.paragraph("caution", &format!("Tables of {}: {}", lack.whose, lack.text), Some(CAUTION))?;
    }
    match lacks.len().saturating_sub(LACKS) {
        0 => Ok(()),
        more => page.paragraph("caution", &format!("{more} more notes on tables are on the sheet notes."), Some(CAUTION)),
    }
}
