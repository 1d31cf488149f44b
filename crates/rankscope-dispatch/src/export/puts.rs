//! An exchange as one-sided puts with signals, in the manner of NVSHMEM: every message is written to its place at the peer, and
//! the peer's signal for the sender grows by the bytes that have arrived. A receiver waits until a signal has grown by at least
//! what its plan says; since both sides have the plan, pairs without bytes need no signal at all.

use rankscope_time::Rank;

use crate::RankExchange;

/// What one rank writes and awaits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutList {
    /// Writes to others, starting with the next rank, so that not all ranks write to the same one first.
    pub puts: Vec<Put>,
    /// What the rank keeps: a copy from its send to its receive buffer.
    pub own: Option<Put>,
    /// What must have arrived before anything is unpacked.
    pub waits: Vec<Wait>,
}

/// A write into the receive buffer of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// Whose receive buffer.
    pub peer: Rank,
    /// Where the bytes start in the own send buffer.
    pub local_offset: u64,
    /// Where they go in the peer's receive buffer.
    pub remote_offset: u64,
    /// How many.
    pub bytes: u64,
    /// What is added to the peer's signal for this rank once they have arrived.
    pub signal_value: u64,
}

/// A signal that must have grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The rank whose puts are counted.
    pub peer: Rank,
    /// By how much.
    pub signal_value: u64,
}

impl PutList {
    /// What `part` writes and awaits.
    #[must_use]
    pub fn new(part: &RankExchange) -> Self {
        let put = |message: &crate::Message| Put {
            peer: message.peer,
            local_offset: message.at,
            remote_offset: message.peer_at,
            bytes: message.bytes,
            signal_value: message.bytes,
        };
        let (before, after) = part.sends.split_at(part.sends.partition_point(|message| message.peer <= part.rank));
        let others = after.iter().chain(before).filter(|message| message.peer != part.rank);
        let received = part.receives.iter().filter(|message| message.peer != part.rank);
        Self {
            puts: others.map(put).collect(),
            own: part.sends.iter().find(|message| message.peer == part.rank).map(put),
            waits: received.map(|message| Wait { peer: message.peer, signal_value: message.bytes }).collect(),
        }
    }
}
