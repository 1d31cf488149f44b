//! What carries control packets to which node.
//!
//! Edges find out by their handshakes: an answer over a transport shows that it passes both ways. Nodes that share no edge have
//! no handshake. A node of which some edge needs streams takes streams to all of them, for it cannot tell in which direction datagrams
//! are lost, and who hears a stream answers on it. Rounds bear losses, so a wrong guess costs a delay and nothing else.

use std::collections::BTreeMap;

use super::settings::Transports;
use crate::{NodeId, Transport};

/// The transports that reach other nodes.
#[derive(Debug)]
pub(super) struct Reach {
    allowed: Transports,
    /// What carries the edges with a node.
    by_edge: BTreeMap<NodeId, Transport>,
    /// What carried the last control packet of a node.
    heard: BTreeMap<NodeId, Transport>,
}

impl Reach {
    pub(super) fn new(allowed: Transports) -> Self {
        Self { allowed, by_edge: BTreeMap::new(), heard: BTreeMap::new() }
    }

    pub(super) fn allowed(&self) -> Transports {
        self.allowed
    }

    /// Whether packets that came over `transport` count.
    pub(super) fn allows(&self, transport: Transport) -> bool {
        match self.allowed {
            Transports::Udp => transport == Transport::Udp,
            Transports::UdpThenTcp => true,
            Transports::Tcp => transport == Transport::Tcp,
        }
    }

    /// An edge with `node` is measured over `transport`.
    pub(super) fn note_edge(&mut self, node: NodeId, transport: Transport) {
        self.by_edge.insert(node, transport);
    }

    /// A control packet of `node` came over `transport`.
    pub(super) fn note_heard(&mut self, node: NodeId, transport: Transport) {
        if self.allowed == Transports::UdpThenTcp {
            self.heard.insert(node, transport);
        }
    }

    /// What is to carry a control packet to `node`.
    pub(super) fn to(&self, node: NodeId) -> Transport {
        match self.allowed {
            Transports::Udp => return Transport::Udp,
            Transports::Tcp => return Transport::Tcp,
            Transports::UdpThenTcp => {}
        }
        if let Some(transport) = self.by_edge.get(&node) {
            return *transport;
        }
        let heard = self.heard.get(&node).copied().unwrap_or_default();
        self.by_edge.values().copied().fold(heard, Transport::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_says_how_its_node_is_reached_and_any_stream_how_strangers_are() {
        let mut reach = Reach::new(Transports::UdpThenTcp);
        let [near, far, stranger] = [1, 2, 3].map(NodeId);
        assert_eq!(reach.to(stranger), Transport::Udp);
        reach.note_heard(stranger, Transport::Tcp);
        assert_eq!(reach.to(stranger), Transport::Tcp, "it cannot be reached otherwise, or it would not");
        reach.note_heard(stranger, Transport::Udp);
        assert_eq!(reach.to(stranger), Transport::Udp);
        reach.note_edge(near, Transport::Udp);
        reach.note_edge(far, Transport::Tcp);
        assert_eq!([near, far, stranger].map(|node| reach.to(node)), [Transport::Udp, Transport::Tcp, Transport::Tcp]);
        reach.note_edge(far, Transport::Udp);
        assert_eq!(reach.to(stranger), Transport::Udp);
    }

    #[test]
    fn what_is_not_allowed_is_not_used() {
        for (allowed, only) in [(Transports::Udp, Transport::Udp), (Transports::Tcp, Transport::Tcp)] {
            let mut reach = Reach::new(allowed);
            for transport in [Transport::Udp, Transport::Tcp] {
                reach.note_edge(NodeId(1), transport);
                reach.note_heard(NodeId(2), transport);
                assert_eq!(reach.allows(transport), transport == only);
                assert_eq!([1, 2, 3].map(|node| reach.to(NodeId(node))), [only; 3]);
            }
        }
    }
}
