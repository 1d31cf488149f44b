//! Eight hours of windows, fitted and solved one after the other: does the process grow?

use std::fs;

use anyhow::{Context, Result};
use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::nodes::{Solution, SolveOptions, solve};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{Edge, EdgeFit, EdgeRecord, HostInstant, LinkCounts, NodeId, NodeWindow, Rng};
use rankscope_time::{Rate, Span};

use super::outcome::quantile;
use super::row::{Row, rounded};
use super::speed::{EPOCH_NS, exchanges};

const WINDOWS: i64 = 7_200;
/// After so many the allocator has seen everything it will see.
const WARM_UP: i64 = 200;
/// What an agent gets of an edge in 4 s at the default budget.
const EXCHANGES: u32 = 400;
const EDGES: [(u32, u32); 3] = [(0, 1), (1, 2), (0, 2)];
const GREW_MAX_KB: i64 = 256;

/// G10.
pub(super) fn row() -> Result<Row> {
    eprintln!("simulating eight hours");
    // Without wander: a wandering clock remembers its walk.
    let clock = |(offset_ms, skew_ppb): (i64, i64)| {
        SimClock::new(EPOCH_NS, Span::from_nanos(offset_ms * 1_000_000), Rate::from_ppb(skew_ppb), 0.0, 1)
    };
    let mut run = Run {
        clocks: [(0, 0), (3_000, 12_000), (-2_000, -40_000)].map(clock),
        rng: Rng::new(1),
        edges: [None; EDGES.len()],
        solution: None,
    };
    let mut errors_ns = Vec::with_capacity(2 * WINDOWS as usize);
    let mut early_kb = 0;
    for window in 0..WINDOWS {
        if window == WARM_UP {
            early_kb = resident_kb()?;
        }
        run.round(window, &mut errors_ns);
    }
    let late_kb = resident_kb()?;
    Ok(Row::new(
        "G10",
        "8 h simulated, three nodes: every window fitted and solved",
        "resident memory grows by at most 256 KiB",
    )
    .figure("windows", WINDOWS)
    .figure("resident_early_kb", early_kb)
    .figure("resident_late_kb", late_kb)
    .figure("grew_kb", late_kb - early_kb)
    .figure("estimates", errors_ns.len())
    .figure("p99_ns", quantile(&errors_ns, 0.99))
    .figure("hours", rounded(WINDOWS as f64 * 4.0 / 3600.0))
    .holds(late_kb - early_kb <= GREW_MAX_KB && errors_ns.len() == 2 * WINDOWS as usize))
}

struct Run {
    clocks: [SimClock; 3],
    rng: Rng,
    edges: [Option<EdgeFit>; EDGES.len()],
    solution: Option<Solution>,
}

impl Run {
    fn round(&mut self, window: i64, errors_ns: &mut Vec<i64>) {
        let mut records: Vec<EdgeRecord> = Vec::with_capacity(EDGES.len());
        for (place, (src, dst)) in EDGES.into_iter().enumerate() {
            let (before, after) = self.clocks.split_at_mut(dst as usize);
            let made = exchanges(EXCHANGES, window, [&mut before[src as usize], &mut after[0]], &mut self.rng);
            let found = fit_window(&made, self.edges[place].as_ref(), &FitOptions::usual(Estimator::Band));
            self.edges[place] = found.fits.iter().flatten().last().copied();
            records.push(EdgeRecord {
                events: found.events,
                counts: LinkCounts { complete: EXCHANGES, filtered: found.filtered, ..LinkCounts::default() },
                ..EdgeRecord::new(Edge { src: NodeId(src), dst: NodeId(dst) }, found.fits)
            });
        }
        let windows = [0, 1, 2].map(|node| self.window(node, window, &records));
        let solution = solve(&windows, self.solution.as_ref(), &SolveOptions::for_reference(NodeId(0)));
        for estimate in solution.nodes.iter().filter(|estimate| estimate.node.0 != 0) {
            let true_ns = (estimate.at - estimate.offset).nanos_since_epoch();
            let truth_ns = self.clocks[estimate.node.0 as usize].local_ns(true_ns) - true_ns;
            errors_ns.push((estimate.offset.as_nanos() - truth_ns).abs());
        }
        self.solution = Some(solution);
    }

    fn window(&mut self, node: u32, window: i64, records: &[EdgeRecord]) -> NodeWindow {
        let mut at =
            |elapsed_ns: i64| HostInstant::from_nanos_since_epoch(self.clocks[node as usize].local_ns(EPOCH_NS + elapsed_ns));
        NodeWindow {
            node: NodeId(node),
            window_id: window as u64,
            round: Some(window as u64),
            start: at(window * 4_000_000_000),
            end: at((window + 1) * 4_000_000_000),
            edges: records.iter().filter(|record| record.edge.src.0 == node).cloned().collect(),
        }
    }
}

fn resident_kb() -> Result<i64> {
    let text = fs::read_to_string("/proc/self/status").context("failed to read /proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("/proc/self/status has no VmRSS")?;
    line.trim().trim_end_matches("kB").trim().parse().context("VmRSS is no number")
}
