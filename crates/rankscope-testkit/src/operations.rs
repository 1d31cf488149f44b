//! Bytes as a list of operations on a few sessions: what a fuzzer does to a state machine.
//!
//! Two bytes are an operation and its argument. The sessions can reach each other, but only through a pile of packets from
//! which the list takes what it likes: in any order, twice, damaged, at the wrong node, or never. Whatever the list does, no
//! session may panic, and none may give out packets without end. [`deliver`] does the same with one packet, signed as it should
//! be so that it gets past the signature.

use std::collections::BTreeSet;

use rankscope_clock::fit::{Estimator, FitOptions, WindowFit};
use rankscope_clock::nodes::{Solution, SolveOptions};
use rankscope_clock::session::wire::sign;
use rankscope_clock::session::{
    Destination, Input, Key, Now, Output, Packet, Session, SessionSettings, Stamp, Token, Transports,
};
use rankscope_clock::{
    Edge, EdgeFit, Exchange, HostInstant, MonotonicInstant, NoFit, NodeId, NodeWindow, StampSource, Transport,
};
use rankscope_time::{Rate, Span};

const NODES: u32 = 3;

/// Packets that can be taken from the pile; the oldest go.
const PILE: usize = 64;

/// What one input may make a session give out at most: an answer or two on each edge, and a message or two to each node.
const OUTPUTS_MAX: usize = 64;

struct Bench {
    now_ns: i64,
    sessions: Vec<Session>,
    pile: Vec<(usize, Packet)>,
    tokens: Vec<(usize, Token)>,
}

/// Does what `bytes` say.
///
/// # Panics
///
/// If a session panics, or never stops giving out packets.
pub fn operate(bytes: &[u8]) {
    let mut bench = Bench::new();
    for operation in bytes.chunks_exact(2) {
        bench.apply(operation[0], operation[1]);
    }
}

/// Hands `bytes` to a session as a packet: as they are, and with the right signature in place of their last 16 bytes.
///
/// # Panics
///
/// As [`operate`].
pub fn deliver(bytes: &[u8]) {
    let mut bench = Bench::new();
    bench.now_ns = 1_000_000;
    let signed = sign(&key(), bytes[..bytes.len().saturating_sub(16)].to_vec());
    for bytes in [bytes, &signed] {
        (0..NODES as usize).for_each(|node| bench.arrive(node, bytes, true));
    }
    bench.pass(10_000_000_000);
}

