//! How the edges of a run agree: what each pair of nodes measures beyond what all others make of the two, over all rounds.
//!
//! Chance is another in each round and averages out. What stays is a path that takes longer one way than the other: half the
//! difference goes into the pair's offset, and no bound is violated. A pair is compared with the least squares solution of all
//! others (its residual over one less its leverage, Cook and Weisberg 1982), so that it does not vouch for itself; the two edges
//! between a pair share their paths and count as one. Where pairs disagree more than chance explains, the rest is taken for
//! what every path has, and becomes an uncertainty of nodes that no number of rounds makes smaller.
//!
//! A pair outside of all loops is not compared with anything. Of a loop by itself it cannot be told which pair is off, and what
//! cancels around all loops, as the asymmetry of one node's link card does, stays unseen.

use std::collections::{BTreeMap, BTreeSet};

use super::laplacian::Laplacian;
use super::least_squares::{self, Difference};
use super::line;
use super::{Solution, SolveOptions};
use crate::{NodeId, NodeWindow};

/// How the edges of a run agree.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Agreement {
    /// By their nodes.
    pub pairs: Vec<PairSurplus>,
    /// By node: one standard deviation of what lopsided paths do to its offset in all rounds alike, as far as loops show. Empty
    /// where there is no loop.
    pub path_sigmas_ns: Vec<(NodeId, f64)>,
}

/// A pair of nodes against all others.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PairSurplus {
    /// The two nodes, the lower number first.
    pub nodes: (NodeId, NodeId),
    /// How many edges of how many rounds tell.
    pub measured: u32,
    /// What the pair measures of `second - first` beyond what all others say of it; none where no loop leads through it. Packets
    /// from the first to the second take twice as much longer than those back, if the others are right.
    pub surplus_ns: Option<f64>,
    /// One standard deviation of the surplus by chance.
    pub chance_ns: f64,
    /// The others agree with each other, and this pair does not agree with them: its path is lopsided.
    pub is_suspect: bool,
}

/// Up to this many nodes each pair's leverage is computed; beyond, all are taken to have that of the average pair.
const EXACT_NODES_MAX: usize = 256;

/// So many standard deviations of a normal distribution, one in 1.7 million: there are many pairs, and a wrong name is worse than
/// none.
const SUSPECT_SIGMAS: f64 = 5.0;

/// So many loops have to be left when a pair is put aside, or what agrees does so by chance.
const LOOPS_LEFT_MIN: usize = 2;

/// Pairs that are put aside, at most: beyond, it is the rule and no exception.
const SUSPECTS_MAX: usize = 4;

/// No surplus is smaller by chance.
const CHANCE_MIN_NS: f64 = 0.5;

/// How the edges of `rounds` agree, each with its solution.
pub fn agreement<'a>(rounds: impl Iterator<Item = (&'a [NodeWindow], &'a Solution)>, options: &SolveOptions) -> Agreement {
    let mut deviations: BTreeMap<(NodeId, NodeId), Vec<f64>> = BTreeMap::new();
    for (windows, solution) in rounds {
        for (nodes, deviation_ns) in deviations_ns(windows, solution, options) {
            deviations.entry(nodes).or_default().push(deviation_ns);
        }
    }
    let means = deviations.into_iter().map(|(nodes, deviations)| Mean::of(nodes, deviations)).collect();
    let mut all = Agreement::default();
    for network in networks(means, options.reference) {
        network.agreement(&mut all);
    }
    all.pairs.sort_unstable_by_key(|pair| pair.nodes);
    all.path_sigmas_ns.sort_unstable_by_key(|(node, _)| *node);
    all
}

/// What the lines of a round expect of nodes beyond what its solution says of them, by pair.
fn deviations_ns(windows: &[NodeWindow], solution: &Solution, options: &SolveOptions) -> Vec<((NodeId, NodeId), f64)> {
    let reading_ns = |node: NodeId| {
        let place = solution.nodes.binary_search_by_key(&node, |estimate| estimate.node).ok()?;
        Some(solution.nodes[place].at.nanos_since_epoch())
    };
    let deviation = |track: line::Track<'_>| {
        let (src, dst) = (track.record.edge.src, track.record.edge.dst);
        let (src_ns, dst_ns) = (reading_ns(src)?, reading_ns(dst)?);
        let deviation_ns = line::surplus_ns(track.at_src(src_ns), src_ns, dst_ns);
        Some(if src < dst { ((src, dst), deviation_ns) } else { ((dst, src), -deviation_ns) })
    };
    line::usable(windows, options).into_iter().filter_map(deviation).collect()
}

