//! From the lines of edges to the clocks of nodes.
//!
//! A round gives each edge a line. Lines are followed outwards from the reference once, in integers; what they leave over is
//! small and goes through robust least squares on the graph's Laplacian, for offsets and for rates. Beside the estimate runs the
//! guarantee: intervals of edges are difference constraints, and shortest paths turn them into intervals of nodes. Rounds
//! become maps afterwards in [`smooth`], and meanwhile in [`ClockFilter`].
//!
//! Asymmetry of paths that cancels around all loops cannot be seen from here; the intervals contain it, the estimates do not
//! know it.

mod agreement;
mod anchor;
mod bounds;
mod filter;
mod joined;
mod kalman;
mod laplacian;
mod least_squares;
mod line;
mod loops;
mod skews;
mod smooth;
mod steps;
mod stretch;
mod tree;

pub use agreement::{Agreement, PairSurplus, agreement};
pub use filter::ClockFilter;
pub use joined::joined;
pub use loops::LoopSurplus;
pub use skews::KnownSkew;
pub(crate) use skews::remembered;
pub use smooth::{SmoothedEstimate, smooth, smoothed_estimates};
pub use steps::NodeStep;
pub use stretch::Stretch;

use std::collections::BTreeSet;

use rankscope_time::{Rate, Span};

use crate::{Edge, HostInstant, Interval, NodeId, NodeWindow, Transport};
use bounds::NodeBound;
use least_squares::Difference;
use line::Line;
use tree::Tree;

/// How to solve.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SolveOptions {
    /// Whose clock is the reference. Where it took no part in the round, one that was placed before stands in.
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
    /// The origin's thresholds, skews up to 1000 ppm (two clocks slewed by 500 in opposite directions), and 100 ppb in a second:
    /// ten times what oscillators in machine rooms do.
    pub fn for_reference(reference: NodeId) -> Self {
        let skew_max = Rate::from_ppb(1_000_000);
        Self { reference, pairs_min: 12, loss_ratio_max: 0.6, skew_max, skew_change_ppb_per_s: 100 }
    }

    /// The same for edges of so many exchanges.
    #[must_use]
    pub fn with_pairs_min(mut self, pairs_min: u32) -> Self {
        self.pairs_min = pairs_min;
        self
    }

    /// The same for edges that lost no greater part than this.
    #[must_use]
    pub fn with_loss_ratio_max(mut self, loss_ratio_max: f64) -> Self {
        self.loss_ratio_max = loss_ratio_max;
        self
    }

    /// The same, believing skews up to this.
    #[must_use]
    pub fn with_skew_max(mut self, skew_max: Rate) -> Self {
        self.skew_max = skew_max;
        self
    }

    /// The same for clocks whose skew changes so fast.
    #[must_use]
    pub fn with_skew_change_ppb_per_s(mut self, skew_change_ppb_per_s: u32) -> Self {
        self.skew_change_ppb_per_s = skew_change_ppb_per_s;
        self
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
    /// The bound is no proof: an edge on the way proves nothing at this instant, edges contradict each other or the estimate, the
    /// clock was set about `at`, or the reference was not heard and stood in for.
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

/// The clocks of all nodes in one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Solution {
    /// Those that could be placed, by node.
    pub nodes: Vec<NodeEstimate>,
    /// Those that took part, or were expected to, and hang on no usable edge.
    pub unreachable: Vec<NodeId>,
    /// Of nodes that could not be placed now, where they stood when they last could. Without the reference later rounds hang
    /// on what is known of the others, and one round in which nobody is heard must not lose that.
    pub earlier: Vec<NodeEstimate>,
    /// By node, what its clock gains as the round said that knew best: lines are drawn on by it.
    pub skews: Vec<KnownSkew>,
    /// Edges left out because they contradict others.
    pub rejected: Vec<RejectedEdge>,
    /// Clocks that jumped during the round.
    pub steps: Vec<NodeStep>,
    /// What loops add up to.
    pub loops: LoopSurplus,
    /// Edges that were used and measured over TCP.
    pub over_tcp: Vec<Edge>,
}

/// Contradictions that are worth resolving one by one. With more of them than this, bounds come from the tree alone.
const REJECTED_MAX: usize = 256;

/// Lines are evaluated anew when readings moved by more than this: at 100 ppm it makes a tenth of a nanosecond.
const MOVED_NS_MAX: f64 = 1_000.0;

/// How often, at most.
const EVALUATIONS_MAX: usize = 4;

