//! What each clock can read at all, from what each pair can differ by at all.
//!
//! An edge says `lo <= dst - src <= hi`. Chains of such constraints add up, so the tightest bounds are shortest paths from the
//! root, one way for the upper ends and the other way for the lower ends (Bellman 1958, Ford 1956, with a queue). Costs are
//! taken against the estimate: one that satisfies all edges makes every cost positive, and the search ends almost at once. A
//! cycle of negative cost is a proof that one of its edges lies. It is the one that disagrees most with the estimate, on which
//! all other edges have voted, and one that proves nothing before one that does; it is dropped, and the search begins anew.
//!
//! Edges that prove nothing (degraded ones) are used only for nodes that no others reach.

use std::collections::VecDeque;

use super::line::{Line, log_rate_ppb};

/// What the reading of a node may be beyond its estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NodeBound {
    pub(super) below_ns: i64,
    pub(super) above_ns: i64,
    /// What the logarithm of its rate against the root's can be, in ppb.
    pub(super) log_rate_ppb: (f64, f64),
    /// All edges on the way prove what they say.
    pub(super) sound: bool,
}

/// Edges that disagree by more sigmas than this disagree on what happened.
const STRAINED_SIGMAS: f64 = 10.0;

impl NodeBound {
    /// Whether the estimate lies outside.
    pub(super) fn excludes_estimate(&self) -> bool {
        self.below_ns < 0 || self.above_ns < 0
    }

    /// Whether edges disagree by more than noise explains, and by more than the bound leaves open, as paths that are longer one
    /// way may. The root is what it is, whatever its edges say.
    pub(super) fn is_strained(&self, sigma_ns: f64, residual_ns: f64) -> bool {
        let open_ns = self.below_ns.saturating_add(self.above_ns) as f64;
        sigma_ns > 0.0 && residual_ns > STRAINED_SIGMAS * sigma_ns && residual_ns > open_ns / 2.0
    }
}

/// A cycle of constraints that cannot all hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contradiction {
    /// Places of the lines around the cycle; the first is the likeliest liar.
    pub(super) lines: Vec<usize>,
    /// By how much they miss each other.
    pub(super) excess_ns: i64,
}

/// One way along a constraint.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: u32,
    cost: i64,
    line: u32,
}

/// Bounds this wide say nothing; sums of them must not overflow.
const COST_MAX: i64 = 1 << 50;

/// Bounds of all nodes around `readings`, or a proof that some line of `lines` lies. `change_ppb_per_s` is how fast a skew may
/// change.
pub(super) fn bounds(lines: &[Line<'_>], readings: &[i64], change_ppb_per_s: u32) -> Result<Vec<NodeBound>, Contradiction> {
    let mut margin_ns = 1;
    loop {
        let found = bounds_with(lines, readings, change_ppb_per_s, margin_ns)?;
        // Lines were evaluated at the estimate. Where the truth may be far from it, they may have gained more by then.
        let reach = |place: u32| found[place as usize].below_ns.max(found[place as usize].above_ns) as f64;
        let gained = |line: &Line<'_>| {
            let (least, most) = line.skew_bound_ppb(change_ppb_per_s);
            least.abs().max(most.abs()) * 1e-9 * reach(line.src)
        };
        let needed = lines.iter().map(gained).fold(0.0, f64::max).ceil() as i64;
        if needed <= margin_ns || margin_ns >= COST_MAX {
            return Ok(found);
        }
        margin_ns = needed.saturating_mul(2).min(COST_MAX);
    }
}

fn bounds_with(lines: &[Line<'_>], readings: &[i64], change: u32, margin_ns: i64) -> Result<Vec<NodeBound>, Contradiction> {
    let proven = Network::new(lines, readings, change, margin_ns, |line| line.sound).bounds(change)?;
    if proven.iter().all(Option::is_some) {
        return Ok(proven.into_iter().flatten().collect());
    }
    let claimed = Network::new(lines, readings, change, margin_ns, |_| true).bounds(change)?;
    let open =
        NodeBound { below_ns: COST_MAX, above_ns: COST_MAX, log_rate_ppb: (f64::NEG_INFINITY, f64::INFINITY), sound: false };
    let better = |(proven, claimed): (Option<NodeBound>, Option<NodeBound>)| {
        proven.or(claimed.map(|claimed| NodeBound { sound: false, ..claimed })).unwrap_or(open)
    };
    Ok(proven.into_iter().zip(claimed).map(better).collect())
}

/// Constraints as costs: `upper` raises upper ends along an arc, `lower` lowers lower ends.
struct Network<'a> {
    lines: &'a [Line<'a>],
    upper: Vec<Vec<Arc>>,
    lower: Vec<Vec<Arc>>,
}

