//! `OUT.metadata.json` before the first trace, and what people are told of it.

use std::path::Path;

use rankscope_cli::output::Lines;
use rankscope_document::{CombineDocument, NumberedBy};

use super::clocks::Clocks;
use crate::validate;

/// Layout version of the document.
const SCHEMA: u32 = 1;

/// The document before the first trace.
pub(super) fn metadata(output: &Path, clocks: &Clocks) -> CombineDocument {
    CombineDocument {
        schema: SCHEMA,
        output: output.display().to_string(),
        method: clocks.method.into(),
        notes: clocks.notes.clone(),
        skipped: clocks.skipped.clone(),
        ..CombineDocument::default()
    }
}

/// The name of the file beside the output `name`.
pub(super) fn name(output: &str) -> String {
    let suffixes = [".gz", ".zst", ".json", ".trace", ".pb", ".xplane", ".xspace", ".pftrace", ".perfetto-trace", ".tar"];
    let stem = suffixes.iter().fold(output, |stem, suffix| stem.strip_suffix(suffix).unwrap_or(stem));
    format!("{stem}.metadata.json")
}

/// For people.
pub(super) fn summary(document: &CombineDocument) -> String {
    let events: u64 = document.nodes.iter().map(|node| node.events).sum();
    let mut lines = Lines::default();
    let traces = document.nodes.len();
    lines.line(format_args!("{}: {traces} traces, {events} events, clocks: {}", document.output, document.method));
    for node in &document.nodes {
        let by = if node.numbered_by == NumberedBy::Rank { "by its rank" } else { "by position among the inputs" };
        let moved = || {
            let within = node.uncertainty_ns.map_or_else(|| "an unknown error".to_owned(), |ns| format!("{ns} ns"));
            format!(", moved by up to {} ns, to within {within}", node.max_correction_ns)
        };
        let moved = if node.max_correction_ns > 0 { moved() } else { String::new() };
        lines.line(format_args!("  {} ({by}) {}: {} events{moved}", node.id, node.file, node.events));
        node.notes.iter().for_each(|note| lines.line(format_args!("    {note}")));
    }
    let mut text = lines.into_text();
    if let Some(document) = &document.validation {
        text.push('\n');
        text += &validate::text(document);
    }
    text
}
