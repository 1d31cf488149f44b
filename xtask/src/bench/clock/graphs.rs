//! Windows of jobs whose clocks are straight lines and whose edges are off by a known noise: what nodes get from edges.

use std::time::Instant;

use anyhow::{Context, Result};
use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::{NodeEstimate, SolveOptions, along_tree, solve};
use rankscope_clock::{Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts, NodeId, NodeWindow, Rng};
use rankscope_time::Span;

use super::outcome::quantile;
use super::row::{Row, rounded};

const EPOCH_NS: i64 = 1_790_000_000_000_000_000;
const HALF_WINDOW_NS: i64 = 2_000_000_000;
const NOISE_NS: f64 = 100.0;
const GOAL: &str = "within 20 % of theory, at least 30 % below the tree";
const MANY: u32 = 10_000;

/// G3: complete graphs, and a large one.
pub(super) fn rows() -> Result<Vec<Row>> {
    eprintln!("measuring graphs");
    let mut rows = Vec::new();
    // All errors of a job share the reference's own, so it takes many jobs to see a root mean square.
    for (nodes, jobs) in [(8, 200), (16, 120), (64, 60)] {
        rows.push(complete(nodes, jobs)?);
    }
    rows.push(many()?);
    Ok(rows)
}

fn complete(nodes: u32, jobs: u64) -> Result<Row> {
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| Edge { src: NodeId(a), dst: NodeId(b) }));
    let topology = Topology::Explicit(pairs.collect());
    let (mut errors_ns, mut tree_errors_ns) = (Vec::new(), Vec::new());
    for seed in 0..jobs {
        let job = Job::new(&topology, nodes, seed)?;
        let (windows, options) = (job.windows(), SolveOptions::for_reference(NodeId(0)));
        errors_ns.extend(solve(&windows, None, &options).nodes.iter().skip(1).map(|estimate| job.error_ns(estimate)));
        // The tree, too, is read where the reference is in the middle of its window.
        let middle_ns = EPOCH_NS + HALF_WINDOW_NS;
        let tree = along_tree(&windows, &options);
        let error_ns = |(node, offset): &(NodeId, Span)| offset.as_nanos() - job.ahead_ns(*node, middle_ns);
        tree_errors_ns.extend(tree.iter().filter(|(node, _)| node.0 != 0).map(error_ns));
    }
    let (rms_ns, tree_ns, theory_ns) = (rms(&errors_ns), rms(&tree_errors_ns), NOISE_NS * (2.0 / f64::from(nodes)).sqrt());
    let absolute: Vec<i64> = errors_ns.iter().map(|error_ns| error_ns.abs()).collect();
    Ok(Row::new("G3", format!("{nodes} nodes, complete graph, {NOISE_NS} ns on every edge"), GOAL)
        .figure("rms_ns", rounded(rms_ns))
        .figure("p99_ns", quantile(&absolute, 0.99))
        .figure("theory_ns", rounded(theory_ns))
        .figure("tree_rms_ns", rounded(tree_ns))
        .holds((rms_ns / theory_ns - 1.0).abs() <= 0.2 && rms_ns <= 0.7 * tree_ns))
}

fn many() -> Result<Row> {
    let job = Job::new(&Topology::Random, MANY, 1)?;
    let windows = job.windows();
    let begun = Instant::now();
    let solution = solve(&windows, None, &SolveOptions::for_reference(NodeId(0)));
    let seconds = begun.elapsed().as_secs_f64();
    let errors_ns: Vec<i64> = solution.nodes.iter().map(|estimate| job.error_ns(estimate).abs()).collect();
    Ok(Row::new("G3", format!("{MANY} nodes, random graph"), "solved in less than 1 s")
        .figure("seconds", rounded(seconds))
        .figure("edges", job.edges.len())
        .figure("placed", solution.nodes.len())
        .figure("p99_ns", quantile(&errors_ns, 0.99))
        .holds(seconds < 1.0 && solution.nodes.len() == MANY as usize))
}

fn rms(errors_ns: &[i64]) -> f64 {
    (errors_ns.iter().map(|error_ns| (*error_ns as f64).powi(2)).sum::<f64>() / errors_ns.len().max(1) as f64).sqrt()
}

