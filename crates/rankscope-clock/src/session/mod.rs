//! One node's part in synchronisation, as a state machine: handshakes, probes, windows and rounds.
//!
//! The contract is *drain before you feed*: after each [`Session::handle`], call [`Session::poll`] until it returns
//! [`Output::Wake`], and only then hand in the next input.

use crate::nodes::{NodeEstimate, Solution};
use crate::{Edge, HostInstant, MonotonicInstant, NodeId, NodeWindow, StampSource};

/// The two clocks of this host, read together.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Paces and times out.
    pub monotonic: MonotonicInstant,
    /// The clock that stamps are on.
    pub host: HostInstant,
}

/// A transmit stamp comes back later, under the token its packet was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// When a packet passed, and what said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// On the host clock.
    pub at: HostInstant,
    /// What it is made of.
    pub source: StampSource,
}

/// What happened outside.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Bytes arrived.
    Datagram {
        /// The edge whose socket received them, where every edge has its own.
        socket: Option<Edge>,
        /// When they arrived; none where no stamp came with them.
        received: Option<Stamp>,
        /// The packet.
        bytes: &'a [u8],
    },
    /// The packet of `token` left at `stamp`.
    Sent {
        /// As given out by [`Output::Transmit`].
        token: Token,
        /// When.
        stamp: Stamp,
    },
    /// Time has come, or a bit more.
    Tick,
    /// Close everything: windows, sessions, the round.
    Stop,
}

/// Which socket of which node a packet goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The port on which the edge's `dst` listens for probes.
    Listener(Edge),
    /// The port on which the edge's `src` waits for answers.
    Prober(Edge),
    /// The control port of a node.
    Control(NodeId),
}

/// What to do outside.
#[derive(Clone, Debug)]
pub enum Output {
    /// Send `bytes`.
    Transmit {
        /// Where to.
        to: Destination,
        /// Asks for a transmit stamp.
        token: Option<Token>,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// A window of this node closed: append it to its file.
    Window(NodeWindow),
    /// The master solved round `round`: append it to its file.
    Solved {
        /// Number of the round.
        round: u64,
        /// All nodes.
        solution: Solution,
    },
    /// The master told this node where its clock stands.
    Clock {
        /// Number of the round.
        round: u64,
        /// This node.
        estimate: NodeEstimate,
    },
    /// Nothing to do before this instant, unless something arrives.
    Wake(MonotonicInstant),
    /// All is closed; there will be no further output.
    Stopped,
}
