//! Clocks that break the assumption: they step and slew in the middle of windows, by any size, and no interval that is not
//! flagged may exclude the truth.
//!
//! `RANKSCOPE_SEEDS` is how many jobs of each kind are run; a few by default.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test says how often what was right, and where it was not")]

use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::{Solution, SolveOptions, solve};
use rankscope_clock::simulate::{Job, JobOptions, SimClock};
use rankscope_clock::{HostInstant, Interval, NodeId, NodeWindow, Rng};
use rankscope_time::{Rate, Span};

const SECOND_NS: i64 = 1_000_000_000;
const WINDOW: Span = Span::from_nanos(4 * SECOND_NS);
const WINDOWS: u64 = 9;
const NODES: u32 = 5;
/// Jobs of each kind that are run where nobody asks for more.
const SEEDS: u64 = 25;

/// What the clocks of a job do.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Nothing.
    Calm,
    /// Node 1 steps in every window, within 0.45 s of its middle.
    OneNearMiddle,
    /// The reference does.
    ReferenceNearMiddle,
    /// All nodes step, about once in four windows each.
    AllStep,
    /// All nodes slew, about once in four windows each.
    AllSlew,
}

/// A clock, and when it steps.
pub(crate) struct Bent {
    pub(crate) clock: SimClock,
    pub(crate) steps_ns: Vec<i64>,
}

impl Bent {
    /// All true times at which the clock reads `local_ns`; where it skipped that reading, the time at which it did.
    pub(crate) fn true_ns(&mut self, local_ns: i64) -> Vec<i64> {
        let edges = [i64::MIN / 2].into_iter().chain(self.steps_ns.iter().copied()).chain([i64::MAX / 2]);
        let mut edges: Vec<i64> = edges.collect();
        edges.sort_unstable();
        let around = (local_ns - 10 * SECOND_NS, local_ns + 10 * SECOND_NS);
        let mut found = Vec::new();
        for pair in edges.windows(2) {
            let (mut lo, mut hi) = (pair[0].max(around.0), (pair[1] - 1).min(around.1));
            if lo > hi || self.clock.local_ns(lo) > local_ns || self.clock.local_ns(hi) < local_ns {
                continue;
            }
            while lo < hi {
                let middle = lo + (hi - lo) / 2;
                if self.clock.local_ns(middle) >= local_ns { hi = middle } else { lo = middle + 1 }
            }
            found.push(lo);
        }
        if found.is_empty() {
            let clock = &mut self.clock;
            found.extend(self.steps_ns.iter().copied().min_by_key(|at| clock.local_ns(*at).abs_diff(local_ns)));
        }
        found
    }
}

/// 300 ns to 1 s, all magnitudes alike, either way.
fn size(rng: &mut Rng) -> Span {
    let ns = 300.0 * (1e9f64 / 300.0).powf(rng.unit());
    Span::from_nanos(if rng.below(2) == 0 { ns as i64 } else { -(ns as i64) })
}