/// Offset in nanoseconds and skew in parts per billion, both against node 0.
#[derive(Clone, Copy)]
struct Straight(i64, i64);

impl Straight {
    fn reading_ns(self, elapsed_ns: i64) -> i64 {
        EPOCH_NS + elapsed_ns + self.0 + (i128::from(self.1) * i128::from(elapsed_ns)).div_euclid(1_000_000_000) as i64
    }
}

struct Job {
    clocks: Vec<Straight>,
    edges: Vec<Edge>,
    seed: u64,
}

impl Job {
    /// Clocks up to a second and 10 ppm apart.
    fn new(topology: &Topology, nodes: u32, seed: u64) -> Result<Self> {
        let mut rng = Rng::lane(seed, 1);
        let mut within = |reach: i64| rng.below(2 * reach as u64 + 1) as i64 - reach;
        let mut clocks: Vec<Straight> = (0..nodes).map(|_| Straight(within(1_000_000_000), within(10_000))).collect();
        clocks[0] = Straight(0, 0);
        let edges = topology.graph(nodes, seed).context("failed to make the probe graph")?.edges().to_vec();
        Ok(Self { clocks, edges, seed })
    }

    /// `node - reference` when the reference reads `reference_ns`.
    fn ahead_ns(&self, node: NodeId, reference_ns: i64) -> i64 {
        self.clocks[node.0 as usize].reading_ns(reference_ns - EPOCH_NS) - reference_ns
    }

    fn error_ns(&self, estimate: &NodeEstimate) -> i64 {
        let reference = estimate.at - estimate.offset;
        estimate.offset.as_nanos() - self.ahead_ns(estimate.node, reference.nanos_since_epoch())
    }

    /// One round, not quite at the same time on every edge.
    fn windows(&self) -> Vec<NodeWindow> {
        let mut rng = Rng::lane(self.seed, 2);
        let mut windows: Vec<NodeWindow> =
            self.clocks.iter().zip(0..).map(|(clock, node)| empty(NodeId(node), *clock)).collect();
        for edge in &self.edges {
            let late_ns = rng.below(20_000_000) as i64 - 10_000_000;
            let record = self.record(*edge, HALF_WINDOW_NS + late_ns, &mut rng);
            windows[edge.src.0 as usize].edges.push(record);
        }
        windows
    }

    fn record(&self, edge: Edge, middle_ns: i64, rng: &mut Rng) -> EdgeRecord {
        let [src, dst] = [edge.src, edge.dst].map(|node| self.clocks[node.0 as usize]);
        let at = |elapsed_ns| HostInstant::from_nanos_since_epoch(src.reading_ns(elapsed_ns));
        let truth_ns = dst.reading_ns(middle_ns) - src.reading_ns(middle_ns);
        let skew_ppb = ((1e9 + dst.1 as f64) / (1e9 + src.1 as f64) - 1.0) * 1e9;
        let mut slack = || Span::from_nanos((2.0 * NOISE_NS) as i64 + rng.below(1_000) as i64);
        let truth = Span::from_nanos(truth_ns);
        let bound = Interval { lo: truth - slack(), hi: truth + slack() };
        let fit = EdgeFit {
            start: at(middle_ns - HALF_WINDOW_NS),
            end: at(middle_ns + HALF_WINDOW_NS),
            mid: at(middle_ns),
            offset: Span::from_nanos(truth_ns + (rng.normal() * NOISE_NS).round() as i64),
            skew_ppb,
            bound,
            skew_bound_ppb: (skew_ppb - 200.0, skew_ppb + 300.0),
            sigma_ns: NOISE_NS,
            rtt_min: bound.hi - bound.lo,
            points_forward: 2_000,
            points_reverse: 2_000,
            degraded: false,
        };
        let counts = LinkCounts { complete: 1_000, ..LinkCounts::default() };
        EdgeRecord { counts, ..EdgeRecord::new(edge, vec![Ok(fit)]) }
    }
}

fn empty(node: NodeId, clock: Straight) -> NodeWindow {
    let at = |elapsed_ns| HostInstant::from_nanos_since_epoch(clock.reading_ns(elapsed_ns));
    NodeWindow { node, window_id: 0, round: None, start: at(0), end: at(2 * HALF_WINDOW_NS), edges: Vec::new() }
}