/// What a pair of nodes measures beyond what the solutions of rounds say, all rounds together.
#[derive(Clone, Copy, Debug)]
struct Mean {
    nodes: (NodeId, NodeId),
    measured: u32,
    middle_ns: f64,
    chance_ns: f64,
}

impl Mean {
    /// The median and its standard deviation: a clock that is set spoils a round or two.
    fn of(nodes: (NodeId, NodeId), mut deviations_ns: Vec<f64>) -> Self {
        let middle_ns = median(&mut deviations_ns);
        let count = deviations_ns.len() as f64;
        let mut strays_ns: Vec<f64> = deviations_ns.iter().map(|deviation| (deviation - middle_ns).abs()).collect();
        // Of normal noise, 1.4826 times the median of strays is the deviation, of which the median's own is 1.2533 / sqrt(n).
        let chance_ns = median(&mut strays_ns) * 1.4826 * 1.2533 / count.sqrt();
        Self { nodes, measured: deviations_ns.len() as u32, middle_ns, chance_ns: chance_ns.max(CHANCE_MIN_NS) }
    }

    fn joins(&self, node: NodeId) -> bool {
        self.nodes.0 == node || self.nodes.1 == node
    }

    /// The other node, where `node` is one of the two.
    fn beyond(&self, node: NodeId) -> Option<NodeId> {
        let (first, second) = self.nodes;
        if first == node { Some(second) } else { (second == node).then_some(first) }
    }
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Pairs between nodes that all hang together, and what they measure.
struct Network {
    /// From the reference outwards; the first is held at zero.
    nodes: Vec<NodeId>,
    means: Vec<Mean>,
    differences: Vec<Difference>,
}

/// The networks that `means` make: one, unless nodes were heard in different rounds only.
fn networks(mut means: Vec<Mean>, reference: NodeId) -> Vec<Network> {
    let mut networks = Vec::new();
    while let Some(first) = means.first() {
        let start = if means.iter().any(|mean| mean.joins(reference)) { reference } else { first.nodes.0 };
        let mut nodes = vec![start];
        let mut at = 0;
        while let Some(node) = nodes.get(at).copied() {
            nodes.extend(means.iter().filter_map(|mean| mean.beyond(node)));
            // In the order in which they are found, each once.
            let mut known = BTreeSet::new();
            nodes.retain(|node| known.insert(*node));
            at += 1;
        }
        let known: BTreeSet<NodeId> = nodes.iter().copied().collect();
        let (inside, outside) = means.into_iter().partition(|mean| known.contains(&mean.nodes.0));
        networks.push(Network::of(nodes, inside));
        means = outside;
    }
    networks
}

impl Network {
    fn of(nodes: Vec<NodeId>, means: Vec<Mean>) -> Self {
        let places: BTreeMap<NodeId, u32> = nodes.iter().copied().zip(0..).collect();
        let place = |node: NodeId| places[&node];
        let difference =
            |mean: &Mean| Difference { src: place(mean.nodes.0), dst: place(mean.nodes.1), value: mean.middle_ns, sigma: 1.0 };
        let differences = means.iter().map(difference).collect();
        Self { nodes, means, differences }
    }

    fn agreement(self, all: &mut Agreement) {
        let mut aside = Vec::new();
        let mut judged = self.judged(&aside);
        while let Some(suspect) = judged.suspect().filter(|_| aside.len() < SUSPECTS_MAX) {
            aside.push(suspect);
            judged = self.judged(&aside);
        }
        let pairs = self.means.iter().zip(&judged.pairs).map(|(mean, pair)| PairSurplus {
            nodes: mean.nodes,
            measured: mean.measured,
            surplus_ns: pair.surplus_ns(),
            chance_ns: mean.chance_ns / pair.spare.max(SPARE_MIN),
            is_suspect: !pair.is_kept,
        });
        all.pairs.extend(pairs);
        all.path_sigmas_ns.extend(self.path_sigmas_ns(&judged));
    }