fn job(kind: Kind, seed: u64) -> (Job, Vec<Bent>) {
    let mut rng = Rng::lane(seed, 77);
    let options = JobOptions::new(seed, WINDOW, FitOptions::usual(Estimator::Band))
        .with_clocks(Span::from_nanos(SECOND_NS), Rate::from_ppb(50_000))
        .with_load([0.0, 0.0, 0.4][(seed % 3) as usize])
        .with_cadence(Span::from_nanos(800_000))
        .with_rest(Some((16, Span::from_nanos(350_000_000))));
    let all = (0..NODES).flat_map(|a| (a + 1..NODES).map(move |b| if (a + b) % 2 == 0 { (a, b) } else { (b, a) }));
    let all = all.map(|(src, dst)| rankscope_clock::Edge { src: NodeId(src), dst: NodeId(dst) }).collect();
    let mut job = Job::new(&Topology::Explicit(all).graph(NODES, seed).unwrap(), options);
    let (begin_ns, end_ns) = (job.start_ns(1), job.start_ns(WINDOWS));
    let middles: Vec<i64> = (1..WINDOWS).map(|window| job.start_ns(window) + WINDOW.as_nanos() / 2).collect();
    let mut bent = Vec::new();
    for node in 0..NODES {
        let mut clock = SimClock::perfect();
        job.bend(NodeId(node), |as_made| {
            clock = as_made.clone();
            as_made
        });
        let mut steps_ns = Vec::new();
        let anywhen = |rng: &mut Rng| begin_ns + rng.below((end_ns - begin_ns) as u64) as i64;
        match kind {
            Kind::OneNearMiddle | Kind::ReferenceNearMiddle
                if (node == 1) == matches!(kind, Kind::OneNearMiddle) && node < 2 =>
            {
                for middle_ns in &middles {
                    let at_ns = middle_ns + rng.below(900_000_000) as i64 - 450_000_000;
                    clock = clock.with_step(at_ns, size(&mut rng));
                    steps_ns.push(at_ns);
                }
            }
            Kind::AllStep => {
                for _ in 0..WINDOWS / 4 {
                    let at_ns = anywhen(&mut rng);
                    clock = clock.with_step(at_ns, size(&mut rng));
                    steps_ns.push(at_ns);
                }
            }
            Kind::AllSlew => {
                for _ in 0..WINDOWS / 4 {
                    let from_ns = anywhen(&mut rng);
                    let lasts_ns = [50, 300, 1_000, 2_000, 5_000][rng.below(5) as usize] * 1_000_000;
                    let ppb = 150.0 * (500_000f64 / 150.0).powf(rng.unit());
                    let rate = Rate::from_ppb(if rng.below(2) == 0 { ppb as i64 } else { -(ppb as i64) });
                    clock = clock.with_slew(from_ns, from_ns + lasts_ns, rate);
                }
            }
            _ => {}
        }
        job.bend(NodeId(node), |_| clock.clone());
        bent.push(Bent { clock, steps_ns });
    }
    (job, bent)
}

#[derive(Debug, Default)]
struct Tally {
    rows: u32,
    flagged: u32,
    edges: u32,
    edges_flagged: u32,
    wrong: Vec<String>,
    wrong_edges: Vec<String>,
    widths_ns: Vec<i64>,
}

impl Tally {
    fn nodes(&mut self, solution: &Solution, bent: &mut [Bent], place: &str) {
        for estimate in solution.nodes.iter().filter(|estimate| estimate.node != NodeId(0)) {
            self.rows += 1;
            self.flagged += u32::from(estimate.degraded);
            self.widths_ns.push((estimate.bound.hi - estimate.bound.lo).as_nanos());
            let truths = differences(bent, 0, estimate.node.0 as usize, estimate.at);
            if !estimate.degraded && !truths.iter().all(|truth| contains(estimate.bound, *truth)) {
                let [lo, hi] = [estimate.bound.lo, estimate.bound.hi].map(|end| (end - truths[0]).as_nanos());
                let at_ns = bent[estimate.node.0 as usize].true_ns(estimate.at.nanos_since_epoch())[0];
                let near = nearest_step(bent, at_ns);
                self.wrong.push(format!(
                    "{place} node {}: error {} bound {lo}..{hi} {} truths, {near}",
                    estimate.node.0,
                    (estimate.offset - truths[0]).as_nanos(),
                    truths.len()
                ));
            }
        }
    }

    /// No row may be wrong; of lines, at most one in `lines_per_wrong`.
    fn proves_nothing_false(&self, lines_per_wrong: u32) {
        assert!(self.wrong.is_empty(), "{} of {} rows", self.wrong.len(), self.rows);
        let wrong = self.wrong_edges.len() as u32;
        assert!(wrong.saturating_mul(lines_per_wrong) <= self.edges, "{wrong} of {} lines", self.edges);
    }

    fn edges(&mut self, windows: &[NodeWindow], bent: &mut [Bent], place: &str) {
        for record in windows.iter().flat_map(|window| &window.edges) {
            for fit in record.fits.iter().flatten() {
                self.edges += 1;
                self.edges_flagged += u32::from(fit.degraded);
                let truths = differences(bent, record.edge.dst.0 as usize, record.edge.src.0 as usize, fit.mid);
                if !fit.degraded && !truths.iter().any(|truth| contains(fit.bound, Span::from_nanos(-truth.as_nanos()))) {
                    let [lo, hi] = [fit.bound.lo, fit.bound.hi].map(|end| (end + truths[0]).as_nanos());
                    let at_ns = bent[record.edge.src.0 as usize].true_ns(fit.mid.nanos_since_epoch())[0];
                    let near = nearest_step(bent, at_ns);
                    let parts = record.fits.len();
                    let (rtt, points) = (fit.rtt_min.as_nanos(), fit.points_forward);
                    let length_ms = (fit.end - fit.start).as_nanos() / 1_000_000;
                    let edge = record.edge;
                    self.wrong_edges.push(format!(
                        "{place} {}->{}: bound {lo}..{hi} rtt {rtt} of {parts} parts, {points} points {length_ms} ms, {near}",
                        edge.src.0, edge.dst.0
                    ));
                }
            }
        }
    }
}

