//! `OUT.metadata.json`: what was done to each trace. Translates; decides nothing.

use std::path::Path;

use rankscope_align::combine::PlacedTrace;
use rankscope_document::{CombineDocument, CombinedNode, Extrapolations, NumberedBy, RestoredStamps};
use rankscope_trace::{Trace, TrackKind};

use super::clocks::Clocks;
use crate::output::Lines;
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

/// What was done to `trace`, which has the number `id`.
pub(super) fn node(id: u32, numbered_by: NumberedBy, trace: &Trace, aligned: PlacedTrace) -> CombinedNode {
    let moves = || aligned.settled.iter().map(|settled| &settled.moved).chain([&aligned.moved]);
    let greatest =
        |moved: &rankscope_align::Moved| moved.correction_min_ns.unsigned_abs().max(moved.correction_max_ns.unsigned_abs());
    let clocks = || aligned.settled.iter().map(|settled| &settled.clock).chain(&trace.provenance.tracer_clocks);
    let has_devices = trace.tracks.iter().any(|(_, track)| matches!(track.kind, TrackKind::Device | TrackKind::Stream));
    let mut notes = aligned.notes.clone();
    if aligned.restored.by_starts {
        notes.push(
            "the device clocks are aligned with the host only by the two start times of its collector: there are no snapshots"
                .to_owned(),
        );
    }
    CombinedNode {
        id,
        numbered_by,
        node: aligned.node,
        host: trace.provenance.host.clone(),
        file: trace.provenance.file.clone(),
        method: aligned.by.name().into(),
        events: aligned.moved.events,
        snapshots: clocks().map(|clock| clock.pairs.len()).sum(),
        missing_snapshots: has_devices && (clocks().next().is_none() || aligned.restored.by_starts),
        offset_windows: aligned.offset_windows,
        offset_ns: aligned.ahead_ns,
        max_correction_ns: moves().last().map_or(0, greatest),
        uncertainty_ns: Some(aligned.uncertainty_ns()).filter(|ns| *ns < u64::MAX),
        residual_ns: aligned.residual_ns,
        extrapolations: Extrapolations {
            snapshots: aligned.settled.iter().map(|settled| settled.moved.extrapolated).sum(),
            offsets: aligned.moved.extrapolated,
        },
        restored: RestoredStamps { host_ns: aligned.restored.host_ns, devices_ns: aligned.restored.devices_ns },
        notes,
    }
}
