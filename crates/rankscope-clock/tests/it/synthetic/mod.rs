//! Windows of a job whose clocks are straight lines, so that the truth of every edge is arithmetic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use rankscope_clock::graph::Topology;
use rankscope_clock::{ClockEvent, Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts, NodeId, NodeWindow, Rng};
use rankscope_time::Span;

/// Where the reference's clock stands when a job begins.
pub(crate) const EPOCH_NS: i64 = 1_790_000_000_000_000_000;

pub(crate) const SECOND_NS: i64 = 1_000_000_000;

const WINDOW_NS: i64 = 4 * SECOND_NS;

/// A clock against the reference's: how far ahead at the epoch, and what it gains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Straight {
    pub(crate) offset_ns: i64,
    pub(crate) skew_ppb: i64,
}

impl Straight {
    /// What it reads `elapsed_ns` after the epoch.
    pub(crate) fn reading_ns(self, elapsed_ns: i64) -> i64 {
        let gained = (i128::from(self.skew_ppb) * i128::from(elapsed_ns)).div_euclid(1_000_000_000) as i64;
        EPOCH_NS + elapsed_ns + self.offset_ns + gained
    }
}

/// A job, and what its edges get wrong.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) clocks: Vec<Straight>,
    pub(crate) edges: Vec<Edge>,
    /// Standard deviation of the error of each edge's offset.
    pub(crate) noise_ns: f64,
    pub(crate) seed: u64,
}

impl Job {
    /// Clocks up to `offset_ns` apart and gaining up to `skew_ppb`; the reference is node 0.
    pub(crate) fn new(topology: Topology, nodes: u32, offset_ns: i64, skew_ppb: i64, noise_ns: f64, seed: u64) -> Self {
        let mut rng = Rng::lane(seed, 100);
        let mut within = |reach: i64| rng.below(2 * reach as u64 + 1) as i64 - reach;
        let mut clocks: Vec<_> =
            (0..nodes).map(|_| Straight { offset_ns: within(offset_ns), skew_ppb: within(skew_ppb) }).collect();
        clocks[0] = Straight { offset_ns: 0, skew_ppb: 0 };
        let edges = topology.graph(nodes, seed).unwrap().edges().to_vec();
        Self { clocks, edges, noise_ns, seed }
    }

    pub(crate) fn complete(nodes: u32, offset_ns: i64, skew_ppb: i64, noise_ns: f64, seed: u64) -> Self {
        let node = |id| NodeId(id);
        let all = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| Edge { src: node(a), dst: node(b) }));
        Self::new(Topology::Explicit(all.collect()), nodes, offset_ns, skew_ppb, noise_ns, seed)
    }

    pub(crate) fn clock(&self, node: NodeId) -> Straight {
        self.clocks[node.0 as usize]
    }

    /// `node - reference` when the reference reads `reference`.
    pub(crate) fn truth(&self, node: NodeId, reference: HostInstant) -> i64 {
        let elapsed_ns = reference.nanos_since_epoch() - EPOCH_NS;
        self.clock(node).reading_ns(elapsed_ns) - reference.nanos_since_epoch()
    }

    /// The windows of round `round`, not quite at the same time on every edge.
    pub(crate) fn round(&self, round: u64) -> Vec<NodeWindow> {
        let mut rng = Rng::lane(self.seed, 200 + round);
        let middle_ns = round as i64 * WINDOW_NS + WINDOW_NS / 2;
        let mut windows: Vec<NodeWindow> =
            (0..self.clocks.len() as u32).map(|node| self.window(NodeId(node), middle_ns)).collect();
        for edge in &self.edges {
            let late_ns = rng.below(20_000_000) as i64 - 10_000_000;
            let record = self.record(*edge, middle_ns + late_ns, &mut rng);
            windows[edge.src.0 as usize].edges.push(record);
        }
        windows
    }

    fn window(&self, node: NodeId, middle_ns: i64) -> NodeWindow {
        let at = |elapsed_ns| HostInstant::from_nanos_since_epoch(self.clock(node).reading_ns(elapsed_ns));
        NodeWindow {
            node,
            window_id: 0,
            round: None,
            start: at(middle_ns - WINDOW_NS / 2),
            end: at(middle_ns + WINDOW_NS / 2),
            edges: Vec::new(),
        }
    }

    fn record(&self, edge: Edge, middle_ns: i64, rng: &mut Rng) -> EdgeRecord {
        let (src, dst) = (self.clock(edge.src), self.clock(edge.dst));
        let at = |elapsed_ns| HostInstant::from_nanos_since_epoch(src.reading_ns(elapsed_ns));
        let truth_ns = dst.reading_ns(middle_ns) - src.reading_ns(middle_ns);
        let offset_ns = truth_ns + (rng.normal() * self.noise_ns).round() as i64;
        let skew_ppb = ((1e9 + dst.skew_ppb as f64) / (1e9 + src.skew_ppb as f64) - 1.0) * 1e9;
        let slack_ns = |rng: &mut Rng| (2.0 * self.noise_ns) as i64 + rng.below(1_000) as i64 + 2;
        let bound = Interval { lo: Span::from_nanos(truth_ns - slack_ns(rng)), hi: Span::from_nanos(truth_ns + slack_ns(rng)) };
        let fit = EdgeFit {
            start: at(middle_ns - WINDOW_NS / 2),
            end: at(middle_ns + WINDOW_NS / 2),
            mid: at(middle_ns),
            offset: Span::from_nanos(offset_ns),
            skew_ppb,
            bound,
            skew_bound_ppb: (skew_ppb - 200.0, skew_ppb + 300.0),
            sigma_ns: self.noise_ns,
            rtt_min: bound.hi - bound.lo,
            points_forward: 2_000,
            points_reverse: 2_000,
            degraded: false,
        };
        let counts = LinkCounts { complete: 1_000, ..LinkCounts::default() };
        EdgeRecord { counts, ..EdgeRecord::new(edge, vec![Ok(fit)]) }
    }
}

/// The only line of an edge.
pub(crate) fn fit_of(windows: &mut [NodeWindow], edge: Edge) -> &mut EdgeFit {
    record_of(windows, edge).fits[0].as_mut().unwrap()
}

pub(crate) fn record_of(windows: &mut [NodeWindow], edge: Edge) -> &mut EdgeRecord {
    windows.iter_mut().flat_map(|window| &mut window.edges).find(|record| record.edge == edge).unwrap()
}

/// Moves the line of an edge, its interval with it: a lie that looks just like the truth.
pub(crate) fn shift(windows: &mut [NodeWindow], edge: Edge, by: Span) {
    let fit = fit_of(windows, edge);
    fit.offset = fit.offset + by;
    fit.bound = Interval { lo: fit.bound.lo + by, hi: fit.bound.hi + by };
}

/// Lets the clock of `node` jump a quarter of a window before the end, as its edges report it.
pub(crate) fn jump(windows: &mut [NodeWindow], node: NodeId, size: Span) {
    for record in windows.iter_mut().flat_map(|window| &mut window.edges) {
        let sign = if record.edge.dst == node {
            size
        } else if record.edge.src == node {
            -size
        } else {
            continue;
        };
        let Ok(before) = record.fits[0] else { continue };
        let at = before.mid + Span::from_nanos(WINDOW_NS / 4);
        let moved = Interval { lo: before.bound.lo + sign, hi: before.bound.hi + sign };
        let after = EdgeFit { start: at, offset: before.offset + sign, bound: moved, ..before };
        record.fits = vec![Ok(EdgeFit { end: at, ..before }), Ok(after)];
        record.events.push(ClockEvent::Step { at, size: sign });
    }
}
