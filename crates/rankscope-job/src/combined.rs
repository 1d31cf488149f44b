//! Traces that go into one file: the number of each, and what was done to it, as documents say it.

use std::collections::BTreeSet;

use rankscope_align::combine::PlacedTrace;
use rankscope_document::{CombinedNode, Extrapolations, NumberedBy, RestoredStamps};
use rankscope_trace::{Trace, TrackKind};

/// Gives every trace a number of its own.
#[derive(Debug)]
pub struct Numbering {
    by_position: bool,
    next: u32,
    taken: BTreeSet<u32>,
}

impl Numbering {
    /// By their places among the inputs, or by their ranks where these are known and different.
    pub fn new(by_position: bool) -> Self {
        Self { by_position, next: 0, taken: BTreeSet::new() }
    }

    /// The number of `trace`, whose rank in the job may be known from elsewhere.
    pub fn number(&mut self, trace: &Trace, known: Option<u32>) -> (u32, NumberedBy) {
        let rank = if self.by_position { None } else { known.or_else(|| trace.provenance.own_rank().map(|rank| rank.0)) };
        if let Some(rank) = rank.filter(|rank| self.taken.insert(*rank)) {
            return (rank, NumberedBy::Rank);
        }
        while !self.taken.insert(self.next) {
            self.next += 1;
        }
        (self.next, NumberedBy::Position)
    }
}

/// What was done to `trace`, which has the number `id`.
pub fn combined_node(id: u32, numbered_by: NumberedBy, trace: &Trace, aligned: PlacedTrace) -> CombinedNode {
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