/// The clocks of all nodes that `windows` mention, at the middle of the reference's window. `before` is the last solution.
pub fn solve(windows: &[NodeWindow], before: Option<&Solution>, options: &SolveOptions) -> Solution {
    let tracks = line::usable(windows, options);
    let mut expected = expected(windows, before);
    let Some(anchor) = anchor::anchor(windows, &tracks, before, options) else {
        let (earlier, skews) = (earlier(before, &[]), skews::known(before, &[], options.skew_change_ppb_per_s));
        return Solution { unreachable: expected.into_iter().collect(), earlier, skews, ..Solution::default() };
    };
    let tree = Tree::grow(&tracks, anchor.node, anchor.at.nanos_since_epoch());
    let (lines, is_branch) = tree.lines(&tracks);
    let loops = loops::surplus(&tree, &lines, &is_branch);
    let steps = steps::steps(&tree, &lines);
    let (mut placement, rejected) = place(&tree, lines, &is_branch, options.skew_change_ppb_per_s);
    placement.suspect.extend(between_lines(&tree, &tracks, &placement.readings));

    let mut nodes: Vec<NodeEstimate> = (0..tree.nodes.len())
        .map(|place| anchor::against_reference(placement.estimate(&tree, place), &anchor))
        .inspect(|estimate| {
            expected.remove(&estimate.node);
        })
        .collect();
    nodes.sort_unstable_by_key(|estimate| estimate.node);
    let (earlier, skews) = (earlier(before, &nodes), skews::known(before, &nodes, options.skew_change_ppb_per_s));
    let over_tcp = tracks.iter().filter(|track| track.record.transport == Transport::Tcp).map(|track| track.record.edge);
    let (unreachable, over_tcp) = (expected.into_iter().collect(), over_tcp.collect());
    Solution { nodes, unreachable, earlier, skews, rejected, steps, loops, over_tcp }
}

/// The offsets that a spanning tree alone gives, without least squares: the plainest estimate, to compare with.
pub fn along_tree(windows: &[NodeWindow], options: &SolveOptions) -> Vec<(NodeId, Span)> {
    let tracks = line::usable(windows, options);
    let Some(anchor) = anchor::anchor(windows, &tracks, None, options) else { return Vec::new() };
    let tree = Tree::grow(&tracks, anchor.node, anchor.at.nanos_since_epoch());
    let offset = |reading: &i64| Span::from_nanos(reading.saturating_sub(tree.readings[0]));
    tree.nodes.iter().copied().zip(tree.readings.iter().map(offset)).collect()
}

fn expected(windows: &[NodeWindow], before: Option<&Solution>) -> BTreeSet<NodeId> {
    let now = windows.iter().flat_map(|window| {
        let ends = window.edges.iter().flat_map(|record| [record.edge.src, record.edge.dst]);
        std::iter::once(window.node).chain(ends)
    });
    let earlier =
        before.into_iter().flat_map(|before| before.nodes.iter().map(|node| node.node).chain(before.unreachable.clone()));
    now.chain(earlier).collect()
}

/// What `before` knew of nodes that are not among `placed`, both by node.
fn earlier(before: Option<&Solution>, placed: &[NodeEstimate]) -> Vec<NodeEstimate> {
    let known = before.into_iter().flat_map(|before| before.nodes.iter().chain(&before.earlier));
    let is_lost = |known: &&NodeEstimate| placed.binary_search_by_key(&known.node, |placed| placed.node).is_err();
    known.filter(is_lost).copied().collect()
}