impl<'a> Network<'a> {
    fn new(lines: &'a [Line<'a>], readings: &[i64], change: u32, margin_ns: i64, admits: impl Fn(&Line<'_>) -> bool) -> Self {
        let mut network = Self { lines, upper: vec![Vec::new(); readings.len()], lower: vec![Vec::new(); readings.len()] };
        for (line, place) in lines.iter().zip(0u32..).filter(|(line, _)| admits(line)) {
            let (src_ns, dst_ns) = line.ends(readings);
            let (lo, hi) = line.interval_ns(src_ns, change);
            let difference = dst_ns.saturating_sub(src_ns);
            let cost = |slack: i64| slack.saturating_add(margin_ns).clamp(-COST_MAX, COST_MAX);
            let (over, under) = (cost(hi.saturating_sub(difference)), cost(difference.saturating_sub(lo)));
            let (src, dst) = (line.src as usize, line.dst as usize);
            network.upper[src].push(Arc { to: line.dst, cost: over, line: place });
            network.upper[dst].push(Arc { to: line.src, cost: under, line: place });
            network.lower[src].push(Arc { to: line.dst, cost: under, line: place });
            network.lower[dst].push(Arc { to: line.src, cost: over, line: place });
        }
        network
    }

    /// By node; none for those that no path reaches.
    fn bounds(&self, change: u32) -> Result<Vec<Option<NodeBound>>, Contradiction> {
        let above = Search::run(&self.upper, self.lines)?;
        let below = Search::run(&self.lower, self.lines)?;
        let rates = above.log_rates(self.lines, change);
        let bound = |node: usize| {
            let (above_ns, below_ns) = (above.cost[node], below.cost[node]);
            let reached = above_ns != UNREACHED && below_ns != UNREACHED;
            reached.then_some(NodeBound { below_ns, above_ns, log_rate_ppb: rates[node], sound: true })
        };
        Ok((0..above.cost.len()).map(bound).collect())
    }
}

/// Shortest paths from node 0.
struct Search {
    cost: Vec<i64>,
    /// The node and the arc that the path to each node comes by.
    from: Vec<Option<(u32, Arc)>>,
}

/// The cost of what has not been reached.
const UNREACHED: i64 = i64::MAX;

impl Search {
    fn run(arcs: &[Vec<Arc>], lines: &[Line<'_>]) -> Result<Self, Contradiction> {
        let mut search = Self { cost: vec![UNREACHED; arcs.len()], from: vec![None; arcs.len()] };
        search.cost[0] = 0;
        let mut queue = VecDeque::from([0u32]);
        let mut queued = vec![false; arcs.len()];
        let mut until_check = arcs.len();
        while let Some(node) = queue.pop_front() {
            queued[node as usize] = false;
            let here = search.cost[node as usize];
            for arc in &arcs[node as usize] {
                let to = arc.to as usize;
                let cost = here.saturating_add(arc.cost);
                if cost < search.cost[to] {
                    search.cost[to] = cost;
                    search.from[to] = Some((node, *arc));
                    if !std::mem::replace(&mut queued[to], true) {
                        queue.push_back(arc.to);
                    }
                }
            }
            // A cycle of negative cost shows as a cycle of predecessors; looking once for every so many nodes costs nothing.
            until_check -= 1;
            if until_check == 0 {
                until_check = arcs.len();
                if let Some(contradiction) = search.cycle(lines) {
                    return Err(contradiction);
                }
            }
        }
        Ok(search)
    }

    fn cycle(&self, lines: &[Line<'_>]) -> Option<Contradiction> {
        let mut seen_from = vec![usize::MAX; self.cost.len()];
        for start in 0..self.cost.len() {
            let mut node = start;
            while seen_from[node] == usize::MAX {
                seen_from[node] = start;
                let Some((before, _)) = self.from[node] else { break };
                node = before as usize;
            }
            if seen_from[node] == start && self.from[node].is_some() {
                return self.around(node, lines);
            }
        }
        None
    }

    /// The contradiction on the cycle of predecessors through `node`, if there is one.
    fn around(&self, node: usize, lines: &[Line<'_>]) -> Option<Contradiction> {
        let mut arcs = Vec::new();
        let mut at = node;
        loop {
            let (before, arc) = self.from[at]?;
            arcs.push(arc);
            at = before as usize;
            if at == node {
                break;
            }
        }
        let excess_ns = -arcs.iter().map(|arc| arc.cost).sum::<i64>();
        let worst = (0..arcs.len()).min_by_key(|place| (lines[arcs[*place].line as usize].sound, arcs[*place].cost))?;
        arcs.rotate_left(worst);
        let lines = arcs.iter().map(|arc| arc.line as usize).collect();
        (excess_ns > 0).then_some(Contradiction { lines, excess_ns })
    }

    /// Bounds of rates along the paths found: any path gives valid ones.
    fn log_rates(&self, lines: &[Line<'_>], change: u32) -> Vec<(f64, f64)> {
        let mut rates = vec![None; self.cost.len()];
        rates[0] = Some((0.0, 0.0));
        for node in 0..rates.len() {
            let mut path = Vec::new();
            let mut at = node;
            while let (None, Some((before, arc))) = (rates[at], self.from[at]) {
                path.push((at, arc));
                at = before as usize;
            }
            let mut rate = rates[at].unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
            for (to, arc) in path.into_iter().rev() {
                let line = &lines[arc.line as usize];
                let (least, most) = line.skew_bound_ppb(change);
                let (least, most) = (log_rate_ppb(least), log_rate_ppb(most));
                rate = if line.dst == arc.to { (rate.0 + least, rate.1 + most) } else { (rate.0 - most, rate.1 - least) };
                rates[to] = Some(rate);
            }
        }
        rates.into_iter().map(|rate| rate.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))).collect()
    }
}
