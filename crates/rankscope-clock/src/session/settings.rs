//! What a session is told when it is made, and what follows from it.

use std::collections::BTreeSet;
use std::sync::Arc;

use rankscope_time::Span;

use super::key::Key;
use super::rounds;
use super::wire::PROBE_LEN;
use crate::fit::{FitOptions, WindowFit};
use crate::nodes::{Solution, SolveOptions};
use crate::{Edge, EdgeFit, Exchange, NodeId, NodeWindow};

/// How a window of an edge becomes lines: [`crate::fit::fit_window`], or what a test puts in its place.
pub type FitWindow = fn(&[Exchange], Option<&EdgeFit>, &FitOptions) -> WindowFit;

/// How the windows of a round become clocks: [`crate::nodes::solve`], or what a test puts in its place.
pub type SolveRound = fn(&[NodeWindow], Option<&Solution>, &SolveOptions) -> Solution;

/// Which transports a session may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transports {
    /// Datagrams alone.
    #[default]
    Udp,
    /// Datagrams, and streams to peers that do not answer them within the time of a handshake. The driver must have both.
    UdpThenTcp,
    /// Streams alone.
    Tcp,
}

/// What a session is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionSettings {
    /// This node.
    pub node: NodeId,
    /// All nodes of the job, this one included. The same on every node.
    pub participants: Arc<[NodeId]>,
    /// The probe graph, or the part of it that touches this node.
    pub edges: Vec<Edge>,
    /// Tells this run's packets from another's.
    pub run: u64,
    /// Signs them.
    pub key: Key,
    /// Where jitter comes from.
    pub seed: u64,
    /// From one exchange of a train to the next.
    pub cadence: Span,
    /// From the first packet of an exchange to the second. More than half the cadence is taken for half.
    pub spacing: Span,
    /// How far from its time on the grid a probe may be sent, in parts of the cadence.
    pub jitter_percent: u64,
    /// Exchanges sent in a row before the edge rests.
    pub train: u32,
    /// What this node may send, over all edges, in both roles and for control, IPv4 and UDP headers included. It receives about
    /// as much. 0 is no limit, and trains without rest.
    pub budget_bits_per_s: u64,
    /// What it takes this node's processor to sleep and wake, once. With it trains are no more frequent than a hundredth of a core allows;
    /// 0 is not measured, and no limit.
    pub wake_cost: Span,
    /// Length of a window.
    pub window: Span,
    /// How long an edge may stay unanswered at the start before it is called failed, and tried over another transport, too. It
    /// is tried for ever.
    pub handshake: Span,
    /// What may carry packets.
    pub transports: Transports,
    /// Makes lines.
    pub fit: FitWindow,
    /// How.
    pub fit_options: FitOptions,
    /// Makes clocks.
    pub solve: SolveRound,
    /// How.
    pub solve_options: SolveOptions,
}

impl SessionSettings {
    /// The defaults of everything that has one.
    pub fn new(node: NodeId, edges: Vec<Edge>, run: u64, key: Key, fit: FitOptions, solve: SolveOptions) -> Self {
        let count = edges.iter().filter(|edge| edge.src == node || edge.dst == node).count() as u64;
        Self {
            node,
            participants: edges.iter().flat_map(|edge| [edge.src, edge.dst]).chain([node]).collect(),
            edges,
            run,
            key,
            seed: run,
            cadence: Span::from_nanos(800_000),
            spacing: Span::from_nanos(5_000),
            jitter_percent: 10,
            train: 16,
            budget_bits_per_s: Self::budget_for(count),
            wake_cost: Span::ZERO,
            window: Span::from_nanos(4_000_000_000),
            handshake: Span::from_nanos(30_000_000_000),
            transports: Transports::default(),
            fit: crate::fit::fit_window,
            fit_options: fit,
            solve: crate::nodes::solve,
            solve_options: solve,
        }
    }

    /// The budget of a node with `edges` edges where nobody sets one: about a hundred exchanges a second and 25 more for each
    /// further edge, below 1 Mbit/s. What limits it is not the network but the processor: a packet takes a virtual machine 6 us.
    pub fn budget_for(edges: u64) -> u64 {
        (110_000 + 37_000 * edges).min(1_000_000)
    }

    /// In order, each once, every number in the range the machine can work with.
    pub(super) fn tidied(mut self) -> Self {
        let me = self.node;
        let in_order = self.participants.is_sorted_by(|a, b| a < b);
        if !in_order || self.participants.binary_search(&me).is_err() {
            let all: BTreeSet<NodeId> = self.participants.iter().copied().chain([me]).collect();
            self.participants = all.into_iter().collect();
        }
        self.edges.retain(|edge| (edge.src == me || edge.dst == me) && edge.src != edge.dst);
        self.edges.sort_unstable();
        self.edges.dedup();
        self.cadence = self.cadence.clamp(CADENCE_MIN, CADENCE_MAX);
        self.spacing = self.spacing.clamp(Span::ZERO, Span::from_nanos(self.cadence.as_nanos() / 2));
        self.jitter_percent = self.jitter_percent.min(20);
        self.train = self.train.clamp(1, u32::from(super::wire::CarriedStamp::BACK_MAX));
        self.window = self.window.clamp(WINDOW_MIN, WINDOW_MAX);
        self.ask_for_no_more_than_is_sent()
    }

