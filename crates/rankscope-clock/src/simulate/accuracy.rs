//! How far off estimates are, the truth being known.
//!
//! Every round is solved and compared at its common instant: nodes, edges, the spanning tree that the solution has to beat, and
//! whether bounds contain the truth. Maps are smoothed in blocks of rounds and compared too. Only counts are kept.

use rankscope_time::Span;

use super::Job;
use super::histogram::Histogram;
use crate::nodes::{NodeEstimate, Solution, SolveOptions, Stretch, along_tree, smooth, solve};
use crate::{EdgeRecord, HostInstant, Interval, NodeId, NodeWindow};

/// Rounds that are smoothed together: more change nothing in the middle, and memory stays flat.
const BLOCK: usize = 64;

/// Rounds of a block that only lead into the next one.
const RUN_IN: usize = 16;

/// Quantiles of absolute errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantiles {
    /// Half of them are smaller.
    pub p50: u64,
    /// All but one in a hundred.
    pub p99: u64,
    /// The greatest.
    pub max: u64,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Of all nodes but the reference, in all rounds.
    pub error_ns: Quantiles,
    /// Root mean square of the same.
    pub error_rms_ns: f64,
    /// The greatest error of a node's skew against the mean over the window.
    pub skew_error_ppb_max: f64,
    /// The part of the bounds of nodes and edges that contain the truth.
    pub bound_coverage: f64,
    /// Half of the bounds of nodes are narrower.
    pub bound_width_ns_p50: u64,
    /// What a spanning tree makes of the same edges.
    pub tree_error_ns: Quantiles,
    /// Of all lines, in the middle of their windows.
    pub edge_error_ns: Quantiles,
    /// Root mean square of the same.
    pub edge_error_rms_ns: f64,
    /// Of smoothed maps at the common instants.
    pub smoothed_error_ns: Quantiles,
    /// The part of smoothed maps that are within their stated error.
    pub map_coverage: f64,
    /// Estimates of nodes.
    pub estimates: u64,
    /// Those that were degraded.
    pub degraded: u64,
    /// Nodes that could not be placed, summed over rounds.
    pub unplaced: u64,
    /// Edges that were left out because they contradict others, summed over rounds.
    pub rejected: u64,
    /// Jumps of clocks that were reported.
    pub steps: u64,
}

/// Collects, round by round.
#[derive(Clone, Debug)]
pub struct Scores {
    options: SolveOptions,
    half_window: Span,
    errors: Histogram,
    tree_errors: Histogram,
    edge_errors: Histogram,
    smoothed_errors: Histogram,
    widths: Histogram,
    bounds: Share,
    maps: Share,
    skew_error_ppb_max: f64,
    estimates: u64,
    degraded: u64,
    unplaced: u64,
    rejected: u64,
    steps: u64,
    /// The block being collected; with each solution what the reference really read at each of its estimates.
    block: Vec<Solution>,
    truths: Vec<Vec<HostInstant>>,
    scored: usize,
}

/// How many of how many.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    of: u64,
    good: u64,
}

impl Share {
    fn add(&mut self, good: bool) {
        self.of += 1;
        self.good += u64::from(good);
    }

    fn share(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.good as f64 / self.of as f64 }
    }
}

impl Scores {
    /// Nothing yet. Windows are `window` long.
    pub fn new(options: SolveOptions, window: Span) -> Self {
        let half_window = Span::from_nanos(window.as_nanos() / 2);
        Self {
            options,
            half_window,
            errors: Histogram::default(),
            tree_errors: Histogram::default(),
            edge_errors: Histogram::default(),
            smoothed_errors: Histogram::default(),
            widths: Histogram::default(),
            bounds: Share::default(),
            maps: Share::default(),
            skew_error_ppb_max: 0.0,
            estimates: 0,
            degraded: 0,
            unplaced: 0,
            rejected: 0,
            steps: 0,
            block: Vec::new(),
            truths: Vec::new(),
            scored: 0,
        }
    }

