//! The dashboard: what was reported on, the answers, where the time goes, who is late, and what costs most. Every block of it is
//! short, and says which sheet has all.

pub(crate) mod blocks;
mod chart;
mod facts;
mod lacks;
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
    let tables = document.ranks.iter().filter_map(|rank| Some((rank.rank, rank.tables.as_ref()?)));
    for lack in lacks::of(tables) {
        page.paragraph("caution", &lack, Some(CAUTION))?;
    }
    match no_tables {
        Some(why) => page.paragraph("caution", &why.to_string(), Some(CAUTION)),
        None => Ok(()),
    }
}