    /// All pairs against the least squares solution of those that are not put `aside`.
    fn judged(&self, aside: &[usize]) -> Judged {
        let is_kept = |at: &usize| !aside.contains(at);
        let kept: Vec<Difference> = (0..self.differences.len()).filter(is_kept).map(|at| self.differences[at]).collect();
        let mut laplacian = Laplacian::new(self.nodes.len(), kept.iter().map(|one| (one.src, one.dst)));
        laplacian.reweigh(kept.iter().map(|_| 1.0));
        let forces = least_squares::divergence(self.nodes.len(), &kept, kept.iter().map(|one| one.value));
        let mut values = vec![0.0; self.nodes.len()];
        laplacian.solve(&forces, &mut values, TOLERANCE);
        let average = self.nodes.len().saturating_sub(1) as f64 / kept.len().max(1) as f64;
        let is_exact = self.nodes.len() <= EXACT_NODES_MAX;
        let leverage = |one: &Difference| if is_exact { resistance(&laplacian, one, values.len()) } else { average };
        let pair = |(at, one): (usize, &Difference)| {
            let is_kept = is_kept(&at);
            Pair { residual_ns: one.residual(&values), spare: if is_kept { 1.0 - leverage(one) } else { 1.0 }, is_kept }
        };
        let pairs = self.differences.iter().enumerate().map(pair).collect();
        Judged { pairs, loops: (kept.len() + 1).saturating_sub(self.nodes.len()) }
    }

    /// What paths that are as lopsided as those that were kept do to nodes, beyond chance.
    fn path_sigmas_ns(&self, judged: &Judged) -> Vec<(NodeId, f64)> {
        if judged.loops == 0 {
            return Vec::new();
        }
        let kept = || judged.pairs.iter().enumerate().filter(|(_, pair)| pair.is_kept).map(|(at, _)| at);
        let chance = kept().map(|at| self.means[at].chance_ns.powi(2)).sum::<f64>() / kept().count() as f64;
        let sigma_ns = (judged.squares() / judged.loops as f64 - chance).max(0.0).sqrt();
        let differences: Vec<Difference> = kept().map(|at| Difference { value: 0.0, ..self.differences[at] }).collect();
        let sigmas = least_squares::solve(self.nodes.len(), &differences).sigmas(&differences);
        self.nodes.iter().copied().zip(sigmas.into_iter().map(|sigma| sigma * sigma_ns)).collect()
    }
}

/// To how much of the right-hand side equations are solved.
const TOLERANCE: f64 = 1e-9;

/// What all pairs together make of the difference of a pair's nodes, as a part of what the pair alone would: its leverage.
fn resistance(laplacian: &Laplacian, pair: &Difference, nodes: usize) -> f64 {
    let (mut force, mut potential) = (vec![0.0; nodes], vec![0.0; nodes]);
    for (node, part) in [(pair.dst, 1.0), (pair.src, -1.0)] {
        // The node that is held at zero takes whatever it is given.
        if node > 0 {
            force[node as usize] = part;
        }
    }
    laplacian.solve(&force, &mut potential, TOLERANCE);
    (potential[pair.dst as usize] - potential[pair.src as usize]).clamp(0.0, 1.0)
}

/// What least squares leave.
struct Judged {
    pairs: Vec<Pair>,
    /// Pairs beyond those of a tree, of those that were kept.
    loops: usize,
}

#[derive(Clone, Copy)]
struct Pair {
    residual_ns: f64,
    /// One less its leverage: none for a pair that no loop leads through, all for one that was put aside.
    spare: f64,
    /// It was not put aside.
    is_kept: bool,
}

/// Less than this is a pair outside of loops, and rounding.
const SPARE_MIN: f64 = 1e-6;

impl Pair {
    fn surplus_ns(&self) -> Option<f64> {
        (self.spare > SPARE_MIN).then(|| self.residual_ns / self.spare)
    }

    /// What the squares of all residuals are less without it.
    fn square(&self) -> f64 {
        if self.is_kept && self.spare > SPARE_MIN { self.residual_ns.powi(2) / self.spare } else { 0.0 }
    }
}

impl Judged {
    fn squares(&self) -> f64 {
        self.pairs.iter().filter(|pair| pair.is_kept).map(|pair| pair.residual_ns.powi(2)).sum()
    }

    /// The place of the pair that the others, which agree among each other, speak against.
    fn suspect(&self) -> Option<usize> {
        let left = self.loops.checked_sub(1).filter(|left| *left >= LOOPS_LEFT_MIN)?;
        let (place, pair) = self.pairs.iter().enumerate().max_by(|(_, a), (_, b)| a.square().total_cmp(&b.square()))?;
        let others = (self.squares() - pair.square()).max(0.0) / left as f64;
        let student = (pair.square() / others.max(CHANCE_MIN_NS.powi(2))).sqrt();
        (normal(student, left as f64) > SUSPECT_SIGMAS).then_some(place)
    }
}

/// Of a value of Student's distribution, the one of the normal distribution that is as rare (Wallace 1959).
fn normal(student: f64, freedoms: f64) -> f64 {
    (freedoms * (student * student / freedoms).ln_1p()).sqrt() * (8.0 * freedoms + 1.0) / (8.0 * freedoms + 3.0)
}