    /// Solves the windows that `job` has just closed and compares with its truth.
    pub fn round(&mut self, job: &mut Job, windows: &[NodeWindow]) -> &Solution {
        let solution = solve(windows, self.block.last(), &self.options);
        self.unplaced += solution.unreachable.len() as u64;
        self.rejected += solution.rejected.len() as u64;
        self.steps += solution.steps.len() as u64;
        windows.iter().flat_map(|window| &window.edges).for_each(|record| self.edge(job, record));
        let reference = self.options.reference;
        let others = solution.nodes.iter().filter(|estimate| estimate.node != reference);
        others.clone().for_each(|estimate| self.node(job, estimate));
        if let Some(estimate) = others.clone().next() {
            let at = estimate.at - estimate.offset;
            for (node, offset) in along_tree(windows, &self.options).into_iter().skip(1) {
                let truth = job.reading(node, reference, at);
                self.tree_errors.add((offset - (truth - at)).as_nanos().unsigned_abs());
            }
        }
        let truth = |estimate: &NodeEstimate| job.reading(reference, estimate.node, estimate.at);
        self.truths.push(solution.nodes.iter().map(truth).collect());
        self.block.push(solution);
        if self.block.len() == BLOCK {
            self.smooth(BLOCK - RUN_IN / 2);
            self.block.drain(..BLOCK - RUN_IN);
            self.truths.drain(..BLOCK - RUN_IN);
            self.scored = RUN_IN / 2;
        }
        &self.block[self.block.len() - 1]
    }

    /// What came out, all rounds being in.
    pub fn finish(mut self) -> Accuracy {
        self.smooth(self.block.len());
        let quantiles = |of: &Histogram| Quantiles { p50: of.quantile(500), p99: of.quantile(990), max: of.max() };
        Accuracy {
            error_ns: quantiles(&self.errors),
            error_rms_ns: self.errors.rms(),
            skew_error_ppb_max: self.skew_error_ppb_max,
            bound_coverage: self.bounds.share(),
            bound_width_ns_p50: self.widths.quantile(500),
            tree_error_ns: quantiles(&self.tree_errors),
            edge_error_ns: quantiles(&self.edge_errors),
            edge_error_rms_ns: self.edge_errors.rms(),
            smoothed_error_ns: quantiles(&self.smoothed_errors),
            map_coverage: self.maps.share(),
            estimates: self.estimates,
            degraded: self.degraded,
            unplaced: self.unplaced,
            rejected: self.rejected,
            steps: self.steps,
        }
    }

    fn node(&mut self, job: &mut Job, estimate: &NodeEstimate) {
        let reference = estimate.at - estimate.offset;
        let mut read = |at: HostInstant| job.reading(estimate.node, self.options.reference, at);
        let truth = read(reference) - reference;
        self.errors.add((estimate.offset - truth).as_nanos().unsigned_abs());
        self.widths.add((estimate.bound.hi - estimate.bound.lo).as_nanos().max(0).unsigned_abs());
        self.bounds.add(contains(estimate.bound, truth));
        let (from, until) = (reference - self.half_window, reference + self.half_window);
        let gained = (read(until) - read(from)) - (until - from);
        let skew_ppb = gained.as_nanos() as f64 / (until - from).as_nanos().max(1) as f64 * 1e9;
        self.skew_error_ppb_max = self.skew_error_ppb_max.max((estimate.skew_ppb - skew_ppb).abs());
        self.estimates += 1;
        self.degraded += u64::from(estimate.degraded);
    }

    fn edge(&mut self, job: &mut Job, record: &EdgeRecord) {
        for fit in record.fits.iter().flatten() {
            let truth = job.reading(record.edge.dst, record.edge.src, fit.mid) - fit.mid;
            self.edge_errors.add((fit.offset - truth).as_nanos().unsigned_abs());
            self.bounds.add(contains(fit.bound, truth));
        }
    }

    /// Smooths the block and compares its rounds from the first that was not yet, up to `until`.
    fn smooth(&mut self, until: usize) {
        let mut nodes: Vec<NodeId> = self.block.iter().flat_map(|round| round.nodes.iter().map(|one| one.node)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        for node in nodes.into_iter().filter(|node| *node != self.options.reference) {
            let Ok(stretches) = smooth(node, &self.block, self.options.skew_change_ppb_per_s) else { continue };
            for (round, truths) in self.block[..until].iter().zip(&self.truths).skip(self.scored) {
                let Ok(place) = round.nodes.binary_search_by_key(&node, |estimate| estimate.node) else { continue };
                let at = round.nodes[place].at;
                let Some(stretch) = stretches.iter().find(|stretch| holds(stretch, at)) else { continue };
                let (mapped, truth) = (stretch.map.map(at), truths[place]);
                let error_ns = mapped.nanos_since_epoch().abs_diff(truth.nanos_since_epoch());
                self.smoothed_errors.add(error_ns);
                self.maps.add(error_ns <= stretch.map.uncertainty_ns(at));
            }
        }
    }
}

fn holds(stretch: &Stretch, at: HostInstant) -> bool {
    stretch.from.is_none_or(|from| from <= at) && stretch.until.is_none_or(|until| at < until)
}

fn contains(bound: Interval, truth: Span) -> bool {
    bound.lo <= truth && truth <= bound.hi
}
