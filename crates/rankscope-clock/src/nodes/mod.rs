//! From the lines of edges to the clocks of nodes.

use rankscope_time::Span;

use crate::{HostInstant, Interval, NodeId, NodeWindow};

/// How to solve.
#[derive(Clone, Debug)]
pub struct SolveOptions {
    /// Whose clock is the reference. Where it took no part in the round, the lowest node that has been placed before stands in.
    pub reference: NodeId,
    /// Edges with fewer complete exchanges are left out (section 5.3 of the origin: 12).
    pub pairs_min: u32,
    /// Edges that lost a greater part of their packets are left out (0.6).
    pub loss_ratio_max: f64,
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
    /// How far `offset` is likely off, one standard deviation.
    pub sigma_ns: f64,
    /// Root mean square of what the node's edges disagree with the solution.
    pub residual_ns: f64,
    /// An edge on the way was degraded, or the reference was not heard and stood in for.
    pub degraded: bool,
}

/// The clocks of all nodes in one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Those that could be placed, by node.
    pub nodes: Vec<NodeEstimate>,
    /// Those that took part, or were expected to, and hang on no usable edge.
    pub unreachable: Vec<NodeId>,
}

/// The clocks of all nodes that `windows` mention, at the middle of the reference's window. `before` is the last solution.
pub fn solve(_windows: &[NodeWindow], _before: Option<&Solution>, _options: &SolveOptions) -> Solution {
    Solution::default()
}
