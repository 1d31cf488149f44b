//! `report.json`: the document as text.

use std::io;

use rankscope_document::{CompareDocument, Document, HistoryDocument};

/// White space of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Indented, for people and for line-wise diffs.
    Pretty,
    /// One line, for programs.
    Compact,
}

/// The document as JSON, schema 1. A rate that is not finite becomes `null`, as absent ones do.
pub fn json(document: &Document, layout: Layout) -> String {
    let text = match layout {
        Layout::Pretty => serde_json::to_string_pretty(document),
        Layout::Compact => serde_json::to_string(document),
    };
    text.expect("every map of a document is keyed by a string or a number, and a String takes any write")
}

/// The same, written to `to` piece by piece: the text of a large job is several times as long as its document.
///
/// # Errors
/// Those of `to`.
pub fn write_json(document: &Document, layout: Layout, to: impl io::Write) -> io::Result<()> {
    let written = match layout {
        Layout::Pretty => serde_json::to_writer_pretty(to, document),
        Layout::Compact => serde_json::to_writer(to, document),
    };
    Ok(written?)
}

/// `compare.json`: the comparison as indented JSON, written to `to`.
///
/// # Errors
/// Those of `to`.
pub fn write_comparison(document: &CompareDocument, to: impl io::Write) -> io::Result<()> {
    Ok(serde_json::to_writer_pretty(to, document)?)
}

/// `history.json`: the history as JSON on one line, as its values are many; written to `to`.
///
/// # Errors
/// Those of `to`.
pub fn write_history(document: &HistoryDocument, to: impl io::Write) -> io::Result<()> {
    Ok(serde_json::to_writer(to, document)?)
}