/// Packets of every kind, to start from.
pub fn packets() -> Vec<Vec<u8>> {
    let mut bench = Bench::new();
    let mut kinds = BTreeSet::new();
    let mut packets = Vec::new();
    for operation in operation_lists().concat().chunks_exact(2) {
        bench.apply(operation[0], operation[1]);
        // The kind of a packet, and of a message within it.
        let new = bench
            .pile
            .iter()
            .map(|(_, bytes)| bytes)
            .filter(|bytes| kinds.insert((bytes[5], (bytes[5] == 13).then(|| bytes[44]))));
        packets.extend(new.map(|bytes| bytes.to_vec()));
    }
    packets
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { now_ns: 0, sessions: Vec::new(), pile: Vec::new(), tokens: Vec::new() };
        bench.sessions = (0..NODES).map(|node| Session::new(settings(node), bench.now(node as usize))).collect();
        (0..NODES as usize).for_each(|node| bench.drain(node));
        bench
    }

    fn apply(&mut self, operation: u8, argument: u8) {
        let node = usize::from(argument) % self.sessions.len();
        match operation % 10 {
            0 => self.pass(i64::from(argument) * 1_000),
            1 => self.pass(i64::from(argument) * 1_000_000),
            2 => self.pass(i64::from(argument) * 1_000_000_000),
            3 => self.settle(argument.into()),
            4 => self.deliver(argument.into(), None, None),
            5 => self.deliver(usize::from(argument) / 3, Some(node), None),
            6 => self.deliver(usize::from(argument) / 3, None, Some(argument)),
            7 => self.stamp(argument),
            8 if argument.is_multiple_of(16) => self.handle(usize::from(argument / 16) % 3, Input::Stop),
            8 => self.handle(node, Input::Tick),
            _ => {
                self.sessions[node] = Session::new(settings(node as u32), self.now(node));
                self.drain(node);
            }
        }
    }

    /// The newest `count` packets arrive where they should, in order, and the stamps of all that were sent come in.
    fn settle(&mut self, count: usize) {
        let newest = self.pile.split_off(self.pile.len().saturating_sub(count));
        for (node, bytes) in &newest {
            self.arrive(*node, bytes, true);
        }
        for (node, token) in std::mem::take(&mut self.tokens) {
            let stamp = Stamp { at: self.now(node).host, source: StampSource::Kernel };
            self.handle(node, Input::Sent { token, stamp });
        }
    }

    /// Time goes by, and everybody is woken.
    fn pass(&mut self, span_ns: i64) {
        self.now_ns = self.now_ns.saturating_add(span_ns);
        (0..self.sessions.len()).for_each(|node| self.handle(node, Input::Tick));
    }

    /// A packet from the pile, counted from its newest, arrives where it should or at `node`; perhaps with a bit flipped.
    fn deliver(&mut self, back: usize, node: Option<usize>, flip: Option<u8>) {
        let Some(index) = self.pile.len().checked_sub(1 + back) else { return };
        let (to, packet) = &self.pile[index];
        let (node, mut bytes) = (node.unwrap_or(*to), packet.to_vec());
        if let Some(flip) = flip {
            let at = usize::from(flip) % bytes.len();
            bytes[at] ^= 1 << (flip % 8);
        }
        self.arrive(node, &bytes, !back.is_multiple_of(7));
    }

    fn arrive(&mut self, node: usize, bytes: &[u8], stamped: bool) {
        let stamp = Stamp { at: self.now(node).host, source: StampSource::Kernel };
        let over = if bytes.len().is_multiple_of(3) { Transport::Tcp } else { Transport::Udp };
        self.handle(node, Input::Packet { socket: None, over, received: stamped.then_some(stamp), bytes });
    }

    /// A stamp comes in for some packet, now and then at a node that did not send it.
    fn stamp(&mut self, argument: u8) {
        if self.tokens.is_empty() {
            return;
        }
        let (sender, token) = self.tokens.swap_remove(usize::from(argument) % self.tokens.len());
        let node = if argument.is_multiple_of(7) { usize::from(argument) % self.sessions.len() } else { sender };
        let at = HostInstant::from_nanos_since_epoch(self.now_ns.saturating_sub(i64::from(argument) << 40));
        self.handle(node, Input::Sent { token, stamp: Stamp { at, source: StampSource::User } });
    }

    fn handle(&mut self, node: usize, input: Input) {
        let now = self.now(node);
        self.sessions[node].handle(now, input);
        self.drain(node);
    }

    fn drain(&mut self, node: usize) {
        for _ in 0..OUTPUTS_MAX {
            match self.sessions[node].poll() {
                Output::Transmit { to, token, bytes, .. } => {
                    self.tokens.extend(token.map(|token| (node, token)));
                    let to = match to {
                        Destination::Listener(edge) => edge.dst,
                        Destination::Prober(edge) => edge.src,
                        Destination::Control(node) => node,
                    };
                    self.pile.push((to.0 as usize, bytes));
                }
                Output::Wake(_) | Output::Stopped => {
                    let surplus = self.pile.len().saturating_sub(PILE);
                    self.pile.drain(..surplus);
                    let surplus = self.tokens.len().saturating_sub(PILE);
                    self.tokens.drain(..surplus);
                    return;
                }
                Output::Window(_) | Output::Solved { .. } | Output::Clock { .. } | Output::Rerouted { .. } => {}
            }
        }
        panic!("node {node} gave out {OUTPUTS_MAX} things for one input");
    }

    fn now(&self, node: usize) -> Now {
        let host_ns = self.now_ns.saturating_add(node as i64 * 1_000_000_000);
        Now {
            monotonic: MonotonicInstant::from_nanos_since_epoch(self.now_ns),
            host: HostInstant::from_nanos_since_epoch(host_ns),
        }
    }
}