/// The places of nodes whose clocks were set just about the common instant, so that they read there what they read twice or
/// never. All of them, where the root's was. Most edges of a node have to say so: those to a clock that was set do, too.
fn between_lines(tree: &Tree, tracks: &[line::Track<'_>], readings: &[i64]) -> Vec<u32> {
    let mut places: Vec<(NodeId, u32)> = tree.nodes.iter().copied().zip(0..).collect();
    places.sort_unstable();
    let (mut all, mut saying) = (vec![0u32; readings.len()], vec![0u32; readings.len()]);
    for track in tracks {
        for node in [track.record.edge.src, track.record.edge.dst] {
            let Ok(index) = places.binary_search_by_key(&node, |(node, _)| *node) else { continue };
            let place = places[index].1 as usize;
            all[place] += 1;
            saying[place] += u32::from(track.is_between_lines(node, readings[place]));
        }
    }
    let is_between = |place: &u32| 2 * saying[*place as usize] > all[*place as usize];
    let everybody = 0..tree.nodes.len() as u32;
    if is_between(&0) { everybody.collect() } else { everybody.filter(is_between).collect() }
}

/// All that is known of the nodes of a tree, against its root.
struct Placement {
    readings: Vec<i64>,
    log_rates_ppb: Vec<f64>,
    sigmas_ns: Vec<f64>,
    residuals_ns: Vec<f64>,
    bounds: Vec<NodeBound>,
    suspect: BTreeSet<u32>,
}

impl Placement {
    fn estimate(&self, tree: &Tree, place: usize) -> NodeEstimate {
        let (reading, bound) = (self.readings[place], &self.bounds[place]);
        let offset_ns = reading.saturating_sub(tree.readings[0]);
        let (sigma_ns, residual_ns) = (self.sigmas_ns[place], self.residuals_ns[place]);
        let is_doubtful = !bound.sound || bound.excludes_estimate() || bound.is_strained(sigma_ns, residual_ns);
        NodeEstimate {
            node: tree.nodes[place],
            at: HostInstant::from_nanos_since_epoch(reading),
            offset: Span::from_nanos(offset_ns),
            skew_ppb: line::skew_ppb(self.log_rates_ppb[place]),
            bound: Interval {
                lo: Span::from_nanos(offset_ns.saturating_sub(bound.below_ns)),
                hi: Span::from_nanos(offset_ns.saturating_add(bound.above_ns)),
            },
            skew_bound_ppb: (line::skew_ppb(bound.log_rate_ppb.0), line::skew_ppb(bound.log_rate_ppb.1)),
            sigma_ns,
            residual_ns,
            degraded: is_doubtful || self.suspect.contains(&(place as u32)),
        }
    }
}

/// Places the nodes of `tree`; edges that contradict the others are taken out of `lines`, one after the other.
fn place(tree: &Tree, mut lines: Vec<Line<'_>>, is_branch: &[bool], change_ppb_per_s: u32) -> (Placement, Vec<RejectedEdge>) {
    let branches: Vec<Line<'_>> = lines.iter().zip(is_branch).filter(|(_, branch)| **branch).map(|(line, _)| *line).collect();
    let mut rejected: Vec<RejectedEdge> = Vec::new();
    let mut suspect = BTreeSet::new();
    loop {
        let (readings, offsets, differences) = settle(tree, &lines);
        let before = rejected.len();
        let bounds = loop {
            match bounds::bounds(&lines, &readings, change_ppb_per_s) {
                Ok(bounds) => break bounds,
                Err(contradiction) if rejected.len() < REJECTED_MAX => {
                    suspect.extend(contradiction.lines.iter().flat_map(|place| [lines[*place].src, lines[*place].dst]));
                    let mut edges = contradiction.lines.iter().map(|place| lines[*place].record.edge);
                    if let Some(edge) = edges.next() {
                        let excess = Span::from_nanos(contradiction.excess_ns);
                        rejected.push(RejectedEdge { edge, against: edges.collect(), excess });
                    }
                    lines.remove(contradiction.lines[0]);
                }
                Err(_) => {
                    suspect.extend(0..tree.nodes.len() as u32);
                    lines.clone_from(&branches);
                }
            }
        };
        if rejected.len() > before {
            continue;
        }
        let rate = |line: &Line<'_>| Difference {
            src: line.src,
            dst: line.dst,
            value: line.log_rate_ppb(),
            sigma: line.skew_sigma_ppb(),
        };
        let rates: Vec<Difference> = lines.iter().map(rate).collect();
        let placement = Placement {
            log_rates_ppb: least_squares::solve(tree.nodes.len(), &rates).values,
            sigmas_ns: offsets.sigmas(&differences),
            residuals_ns: residuals(&differences, &offsets.values),
            readings,
            bounds,
            suspect,
        };
        return (placement, rejected);
    }
}

/// Readings of all nodes at the common instant, by least squares; and the last equations that were solved for them.
fn settle(tree: &Tree, lines: &[Line<'_>]) -> (Vec<i64>, least_squares::Solved, Vec<Difference>) {
    let mut readings = tree.readings.clone();
    let mut evaluations = 0;
    loop {
        let difference = |line: &Line<'_>| Difference {
            src: line.src,
            dst: line.dst,
            value: line.surplus_ns(&readings),
            sigma: line.sigma_ns(readings[line.src as usize]),
        };
        let differences: Vec<Difference> = lines.iter().map(difference).collect();
        let solved = least_squares::solve(readings.len(), &differences);
        let moved = solved.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        for (reading, value) in readings.iter_mut().zip(&solved.values) {
            *reading = reading.saturating_add(value.round() as i64);
        }
        evaluations += 1;
        if moved <= MOVED_NS_MAX || evaluations == EVALUATIONS_MAX {
            return (readings, solved, differences);
        }
    }
}

/// By node, the root mean square of what its edges disagree.
fn residuals(differences: &[Difference], values: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0u32); values.len()];
    for one in differences {
        let square = one.residual(values).powi(2);
        for node in [one.src, one.dst] {
            sums[node as usize].0 += square;
            sums[node as usize].1 += 1;
        }
    }
    sums.into_iter().map(|(sum, count)| (sum / f64::from(count.max(1))).sqrt()).collect()
}
