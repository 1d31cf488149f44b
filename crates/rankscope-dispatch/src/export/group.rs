//! An exchange as the sends and receives of one NCCL group. Ranks call in spread-out order, each starting with its neighbour,
//! so that no receiver is everybody's first; pairs without bytes are skipped on both sides, and both sides know.

use rankscope_time::Rank;

use crate::RankExchange;

/// One call between group start and group end; counts are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupCall {
    /// Send `bytes` from `at` in the send buffer.
    Send {
        /// To whom.
        peer: Rank,
        /// Where in the send buffer.
        at: u64,
        /// How much.
        bytes: u64,
    },
    /// Receive `bytes` to `at` in the receive buffer.
    Receive {
        /// From whom.
        peer: Rank,
        /// Where in the receive buffer.
        at: u64,
        /// How much.
        bytes: u64,
    },
}

impl GroupCall {
    /// The other rank.
    #[must_use]
    pub fn peer(self) -> Rank {
        match self {
            Self::Send { peer, .. } | Self::Receive { peer, .. } => peer,
        }
    }
}

/// The calls of one rank, in order: in round `d` it sends to the rank `d` after it and receives from the rank `d` before it.
/// Round 0 is what it keeps, which callers may replace by a copy.
#[must_use]
pub fn group_calls(part: &RankExchange, world_size: u32) -> Vec<GroupCall> {
    let ahead = |from: u32, to: u32| if to >= from { to - from } else { world_size - from + to };
    let sends = part.sends.iter().map(|message| {
        let call = GroupCall::Send { peer: message.peer, at: message.at, bytes: message.bytes };
        ((ahead(part.rank.0, message.peer.0), 0), call)
    });
    let receives = part.receives.iter().map(|message| {
        let call = GroupCall::Receive { peer: message.peer, at: message.at, bytes: message.bytes };
        ((ahead(message.peer.0, part.rank.0), 1), call)
    });
    let mut calls: Vec<_> = sends.chain(receives).collect();
    calls.sort_unstable_by_key(|call| call.0);
    calls.into_iter().map(|(_, call)| call).collect()
}
