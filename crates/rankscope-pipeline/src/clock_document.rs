//! From lines of offsets to the document that is drawn.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_clock::files::OffsetRow;
use rankscope_clock::nodes::NodeEstimate;
use rankscope_clock::trend::{Segment, segments};
use rankscope_clock::{HostInstant, NodeId};
use rankscope_document::{ClockDocument, ClockPoint, NodeClock, Note};
use rankscope_time::Span;

/// The document of `rows`, in whatever order they are.
pub fn clock_document(title: String, rows: &[OffsetRow], reference: Option<NodeId>, notes: Vec<Note>) -> ClockDocument {
    let mut by_node: BTreeMap<NodeId, Vec<&OffsetRow>> = BTreeMap::new();
    for row in rows {
        by_node.entry(row.node).or_default().push(row);
    }
    let first = rows.iter().filter_map(|row| row.estimate.as_ref()).map(on_reference).min();
    let rounds: BTreeSet<u64> = rows.iter().map(|row| row.round).collect();
    ClockDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title,
        reference: reference.map(|node| node.0),
        rounds: rounds.len() as u32,
        notes,
        nodes: by_node.into_iter().map(|(node, rows)| clock(node, rows, first)).collect(),
    }
}

fn clock(node: NodeId, rows: Vec<&OffsetRow>, first: Option<HostInstant>) -> NodeClock {
    let mut placed: Vec<(u64, NodeEstimate)> = rows.iter().filter_map(|row| Some((row.round, row.estimate?))).collect();
    placed.sort_by_key(|(_, estimate)| estimate.at);
    let estimates: Vec<_> = placed.iter().map(|(_, estimate)| *estimate).collect();
    let unreachable = (rows.len() - placed.len()) as u32;
    let points = segments(&estimates).into_iter().flat_map(|segment| {
        let placed = &placed;
        segment.rounds.clone().map(move |at| point(&placed[at], &segment, at > 0 && at == segment.rounds.start, first))
    });
    NodeClock { node: node.0, unreachable, points: points.collect() }
}

fn point((round, estimate): &(u64, NodeEstimate), segment: &Segment, step: bool, first: Option<HostInstant>) -> ClockPoint {
    let bound = |bound: Span| Some(bound.as_nanos()).filter(|ns| *ns > i64::MIN && *ns < i64::MAX);
    let elapsed = first.map_or(Span::ZERO, |first| on_reference(estimate) - first);
    ClockPoint {
        round: *round,
        at_ns: estimate.at.nanos_since_epoch(),
        elapsed_s: elapsed.as_nanos() as f64 / 1e9,
        offset_ns: estimate.offset.as_nanos(),
        skew_ppb: estimate.skew_ppb,
        bound_lo_ns: bound(estimate.bound.lo),
        bound_hi_ns: bound(estimate.bound.hi),
        sigma_ns: Some(estimate.sigma_ns).filter(|sigma| sigma.is_finite()),
        residual_ns: estimate.residual_ns,
        stray_ns: (estimate.offset - segment.offset_at(estimate.at)).as_nanos(),
        degraded: estimate.degraded,
        step,
    }
}

/// When the estimate holds, on the reference's clock.
fn on_reference(estimate: &NodeEstimate) -> HostInstant {
    estimate.at - estimate.offset
}
