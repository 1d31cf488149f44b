//! A whole job in simulated time: clocks, links, and the windows that agents would report.
//!
//! Every edge runs exchanges at the real cadence, through real queues, with the faults that were asked for; they go through the
//! real fit. Windows come one at a time and nothing of an old one is kept, so a job may run for hours. What is not simulated is
//! the control plane: all nodes close their windows together, a few milliseconds apart.

use rankscope_time::{Rate, Span};

use super::SimClock;
use super::path::Path;
use crate::fit::{FitOptions, fit_window};
use crate::graph::ProbeGraph;
use crate::{Edge, EdgeFit, EdgeRecord, Exchange, HostInstant, LinkCounts, NodeId, NodeWindow, Passage, Rng};

/// What the job is like.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobOptions {
    /// Seed of everything random.
    pub seed: u64,
    /// Clocks are up to this much ahead of or behind the truth.
    pub offset_max: Span,
    /// Clocks gain or lose up to this.
    pub skew_max: Rate,
    /// How much skews walk in a second.
    pub wander_ppb: f64,
    /// The part of the time that links are busy with other traffic, 0 … 1.
    pub load: f64,
    /// Probability that a stamp lies before the truth, by 400 ns on average.
    pub early_stamps: f64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet is held up behind later ones, by a millisecond on average.
    pub reorder: f64,
    /// Probability that a packet is duplicated.
    pub duplicates: f64,
    /// Length of a window.
    pub window: Span,
    /// From one exchange of an edge to the next (4 ms: a thousand in a window of 4 s).
    pub cadence: Span,
    /// Between the two packets of a coded probe (100 us).
    pub spacing: Span,
    /// After how many exchanges an edge rests, as agents do that keep to a budget, and for how long; none never rests.
    pub rest: Option<(u32, Span)>,
    /// How edges are fitted.
    pub fit: FitOptions,
}

impl JobOptions {
    /// A job on idle links that lose nothing, whose clocks are right: windows of `window`, an exchange each 4 ms, 100 us between
    /// the packets of a coded probe.
    pub const fn new(seed: u64, window: Span, fit: FitOptions) -> Self {
        Self {
            seed,
            offset_max: Span::ZERO,
            skew_max: Rate::from_ppb(0),
            wander_ppb: 0.0,
            load: 0.0,
            early_stamps: 0.0,
            loss: 0.0,
            reorder: 0.0,
            duplicates: 0.0,
            window,
            cadence: Span::from_nanos(4_000_000),
            spacing: Span::from_nanos(100_000),
            rest: None,
            fit,
        }
    }

    /// The same with clocks that are off by up to this, and gain or lose up to `skew_max`.
    #[must_use]
    pub fn with_clocks(mut self, offset_max: Span, skew_max: Rate) -> Self {
        (self.offset_max, self.skew_max) = (offset_max, skew_max);
        self
    }

    /// The same with skews that walk so far in a second.
    #[must_use]
    pub fn with_wander_ppb(mut self, wander_ppb: f64) -> Self {
        self.wander_ppb = wander_ppb;
        self
    }

    /// The same on links that are busy so much of the time.
    #[must_use]
    pub fn with_load(mut self, load: f64) -> Self {
        self.load = load;
        self
    }

    /// The same with stamps before the truth, at this probability.
    #[must_use]
    pub fn with_early_stamps(mut self, early_stamps: f64) -> Self {
        self.early_stamps = early_stamps;
        self
    }

    /// The same with packets lost, at this probability.
    #[must_use]
    pub fn with_loss(mut self, loss: f64) -> Self {
        self.loss = loss;
        self
    }

    /// The same with packets held up behind later ones, at this probability.
    #[must_use]
    pub fn with_reorder(mut self, reorder: f64) -> Self {
        self.reorder = reorder;
        self
    }

    /// The same with packets duplicated, at this probability.
    #[must_use]
    pub fn with_duplicates(mut self, duplicates: f64) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// The same with exchanges of an edge so far apart.
    #[must_use]
    pub fn with_cadence(mut self, cadence: Span) -> Self {
        self.cadence = cadence;
        self
    }

    /// The same with edges that rest.
    #[must_use]
    pub fn with_rest(mut self, rest: Option<(u32, Span)>) -> Self {
        self.rest = rest;
        self
    }
}

/// True time at which jobs begin, of the size of real stamps.
const START_NS: i64 = 1_800_000_000_000_000_000;

/// One link's delay floor: this and up to as much again.
const FLOOR_NS: i64 = 500;

