//! `OUT.metadata.json`: what was done to each trace.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use rankscope_formats::LeftOut;
use rankscope_trace::{Trace, TrackKind};
use serde::Serialize;

use super::clocks::{Aligned, Clocks};
use super::inputs::NumberedBy;
use crate::output::Lines;
use crate::validate::{self, Document};

/// The document.
#[derive(Debug, Serialize)]
pub(super) struct Metadata {
    schema: u32,
    output: String,
    /// How clocks are known, by and large.
    method: &'static str,
    notes: Vec<String>,
    /// Files that were passed over, and why.
    pub(super) skipped: Vec<String>,
    /// What the traces hold and the output has no place for, and how often.
    #[serde(serialize_with = "counts")]
    pub(super) left_out: LeftOut,
    pub(super) nodes: Vec<NodeMetadata>,
    /// What `validate` says of the combined traces, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) validation: Option<Document>,
}

/// One trace.
#[derive(Debug, Serialize)]
pub(super) struct NodeMetadata {
    /// Its number in the combined file.
    id: u32,
    numbered_by: NumberedBy,
    /// The node whose clock it was moved by.
    node: Option<u32>,
    host: Option<String>,
    file: String,
    method: &'static str,
    events: u64,
    /// Pairs of a tracer's clock and the host's.
    snapshots: usize,
    /// It has events of devices, and nothing but the start of its collector says how their clock stood to the host's.
    missing_snapshots: bool,
    offset_windows: usize,
    /// Its clock minus the common one, in its middle.
    #[serde(rename = "offset_ns")]
    pub(super) ahead_ns: i64,
    /// The most that was added to a stamp or taken off it between clocks, in either direction.
    max_correction_ns: u64,
    /// The most that the common time of an event may be off by what clocks claim; none where they claim nothing.
    uncertainty_ns: Option<u64>,
    residual_ns: Option<f64>,
    extrapolations: Extrapolations,
    /// What was added to stamps that counted from the start of a collector.
    restored: RestoredStamps,
    notes: Vec<String>,
}

/// Events outside what was measured, by what was to be known there.
#[derive(Debug, Serialize)]
struct Extrapolations {
    snapshots: u64,
    offsets: u64,
}

#[derive(Debug, Serialize)]
struct RestoredStamps {
    host_ns: i64,
    devices_ns: i64,
}

impl Metadata {
    pub(super) fn new(output: &Path, clocks: &Clocks) -> Self {
        let output = output.display().to_string();
        Self {
            schema: 1,
            output,
            method: clocks.method,
            notes: clocks.notes.clone(),
            skipped: clocks.skipped.clone(),
            left_out: LeftOut::default(),
            nodes: Vec::new(),
            validation: None,
        }
    }

    /// The name of the file beside the output `name`.
    pub(super) fn name(&self, name: &str) -> String {
        let suffixes = [".gz", ".zst", ".json", ".trace", ".pb", ".xplane", ".xspace", ".pftrace", ".perfetto-trace", ".tar"];
        let stem = suffixes.iter().fold(name, |stem, suffix| stem.strip_suffix(suffix).unwrap_or(stem));
        format!("{stem}.metadata.json")
    }

    pub(super) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    pub(super) fn write(&self, output: &mut impl Write) -> Result<()> {
        Ok(writeln!(output, "{}", self.json()?)?)
    }

    /// For people.
    pub(super) fn summary(&self) -> String {
        let events: u64 = self.nodes.iter().map(|node| node.events).sum();
        let mut lines = Lines::default();
        lines.line(format_args!("{}: {} traces, {events} events, clocks: {}", self.output, self.nodes.len(), self.method));
        for node in &self.nodes {
            let by = match node.numbered_by {
                NumberedBy::Position => "by position among the inputs",
                NumberedBy::Rank => "by its rank",
            };
            let moved = || {
                let within = node.uncertainty_ns.map_or_else(|| "an unknown error".to_owned(), |ns| format!("{ns} ns"));
                format!(", moved by up to {} ns, to within {within}", node.max_correction_ns)
            };
            let moved = if node.max_correction_ns > 0 { moved() } else { String::new() };
            lines.line(format_args!("  {} ({by}) {}: {} events{moved}", node.id, node.file, node.events));
            node.notes.iter().for_each(|note| lines.line(format_args!("    {note}")));
        }
        let mut text = lines.into_text();
        if let Some(document) = &self.validation {
            text.push('\n');
            text += &validate::text(document);
        }
        text
    }
}

fn counts<S: serde::Serializer>(left_out: &LeftOut, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(left_out.iter().map(|(kind, count)| (kind.name(), count)))
}

impl NodeMetadata {
    pub(super) fn new(id: u32, numbered_by: NumberedBy, trace: &Trace, aligned: Aligned) -> Self {
        let moves = || aligned.settled.iter().map(|settled| &settled.moved).chain([&aligned.moved]);
        let greatest =
            |moved: &rankscope_align::Moved| moved.correction_min_ns.unsigned_abs().max(moved.correction_max_ns.unsigned_abs());
        let clocks = || aligned.settled.iter().map(|settled| &settled.clock).chain(&trace.provenance.tracer_clocks);
        let has_devices = trace.tracks.iter().any(|(_, track)| matches!(track.kind, TrackKind::Device | TrackKind::Stream));
        let mut notes = aligned.notes.clone();
        if aligned.restored.by_starts {
            notes.push("the device clocks are aligned with the host only by the two start times of its collector: there are no snapshots".to_owned());
        }
        Self {
            id,
            numbered_by,
            node: aligned.node,
            host: trace.provenance.host.clone(),
            file: trace.provenance.file.clone(),
            method: aligned.method,
            events: aligned.moved.events,
            snapshots: clocks().map(|clock| clock.pairs.len()).sum(),
            missing_snapshots: has_devices && (clocks().next().is_none() || aligned.restored.by_starts),
            offset_windows: aligned.offset_windows,
            ahead_ns: aligned.ahead_ns,
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
}