fn key() -> Key {
    Key::derive(b"fuzz")
}

fn settings(node: u32) -> SessionSettings {
    let edges = [(0, 1), (1, 2), (2, 0), (1, 0)].map(|(src, dst)| Edge { src: NodeId(src), dst: NodeId(dst) });
    let skew_max = Rate::from_ppb(500_000);
    let fit = FitOptions::usual(Estimator::Band).with_skew_max(skew_max).with_exchanges_min(2);
    let solve = SolveOptions::for_reference(NodeId(0)).with_pairs_min(2);
    let mut settings = SessionSettings::new(NodeId(node), edges.to_vec(), 1, key(), fit, solve);
    settings.transports = Transports::UdpThenTcp;
    // The list is about the session; what it finds must not depend on the estimators' state of health.
    settings.fit = no_fit;
    settings.solve = no_solution;
    settings.window = Span::from_nanos(1_000_000_000);
    settings
}

fn no_fit(exchanges: &[Exchange], _: Option<&EdgeFit>, _: &FitOptions) -> WindowFit {
    let none = NoFit::TooFewExchanges(exchanges.len() as u32);
    WindowFit { fits: vec![Err(none)], events: Vec::new(), filtered: 0 }
}

fn no_solution(_: &[NodeWindow], _: Option<&Solution>, _: &SolveOptions) -> Solution {
    Solution::default()
}

/// Lists to start from: a handshake, trains of exchanges, rounds, a restart, a stop.
pub fn operation_lists() -> Vec<Vec<u8>> {
    let handshake = [0, 1, 3, 64, 3, 64];
    let exchange = [0, 100, 3, 64, 0, 50, 3, 64, 0, 60, 3, 64];
    let round = [1, 255, 3, 64, 3, 64, 1, 255, 3, 64, 3, 64, 3, 64];
    let mut lists = vec![handshake.to_vec(), [&handshake[..], &exchange.repeat(64)].concat()];
    lists.push([&lists[1][..], &[&round[..], &exchange.repeat(32)].concat().repeat(6)].concat());
    lists.push([&lists[2][..], &[9, 1], &handshake, &round.repeat(2)].concat());
    lists.push([&lists[2][..], &[8, 0, 1, 100, 3, 64, 4, 1, 8, 16, 1, 100, 3, 64, 8, 32, 1, 255]].concat());
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_to_start_from_reach_the_depths() {
        let mut bench = Bench::new();
        for operation in operation_lists().swap_remove(2).chunks_exact(2) {
            bench.apply(operation[0], operation[1]);
        }
        let counters = bench.sessions[0].counters();
        assert!(counters.windows >= 3 && counters.rounds_solved >= 1, "{counters:?}");
        assert!(counters.packets_received > counters.rejected_in_all(), "{counters:?}");
    }

    #[test]
    fn packets_to_start_from_are_of_nearly_every_kind() {
        let packets = packets();
        let kinds: BTreeSet<u8> = packets.iter().map(|bytes| bytes[5]).collect();
        let messages: BTreeSet<u8> = packets.iter().filter(|bytes| bytes[5] == 13).map(|bytes| bytes[44]).collect();
        assert!(kinds.len() >= 10 && messages.len() >= 6, "kinds {kinds:?}, messages {messages:?}");
        packets.iter().for_each(|bytes| deliver(bytes));
    }

    #[test]
    fn a_thousand_random_lists_do_no_harm() {
        let mut rng = crate::Rng::new(1);
        for _ in 0..1000 {
            let bytes: Vec<u8> = (0..rng.below(400)).map(|_| rng.below(256) as u8).collect();
            operate(&bytes);
        }
    }
}