/// The floors of the two directions of a link differ by up to this, which no method can see.
const ASYMMETRY_NS: u64 = 20;

/// What a listener takes to answer.
const TURNAROUND_NS: i64 = 20_000;

/// Agents close their windows this far apart.
const UNEVEN_NS: u64 = 5_000_000;

const EARLY_NS: f64 = 400.0;
const HELD_UP_NS: f64 = 1_000_000.0;

/// Lanes of the seed's generator.
const CLOCK_LANE: u64 = 10;
const WINDOW_LANE: u64 = 11;
const LINK_LANE: u64 = 1_000;

/// A job under way.
#[derive(Clone, Debug)]
pub struct Job {
    options: JobOptions,
    clocks: Vec<SimClock>,
    links: Vec<Link>,
    rng: Rng,
    window: u64,
}

impl Job {
    /// A job over `graph`, about to begin.
    pub fn new(graph: &ProbeGraph, options: JobOptions) -> Self {
        let mut rng = Rng::lane(options.seed, CLOCK_LANE);
        let mut within = |most: i64| rng.below(2 * most.unsigned_abs() + 1) as i64 - most.abs();
        let mut clock = |node: u32| {
            let offset = Span::from_nanos(within(options.offset_max.as_nanos()));
            let skew = Rate::from_ppb(within(options.skew_max.as_ppb()));
            let seed = Rng::lane(options.seed, CLOCK_LANE + (u64::from(node) << 32)).bits();
            SimClock::new(START_NS, offset, skew, options.wander_ppb, seed)
        };
        let clocks = (0..graph.nodes()).map(&mut clock).collect();
        let links = graph.edges().iter().zip(0..).map(|(edge, place)| Link::new(*edge, place, &options)).collect();
        let rng = Rng::lane(options.seed, WINDOW_LANE);
        Self { options, clocks, links, rng, window: 0 }
    }

    /// Replaces the clock of `node`, as by one that will step.
    pub fn bend(&mut self, node: NodeId, bent: impl FnOnce(SimClock) -> SimClock) {
        if let Some(clock) = self.clocks.get_mut(node.0 as usize) {
            *clock = bent(clock.clone());
        }
    }

    /// The true time at which window `window` begins.
    pub fn start_ns(&self, window: u64) -> i64 {
        START_NS.saturating_add(self.options.window.as_nanos().saturating_mul(window as i64))
    }

    /// The windows of all nodes for the next stretch of time.
    pub fn next_windows(&mut self) -> Vec<NodeWindow> {
        let (start_ns, end_ns) = (self.start_ns(self.window), self.start_ns(self.window + 1));
        let mut windows: Vec<NodeWindow> = Vec::with_capacity(self.clocks.len());
        for (node, clock) in (0..).map(NodeId).zip(&mut self.clocks) {
            clock.forget_before(start_ns - 2 * self.options.window.as_nanos());
            let mut at = |true_ns: i64| HostInstant::from_nanos_since_epoch(clock.local_ns(true_ns));
            let late_ns = self.rng.below(UNEVEN_NS) as i64;
            let (start, end) = (at(start_ns + late_ns), at(end_ns + late_ns));
            windows.push(NodeWindow { node, window_id: self.window, round: Some(self.window), start, end, edges: Vec::new() });
        }
        for link in &mut self.links {
            let record = link.window(&mut self.clocks, start_ns, end_ns, &self.options);
            windows[link.edge.src.0 as usize].edges.push(record);
        }
        self.window += 1;
        windows
    }

    /// What `node` reads when `other` reads `at`. Only instants of the last windows are remembered.
    pub fn reading(&mut self, node: NodeId, other: NodeId, at: HostInstant) -> HostInstant {
        let true_ns = self.clocks[other.0 as usize].true_ns(at.nanos_since_epoch());
        HostInstant::from_nanos_since_epoch(self.clocks[node.0 as usize].local_ns(true_ns))
    }
}

/// A probed edge.
#[derive(Clone, Debug)]
struct Link {
    edge: Edge,
    forward: Path,
    reverse: Path,
    rng: Rng,
    sequence: u32,
    before: Option<EdgeFit>,
    /// Kept for its capacity.
    exchanges: Vec<Exchange>,
}

