//! From the lines of edges to the clocks of nodes.

use rankscope_time::{Rate, Span};

use crate::{Edge, HostInstant, Interval, NodeId, NodeWindow};

/// How to solve.
#[derive(Clone, Debug)]
pub struct SolveOptions {
    /// Whose clock is the reference. Where it took no part in the round, the lowest node that has been placed before stands in.
    pub reference: NodeId,
    /// Edges with fewer complete exchanges are left out (section 5.3 of the origin: 12).
    pub pairs_min: u32,
    /// Edges that lost a greater part of their packets are left out (0.6).
    pub loss_ratio_max: f64,
    /// Lines with a greater skew are not believed.
    pub skew_max: Rate,
    /// How fast a clock's skew may change: parts per billion in a second. The bounds rest on it.
    pub skew_change_ppb_per_s: u32,
}

impl SolveOptions {
    /// The origin's thresholds, skews up to 1000 ppm, and 30 ppb in a second: three times what quartz in a machine room does.
    pub fn for_reference(reference: NodeId) -> Self {
        let skew_max = Rate::from_ppb(1_000_000);
        Self { reference, pairs_min: 12, loss_ratio_max: 0.6, skew_max, skew_change_ppb_per_s: 30 }
    }
}

/// One node's clock at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeEstimate {
    /// Whose.
    pub node: NodeId,
    /// On the node's own clock.
    pub at: HostInstant,
    /// `node - reference` at `at`; positive where the node's clock is ahead.
    pub offset: Span,
    /// What the node gains on the reference, in parts per billion.
    pub skew_ppb: f64,
    /// What `offset` can be at all.
    pub bound: Interval,
    /// What `skew_ppb` can be at `at`.
    pub skew_bound_ppb: (f64, f64),
    /// How far `offset` is likely off, one standard deviation.
    pub sigma_ns: f64,
    /// Root mean square of what the node's edges disagree with the solution.
    pub residual_ns: f64,
    /// An edge on the way was degraded, or the reference was not heard and stood in for.
    pub degraded: bool,
}

/// An edge that contradicts the others and was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedEdge {
    /// The likeliest liar.
    pub edge: Edge,
    /// The other edges of the cycle that proves it.
    pub against: Vec<Edge>,
    /// By how much the intervals around the cycle miss each other.
    pub excess: Span,
}

/// A jump of a node's clock against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeStep {
    /// Whose clock.
    pub node: NodeId,
    /// When, on that clock as it was before.
    pub at: HostInstant,
    /// What `node - reference` gained.
    pub size: Span,
}

/// The clocks of all nodes in one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Those that could be placed, by node.
    pub nodes: Vec<NodeEstimate>,
    /// Those that took part, or were expected to, and hang on no usable edge.
    pub unreachable: Vec<NodeId>,
    /// Edges left out because they contradict others.
    pub rejected: Vec<RejectedEdge>,
    /// Clocks that jumped during the round.
    pub steps: Vec<NodeStep>,
}

/// The clocks of all nodes that `windows` mention, at the middle of the reference's window. `before` is the last solution.
pub fn solve(_windows: &[NodeWindow], _before: Option<&Solution>, _options: &SolveOptions) -> Solution {
    Solution::default()
}
