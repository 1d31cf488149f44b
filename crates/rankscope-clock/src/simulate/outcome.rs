//! What came of a simulated job, as a document: how far off the estimates are, and of how many.

use rankscope_time::Span;
use serde::Serialize;

use super::{Accuracy, Quantiles};
use crate::graph::ProbeGraph;

/// The document. Keys of the first five fields are the contract; the others may grow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Simulated {
    /// Of all nodes but the reference, in all rounds.
    pub error_ns: Spread,
    /// Of a node's skew against its mean over the window.
    pub skew_error_ppb: Max,
    /// The part of the bounds of nodes and edges that contain the truth.
    pub bound_coverage: f64,
    /// Of bounds of nodes.
    pub bound_width_ns: P50,
    /// What a spanning tree makes of the same edges.
    pub tree_error_ns: Spread,
    /// Root mean square of the errors of nodes.
    pub error_rms_ns: f64,
    /// Of all lines, in the middle of their windows.
    pub edge_error_ns: Spread,
    /// Root mean square of the same.
    pub edge_error_rms_ns: f64,
    /// Of smoothed maps at the common instants.
    pub smoothed_error_ns: Spread,
    /// The part of smoothed maps that are within their stated error.
    pub map_coverage: f64,
    /// Root mean square of the errors over what theory says of a complete graph; none for other graphs.
    pub theory_ratio: Option<f64>,
    /// How many nodes.
    pub nodes: u32,
    /// How many edges.
    pub edges: usize,
    /// How many windows.
    pub windows: u64,
    /// All windows together, in simulated time.
    pub seconds: f64,
    /// Estimates of nodes that were degraded.
    pub degraded: u64,
    /// Nodes that could not be placed, summed over rounds.
    pub unplaced: u64,
    /// Edges that were left out because they contradict others, summed over rounds.
    pub rejected: u64,
    /// Jumps of clocks that were reported.
    pub steps: u64,
}

/// How errors are spread, without their signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// Half are no greater.
    pub p50: u64,
    /// 99 of 100 are no greater.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

/// The greatest error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Max {
    /// It.
    pub max: f64,
}

/// A median.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct P50 {
    /// It.
    pub p50: u64,
}

impl From<Quantiles> for Spread {
    fn from(Quantiles { p50, p99, max }: Quantiles) -> Self {
        Self { p50, p99, max }
    }
}

impl Simulated {
    /// What `accuracy` says of a job over `graph` that had so many windows of that length.
    pub fn new(graph: &ProbeGraph, (windows, window): (u64, Span), accuracy: &Accuracy) -> Self {
        let (nodes, edges) = (f64::from(graph.nodes()), graph.edges().len());
        let complete = edges as f64 == nodes * (nodes - 1.0) / 2.0;
        let theory_ns = accuracy.edge_error_rms_ns * (2.0 / nodes).sqrt();
        Self {
            error_ns: accuracy.error_ns.into(),
            skew_error_ppb: Max { max: accuracy.skew_error_ppb_max },
            bound_coverage: accuracy.bound_coverage,
            bound_width_ns: P50 { p50: accuracy.bound_width_ns_p50 },
            tree_error_ns: accuracy.tree_error_ns.into(),
            error_rms_ns: accuracy.error_rms_ns,
            edge_error_ns: accuracy.edge_error_ns.into(),
            edge_error_rms_ns: accuracy.edge_error_rms_ns,
            smoothed_error_ns: accuracy.smoothed_error_ns.into(),
            map_coverage: accuracy.map_coverage,
            theory_ratio: (complete && theory_ns > 0.0).then(|| accuracy.error_rms_ns / theory_ns),
            nodes: graph.nodes(),
            edges,
            windows,
            seconds: window.as_nanos() as f64 * 1e-9 * windows as f64,
            degraded: accuracy.degraded,
            unplaced: accuracy.unplaced,
            rejected: accuracy.rejected,
            steps: accuracy.steps,
        }
    }
}
