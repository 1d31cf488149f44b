//! `report.json`: the document as text.

use rankscope_document::Document;

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
