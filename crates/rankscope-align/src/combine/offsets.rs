//! From a file of offsets, the origin's way to know clocks, to where each node's traces lie on the common clock.

use std::collections::BTreeMap;

use rankscope_clock::files::{OffsetRow, OffsetsFile};
use rankscope_clock::nodes::NodeEstimate;
use rankscope_time::MapError;
use rankscope_trace::{Trace, TracerClock};

use super::placed::{PlacedBy, PlacedTrace};
use super::{CollectorStart, OffsetPoint, PointMap, restore_stamps, through};
use crate::{RankMap, settle_tracers};

/// What a file of offsets and its companions say about one node.
#[derive(Debug, Default)]
pub struct NodeOffsets {
    start: CollectorStart,
    map: Option<PointMap>,
    residual_ns: Option<f64>,
    /// Snapshots that stand for those of its traces.
    pub snapshots: Vec<TracerClock>,
}

impl NodeOffsets {
    /// Moves `trace`, which is of node `number`, to the common clock.
    pub fn place(&self, number: u32, trace: &mut Trace) -> PlacedTrace {
        if !self.snapshots.is_empty() {
            trace.provenance.tracer_clocks.clone_from(&self.snapshots);
        }
        let restored = restore_stamps(trace, self.start);
        let settled = settle_tracers(trace);
        let Some(points) = &self.map else {
            let why = format!("the offsets never place node {number}; its trace keeps its recorded timestamps");
            return PlacedTrace { restored, settled, ..PlacedTrace::as_it_is(trace, number, why) };
        };
        let mut notes = Vec::new();
        if points.passed_over > 0 {
            notes.push(format!("{} rows of offsets of node {number} contradict the rows before them", points.passed_over));
        }
        let (offset_windows, residual_ns) = (points.used, self.residual_ns);
        let placed = PlacedTrace::by_map(trace, &points.map, PlacedBy::Offsets);
        PlacedTrace { node: Some(number), restored, settled, offset_windows, residual_ns, notes, ..placed }
    }
}

/// What `file` says of each node, and the nodes whose rows form no clock.
pub fn offsets_by_node(file: &OffsetsFile) -> (BTreeMap<u32, NodeOffsets>, Vec<(u32, MapError)>) {
    let mut refused = Vec::new();
    let mut nodes: BTreeMap<u32, NodeOffsets> = BTreeMap::new();
    for origin in file.header.iter().flat_map(|header| &header.nodes) {
        let start = CollectorStart { walltime_ns: origin.start_walltime_ns, gpu_ns: origin.start_gpu_ns };
        nodes.entry(origin.node.0).or_default().start = start;
    }
    let mut points: BTreeMap<u32, Vec<OffsetPoint>> = BTreeMap::new();
    let mut residuals: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (row, estimate) in file.rows.iter().filter_map(|row| Some((row, row.estimate?))) {
        points.entry(row.node.0).or_default().push(point(row, &estimate));
        residuals.entry(row.node.0).or_default().push(estimate.residual_ns);
    }
    for (number, points) in points {
        let node = nodes.entry(number).or_default();
        match through(&points) {
            Ok(map) => node.map = Some(map),
            Err(error) => refused.push((number, error)),
        }
        let of_node = &residuals[&number];
        let mean = of_node.iter().map(|ns| ns * ns).sum::<f64>() / of_node.len() as f64;
        node.residual_ns = Some(mean.sqrt()).filter(|ns| ns.is_finite());
    }
    // Offsets are against it, so most files have no row for it.
    let reference = file.header.as_ref().and_then(|header| header.reference).map_or(0, |node| node.0);
    let of_reference = nodes.entry(reference).or_default();
    if of_reference.map.is_none() {
        of_reference.map = Some(PointMap { map: RankMap::identity(), used: 0, passed_over: 0 });
    }
    (nodes, refused)
}

fn point(row: &OffsetRow, estimate: &NodeEstimate) -> OffsetPoint {
    let bound = estimate.bound;
    let half_width = (bound.hi.as_nanos() / 2).saturating_sub(bound.lo.as_nanos() / 2);
    OffsetPoint {
        at_ns: estimate.at.nanos_since_epoch(),
        // Rows without a window are the oldest ones, which give the middle of node 0's.
        at_reference: row.window.as_nanos() == 0,
        offset_ns: estimate.offset.as_nanos(),
        skew_ppb: estimate.skew_ppb as i64,
        half_width_ns: if half_width < UNBOUNDED_NS { half_width.unsigned_abs() } else { estimate.residual_ns.abs() as u64 },
    }
}

/// A bound wider than this (a day) says nothing.
const UNBOUNDED_NS: i64 = 86_400_000_000_000;
