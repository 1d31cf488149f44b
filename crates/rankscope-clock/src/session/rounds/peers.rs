//! The other nodes: which process of each is heard, when it was heard last, and how messages to it are numbered.

use std::collections::BTreeMap;
use std::sync::Arc;

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
    nodes: Arc<[NodeId]>,
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
    pub(super) fn new(nodes: &Arc<[NodeId]>, me: NodeId) -> Self {
        Self { nodes: Arc::clone(nodes), peers: BTreeMap::new(), me: nodes.binary_search(&me).unwrap_or(0) }
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

    /// Takes so much silence of everybody back.
    pub(super) fn excuse(&mut self, away: Span) {
        for heard in self.peers.values_mut().filter_map(|peer| peer.heard.as_mut()) {
            *heard = *heard + away;
        }
    }

    pub(super) fn forget(&mut self, index: usize) {
        if let Some(peer) = self.peers.get_mut(&index) {
            peer.heard = None;
        }
    }

    /// The other nodes that were heard within `patience`.
    pub(super) fn live_others(&self, now: MonotonicInstant, patience: Span) -> impl Iterator<Item = usize> {
        let lives = move |peer: &Peer| peer.heard.is_some_and(|heard| now - heard <= patience);
        self.peers.iter().filter(move |(index, peer)| **index != self.me && lives(peer)).map(|(index, _)| *index)
    }

    /// The same and this one, a bit each.
    pub(super) fn live(&self, now: MonotonicInstant, patience: Span) -> Vec<u8> {
        let mut bits = vec![0; Message::live_len(self.nodes.len())];
        for index in self.live_others(now, patience).chain([self.me]).filter(|index| *index < 8 * LIVE_MAX) {
            bits[index / 8] |= 1 << (index % 8);
        }
        bits
    }

    pub(super) fn send(&mut self, to: usize, knowledge: Knowledge, message: &Message, out: &mut Outbox) {
        let peer = self.peers.entry(to).or_default();
        let sequence = peer.sent;
        peer.sent = sequence.wrapping_add(1);
        out.control(self.nodes[to], sequence, |body| message.write(knowledge, body));
    }
}

/// Who takes part, as a master said it.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveSet {
    /// One for each participant.
    bits: Vec<u8>,
    /// How many come before the one that keeps it. It is asked for at every packet, and there may be thousands.
    before: usize,
}

impl LiveSet {
    /// What `bits` say, for the participant `me`.
    pub(super) fn new(bits: &[u8], me: usize) -> Self {
        let whole: u32 = bits.iter().take(me / 8).map(|byte| byte.count_ones()).sum();
        let last = bits.get(me / 8).map_or(0, |byte| (byte & ((1 << (me % 8)) - 1)).count_ones());
        Self { bits: bits.to_vec(), before: (whole + last) as usize }
    }

    pub(super) fn has(&self, index: usize) -> bool {
        self.bits.get(index / 8).is_some_and(|byte| byte & 1 << (index % 8) != 0)
    }

    /// How many of those that live come before this one.
    pub(super) fn before(&self) -> usize {
        self.before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn those_before_a_node_are_counted_one_by_one(bits in prop::collection::vec(any::<u8>(), 0..12), me in 0usize..120) {
            let live = LiveSet::new(&bits, me);
            prop_assert_eq!(live.before(), (0..me).filter(|index| live.has(*index)).count());
        }
    }
}