impl Link {
    fn new(edge: Edge, place: u64, options: &JobOptions) -> Self {
        let lane = |purpose: u64| Rng::lane(options.seed, LINK_LANE + 3 * place + purpose);
        let mut rng = lane(0);
        let floor_ns = FLOOR_NS + rng.below(FLOOR_NS as u64) as i64;
        let slower_ns = rng.below(2 * ASYMMETRY_NS + 1) as i64 - ASYMMETRY_NS as i64;
        let path = |floor_ns, purpose| Path::new(floor_ns, options.load, START_NS, lane(purpose));
        let (forward, reverse) = (path(floor_ns, 1), path(floor_ns + slower_ns, 2));
        Self { edge, forward, reverse, rng, sequence: 0, before: None, exchanges: Vec::new() }
    }

    fn window(&mut self, clocks: &mut [SimClock], start_ns: i64, end_ns: i64, options: &JobOptions) -> EdgeRecord {
        self.exchanges.clear();
        let mut counts = LinkCounts::default();
        let rest_ns = options.rest.map_or(0, |(_, rest)| rest.as_nanos());
        let mut sent_ns = start_ns + self.rng.below((options.cadence.as_nanos() + rest_ns).unsigned_abs()) as i64;
        while sent_ns < end_ns {
            let exchange = self.exchange(clocks, sent_ns, options, &mut counts);
            self.exchanges.push(exchange);
            sent_ns += self.rng.around(options.cadence.as_nanos().max(1), 10).max(1);
            if options.rest.is_some_and(|(train, _)| self.exchanges.len().is_multiple_of(train.max(1) as usize)) {
                sent_ns += rest_ns;
            }
        }
        let fitted = fit_window(&self.exchanges, self.before.as_ref(), &options.fit);
        self.before = fitted.fits.iter().rev().flatten().next().copied();
        counts.filtered = fitted.filtered;
        EdgeRecord { events: fitted.events, counts, ..EdgeRecord::new(self.edge, fitted.fits) }
    }

    /// Two packets there, and two back if both arrived.
    fn exchange(&mut self, clocks: &mut [SimClock], sent_ns: i64, options: &JobOptions, counts: &mut LinkCounts) -> Exchange {
        let (src, dst) = (self.edge.src.0 as usize, self.edge.dst.0 as usize);
        let mut exchange = Exchange { sequence: self.sequence, ..Exchange::default() };
        self.sequence = self.sequence.wrapping_add(1);
        let mut arrived_ns = Some(sent_ns);
        for (turn, forward) in [(0, true), (1, true), (0, false), (1, false)] {
            let Some(last_ns) = arrived_ns else { break };
            let leaves_ns = match (turn, forward) {
                (0, true) => sent_ns,
                (1, true) => sent_ns + options.spacing.as_nanos(),
                (0, false) => last_ns + TURNAROUND_NS,
                _ => last_ns,
            };
            let (path, from, to) = if forward { (&mut self.forward, src, dst) } else { (&mut self.reverse, dst, src) };
            let mut delay_ns = path.delay_ns(leaves_ns);
            let mut happens = |probability: f64| probability > 0.0 && self.rng.unit() < probability;
            let (lost, held_up, doubled) = (happens(options.loss), happens(options.reorder), happens(options.duplicates));
            if held_up {
                delay_ns += (HELD_UP_NS * self.rng.exponential()) as i64;
            }
            let mut stamp = |clock: &mut SimClock, true_ns: i64| {
                let early = options.early_stamps > 0.0 && self.rng.unit() < options.early_stamps;
                let early_ns = if early { (EARLY_NS * self.rng.exponential()) as i64 } else { 0 };
                Some(HostInstant::from_nanos_since_epoch(clock.local_ns(true_ns) - early_ns))
            };
            let sent = stamp(&mut clocks[from], leaves_ns);
            let received = if lost { None } else { stamp(&mut clocks[to], leaves_ns + delay_ns) };
            let passages = if forward { &mut exchange.forward } else { &mut exchange.reverse };
            passages[turn] = Passage { sent, received };
            let lost_so_far = if forward { &mut counts.lost_forward } else { &mut counts.lost_reverse };
            *lost_so_far += u32::from(lost);
            counts.reordered += u32::from(held_up && !lost);
            counts.duplicated += u32::from(doubled && !lost);
            arrived_ns = match (turn, forward) {
                // The first packet back leaves when both have come; the second one a spacing after it, come what may.
                (1, true) => exchange.forward.iter().all(|one| one.received.is_some()).then_some(leaves_ns + delay_ns),
                (0, false) => Some(leaves_ns + options.spacing.as_nanos()),
                _ => arrived_ns,
            };
        }
        let all = exchange.forward.iter().chain(&exchange.reverse).all(|one| one.received.is_some());
        counts.complete += u32::from(all);
        exchange
    }
}