    /// Asks for half of the exchanges that an edge has in a window at this pace, where that is less than it would ask for: an edge that is
    /// slow by its budget is not one that loses packets.
    fn ask_for_no_more_than_is_sent(mut self) -> Self {
        let trains = self.window.as_nanos() / self.train_period().as_nanos().max(1);
        let sent = u32::try_from(trains).unwrap_or(u32::MAX).saturating_mul(self.train);
        let most = (sent / 2).max(EXCHANGES_LEAST);
        self.fit_options.exchanges_min = self.fit_options.exchanges_min.min(most);
        self.solve_options.pairs_min = self.solve_options.pairs_min.min(most);
        self
    }

    /// How often one of this node's edges may send or answer a train, by its budget and by its processor.
    pub(super) fn train_period(&self) -> Span {
        let by_bits = self.period_by_bits();
        // In quarters: nodes whose processors differ a little then go on with one grid.
        let step_ns = (by_bits.as_nanos() / 4).max(1);
        let steps = self.processor_ns().saturating_mul(SHARE_OF_CORE).div_ceil(step_ns as u64).max(4);
        let period_ns = i64::try_from(steps).unwrap_or(i64::MAX).saturating_mul(step_ns);
        by_bits.max(Span::from_nanos(period_ns.min(PERIOD_MAX.as_nanos())))
    }

    /// What a train of all edges takes of the processor: wakes for the first packets, for the second ones, and to begin and to end, each
    /// half as dear again as one that does nothing; and each packet in either role a third of that, by measurement.
    fn processor_ns(&self) -> u64 {
        let (train, edges) = (u64::from(self.train), self.edges.len() as u64);
        let wakes_sixth = 9 * (2 * train + 5) + 2 * (2 * train + 1) * edges;
        (self.wake_cost.as_nanos().max(0) as u64).saturating_mul(wakes_sixth) / 6
    }

    /// How often one of this node's edges may send or answer a train by the budget.
    ///
    /// Any node may have to be master one day, so every node keeps the master's part of its budget free, and a fiftieth for
    /// handshakes.
    fn period_by_bits(&self) -> Span {
        let shortest = self.cadence.as_nanos() * i64::from(self.train);
        if self.budget_bits_per_s == 0 {
            return Span::from_nanos(shortest);
        }
        let packets = i128::from(2 * self.train + 1) * self.edges.len() as i128;
        let bits = packets * i128::from(packet_bits(PROBE_LEN));
        let budget = i128::from(self.budget_bits_per_s) * 49 / 50;
        let control = i128::from(self.control_bits_per_s()).min(budget / 2);
        let period_ns = bits * 1_000_000_000 / (budget - control).max(1);
        Span::from_nanos(period_ns.clamp(i128::from(shortest), i128::from(PERIOD_MAX.as_nanos())) as i64)
    }

    /// What a master sends for rounds, with a third of what is acknowledged sent again. Probes have half of the budget even where that is
    /// more.
    pub fn control_bits_per_s(&self) -> u64 {
        let bits = u128::from(rounds::master_bits(self.participants.len(), self.window));
        let per_s = bits * 1_000_000_000 / self.window.as_nanos().max(1) as u128;
        u64::try_from(per_s).unwrap_or(u64::MAX)
    }
}

/// What a packet of `len` bytes costs on the wire, from the IPv4 header up.
pub(super) fn packet_bits(len: usize) -> u64 {
    (len as u64 + 28) * 8
}

/// The same in a stream: longer headers with an option for times, the length before it, and the receipt that it draws.
pub(super) fn segment_bits(len: usize) -> u64 {
    (len as u64 + 52 + 2 + 52) * 8
}

/// How many times longer the rest between trains is over TCP, where a probe costs nearly twice as much.
pub(super) const TCP_PERIODS: i64 = 2;

/// Exchanges of a window that make a line, however few there are.
const EXCHANGES_LEAST: u32 = 4;

/// A node takes one part in so many of a core.
const SHARE_OF_CORE: u64 = 100;

const CADENCE_MIN: Span = Span::from_nanos(10_000);
const CADENCE_MAX: Span = Span::from_nanos(10_000_000_000);
/// A budget so small that an edge would send less than this often is kept to it anyway: never is not a rate.
pub(super) const PERIOD_MAX: Span = Span::from_nanos(60_000_000_000);
const WINDOW_MIN: Span = Span::from_nanos(10_000_000);
const WINDOW_MAX: Span = Span::from_nanos(3_600_000_000_000);

#[cfg(test)]
mod tests;
