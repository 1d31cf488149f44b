//! The other nodes: which process of each is heard, when it was heard last, and how messages to it are numbered.

use std::collections::BTreeMap;

use rankscope_time::Span;

use super::message::{Knowledge, LIVE_MAX, Message};
use crate::session::incarnation;
use crate::session::outbox::Outbox;
use crate::session::sequence::{Arrival, Seen};
use crate::session::wire::{Header, Reject};
use crate::{MonotonicInstant, NodeId};

/// All participants, by their place among them.
#[derive(Debug)]
pub(super) struct Peers {
    nodes: Vec<NodeId>,
    /// Those that were heard or spoken to: of ten thousand, a follower knows its master.
    peers: BTreeMap<usize, Peer>,
    me: usize,
}

#[derive(Debug, Default)]
struct Peer {
    incarnation: Option<u32>,
    seen: Seen,
    heard: Option<MonotonicInstant>,
    sent: u32,
}

impl Peers {
    /// `nodes` are in order and hold `me`.
    pub(super) fn new(nodes: &[NodeId], me: NodeId) -> Self {
        Self { nodes: nodes.to_vec(), peers: BTreeMap::new(), me: nodes.binary_search(&me).unwrap_or(0) }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn me(&self) -> usize {
        self.me
    }

    pub(super) fn node(&self, index: usize) -> NodeId {
        self.nodes[index]
    }

    pub(super) fn index(&self, node: NodeId) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    pub(super) fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.me;
        (0..self.nodes.len()).filter(move |index| *index != me)
    }

    /// Lets a control packet in: of the newest process of its node, and once.
    pub(super) fn admit(&mut self, index: usize, header: &Header, now: MonotonicInstant) -> Result<(), Reject> {
        let peer = self.peers.entry(index).or_default();
        if peer.incarnation != Some(header.incarnation) {
            let relic = |known| !incarnation::succeeds(header.incarnation, known, peer.heard, now);
            if peer.incarnation.is_some_and(relic) {
                return Err(Reject::Replay);
            }
            peer.incarnation = Some(header.incarnation);
            peer.seen = Seen::default();
        }
        if matches!(peer.seen.note(header.sequence.into()), Arrival::Duplicate | Arrival::TooOld) {
            return Err(Reject::Replay);
        }
        peer.heard = Some(now);
        Ok(())
    }

    /// Takes it on trust that a node lives, as the master before did.
    pub(super) fn presume_live(&mut self, index: usize, now: MonotonicInstant) {
        self.peers.entry(index).or_default().heard = Some(now);
    }

    pub(super) fn forget(&mut self, index: usize) {
        if let Some(peer) = self.peers.get_mut(&index) {
            peer.heard = None;
        }
    }

    /// Whether a node was heard within `patience`.
    pub(super) fn is_live(&self, index: usize, now: MonotonicInstant, patience: Span) -> bool {
        let heard = || self.peers.get(&index)?.heard;
        index == self.me || heard().is_some_and(|heard| now - heard <= patience)
    }

    pub(super) fn live(&self, now: MonotonicInstant, patience: Span) -> LiveSet {
        let mut bits = vec![0; self.nodes.len().div_ceil(8).min(LIVE_MAX)];
        for index in (0..self.nodes.len().min(8 * LIVE_MAX)).filter(|index| self.is_live(*index, now, patience)) {
            bits[index / 8] |= 1 << (index % 8);
        }
        LiveSet(bits)
    }

    pub(super) fn send(&mut self, to: usize, knowledge: Knowledge, message: &Message, out: &mut Outbox) {
        let peer = self.peers.entry(to).or_default();
        let sequence = peer.sent;
        peer.sent = sequence.wrapping_add(1);
        out.control(self.nodes[to], sequence, |body| message.write(knowledge, body));
    }
}

/// Who takes part, one bit for each participant.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveSet(pub(super) Vec<u8>);

impl LiveSet {
    pub(super) fn has(&self, index: usize) -> bool {
        self.0.get(index / 8).is_some_and(|byte| byte & 1 << (index % 8) != 0)
    }
}