fn nearest_step(bent: &mut [Bent], at_ns: i64) -> String {
    let steps = bent.iter().enumerate().flat_map(|(node, bent)| bent.steps_ns.iter().map(move |at| (node, *at)));
    let Some((node, step_ns)) = steps.min_by_key(|(_, step_ns)| step_ns.abs_diff(at_ns)) else { return String::new() };
    let clock = &mut bent[node].clock;
    let size_ns = clock.local_ns(step_ns) - clock.local_ns(step_ns - 1);
    format!("node {node} steps by {size_ns} at {} ms", (step_ns - at_ns) / 1_000_000)
}

/// What `node` shows beyond `other` when it shows `at`: several values where it shows that more than once.
pub(crate) fn differences(bent: &mut [Bent], other: usize, node: usize, at: HostInstant) -> Vec<Span> {
    let all = bent[node].true_ns(at.nanos_since_epoch());
    all.into_iter().map(|ns| Span::from_nanos(at.nanos_since_epoch() - bent[other].clock.local_ns(ns))).collect()
}

/// Up to the nanoseconds that stamps and readings are rounded to.
pub(crate) fn contains(bound: Interval, truth: Span) -> bool {
    let grain = Span::from_nanos(3);
    bound.lo - grain <= truth && truth <= bound.hi + grain
}

fn run(kind: Kind) -> Tally {
    let seeds = std::env::var("RANKSCOPE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    let mut tally = Tally::default();
    for seed in 1..=seeds {
        let (mut job, mut bent) = job(kind, seed);
        let mut before = None;
        for window in 0..WINDOWS {
            let windows = job.next_windows();
            let solution = solve(&windows, before.as_ref(), &SolveOptions::for_reference(NodeId(0)));
            let place = format!("{kind:?} seed {seed} window {window}");
            tally.nodes(&solution, &mut bent, &place);
            tally.edges(&windows, &mut bent, &place);
            before = Some(solution);
        }
    }
    tally.widths_ns.sort_unstable();
    eprintln!(
        "{kind:?}: {} rows, {} flagged, {} wrong; {} lines, {} flagged, {} wrong; width {} ns",
        tally.rows,
        tally.flagged,
        tally.wrong.len(),
        tally.edges,
        tally.edges_flagged,
        tally.wrong_edges.len(),
        tally.widths_ns[tally.widths_ns.len() / 2]
    );
    for line in tally.wrong.iter().take(12).chain(tally.wrong_edges.iter().take(12)) {
        eprintln!("  {line}");
    }
    tally
}

#[test]
fn calm_clocks_are_not_flagged() {
    let found = run(Kind::Calm);
    assert_eq!(found.flagged, 0);
    assert!(200 * found.edges_flagged <= found.edges);
    assert!(found.wrong.is_empty() && found.wrong_edges.is_empty());
}

#[test]
fn steps_near_the_middle_of_windows_leave_no_false_proof() {
    let found = run(Kind::OneNearMiddle);
    found.proves_nothing_false(u32::MAX);
}

#[test]
fn steps_of_the_reference_near_the_middle_of_windows_leave_no_false_proof() {
    let found = run(Kind::ReferenceNearMiddle);
    found.proves_nothing_false(u32::MAX);
}

#[test]
fn steps_of_all_clocks_leave_no_false_proof() {
    let found = run(Kind::AllStep);
    found.proves_nothing_false(u32::MAX);
}

#[test]
fn slews_of_all_clocks_leave_no_false_proof() {
    let found = run(Kind::AllSlew);
    // A slew over the middle of a window touches both halves, and may hide from both.
    found.proves_nothing_false(5_000);
}
