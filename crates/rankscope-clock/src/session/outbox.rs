//! What goes out: sealed, numbered, counted, and kept in order until it is polled.

use std::collections::VecDeque;

use super::reach::Reach;
use super::settings::{Transports, packet_bits, segment_bits};
use super::tokens::{Sender, Tokens};
use super::wire::{self, BODY_MAX, Header, Kind, Value};
use super::{Counters, Destination, Key, Output, Packet};
use crate::nodes::NodeEstimate;
use crate::{Edge, NodeId, Transport};

/// Outputs that wait, and what it takes to make one.
#[derive(Debug)]
pub(super) struct Outbox {
    pub(super) queue: VecDeque<Output>,
    pub(super) counters: Counters,
    pub(super) tokens: Tokens,
    /// What reaches whom.
    pub(super) reach: Reach,
    /// Where this node's clock stands, as it was told last, until that is taken.
    pub(super) told: Option<NodeEstimate>,
    key: Key,
    run: u64,
    node: NodeId,
    incarnation: u32,
    /// Control bodies are written here before they are sealed.
    body: Vec<u8>,
}

impl Outbox {
    pub(super) fn new(key: Key, run: u64, node: NodeId, incarnation: u32, allowed: Transports) -> Self {
        let (queue, counters, tokens, reach) = (VecDeque::new(), Counters::default(), Tokens::new(), Reach::new(allowed));
        let body = Vec::with_capacity(BODY_MAX);
        Self { queue, counters, tokens, reach, told: None, key, run, node, incarnation, body }
    }

    pub(super) fn incarnation(&self) -> u32 {
        self.incarnation
    }

    pub(super) fn open<'a>(&self, bytes: &'a [u8]) -> Result<wire::Opened<'a>, wire::Reject> {
        wire::open(bytes, &self.key, self.run)
    }

    pub(super) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    /// This node learns where its clock stands.
    pub(super) fn tell(&mut self, round: u64, estimate: NodeEstimate) {
        self.told = Some(estimate);
        self.push(Output::Clock { round, estimate });
    }

    /// A packet of an edge; the stamp of its departure comes back to `stamped`.
    pub(super) fn probe(
        &mut self,
        kind: Kind,
        (edge, over): (Edge, Transport),
        sequence: u32,
        values: [Value; 2],
        stamped: Option<Sender>,
    ) {
        let header = Header { kind, run: self.run, edge, sequence, incarnation: self.incarnation };
        let bytes = wire::seal_probe(&self.key, &header, values);
        let to = if kind.is_for_listener() { Destination::Listener(edge) } else { Destination::Prober(edge) };
        let token = stamped.map(|sender| self.tokens.give(sender));
        self.transmit(to, over, token, Packet::Probe(bytes));
    }

    /// A control packet, whose body `write` appends to what it is given.
    pub(super) fn control(&mut self, to: NodeId, sequence: u32, write: impl FnOnce(&mut Vec<u8>)) {
        self.body.clear();
        write(&mut self.body);
        let edge = Edge { src: self.node, dst: to };
        let header = Header { kind: Kind::Control, run: self.run, edge, sequence, incarnation: self.incarnation };
        let bytes = wire::seal_control(&self.key, &header, &self.body);
        self.transmit(Destination::Control(to), self.reach.to(to), None, Packet::Control(bytes));
    }

    fn transmit(&mut self, to: Destination, over: Transport, token: Option<super::Token>, bytes: Packet) {
        self.counters.packets_sent += 1;
        self.counters.bits_sent += match over {
            Transport::Udp => packet_bits(bytes.len()),
            Transport::Tcp => segment_bits(bytes.len()),
        };
        self.queue.push_back(Output::Transmit { to, over, token, bytes });
    }
}
