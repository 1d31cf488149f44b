//! One node's part in synchronisation, as a state machine: handshakes, probes, windows and rounds.
//!
//! The contract is *drain before you feed*: after each [`Session::handle`], call [`Session::poll`] until it returns
//! [`Output::Wake`], and only then hand in the next input.

mod backoff;
mod collected;
mod counters;
mod incarnation;
mod key;
mod listener;
mod machine;
mod outbox;
mod pacing;
mod pending;
mod prober;
mod reach;
mod rounds;
mod sequence;
mod settings;
mod tokens;
pub mod wire;

use std::ops::Deref;

use crate::nodes::{NodeEstimate, Solution};
use crate::{Edge, HostInstant, MonotonicInstant, NodeId, NodeWindow, StampSource, Transport};

pub use counters::Counters;
pub use key::Key;
pub use machine::Session;
pub use settings::{FitWindow, SessionSettings, SolveRound, Transports};

/// The two clocks of this host, read together.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Paces and times out.
    pub monotonic: MonotonicInstant,
    /// The clock that stamps are on.
    pub host: HostInstant,
}

/// A transmit stamp comes back later, under the token its packet was sent with. Only a session makes one, and handing it in
/// spends it, so a packet is stamped once: it is neither `Copy` nor `Clone` on purpose.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a packet whose token is lost counts as unstamped"]
pub struct Token(u64);

/// When a packet passed, and what said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// On the host clock.
    pub at: HostInstant,
    /// What it is made of.
    pub source: StampSource,
}

/// How a packet arrived, and when.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    over: Transport,
    stamp: Option<Stamp>,
}

/// What happened outside.
#[derive(Debug)]
pub enum Input<'a> {
    /// A packet arrived.
    Packet {
        /// The edge whose socket received it, where every edge has its own.
        socket: Option<Edge>,
        /// What carried it.
        over: Transport,
        /// When it arrived; none where no stamp came with it.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// The port on which the edge's `dst` listens for probes.
    Listener(Edge),
    /// The port on which the edge's `src` waits for answers.
    Prober(Edge),
    /// The control port of a node.
    Control(NodeId),
}

/// The bytes of a packet. Probes, which are nearly all of them, need no allocation.
#[derive(Clone, Debug)]
pub enum Packet {
    /// Of an edge.
    Probe([u8; wire::PROBE_LEN]),
    /// Between nodes.
    Control(Vec<u8>),
}

impl Deref for Packet {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Probe(bytes) => bytes,
            Self::Control(bytes) => bytes,
        }
    }
}

/// What to do outside.
#[derive(Debug)]
pub enum Output {
    /// Send `bytes`.
    Transmit {
        /// Where to.
        to: Destination,
        /// What is to carry it.
        over: Transport,
        /// Asks for a transmit stamp.
        token: Option<Token>,
        /// The packet.
        bytes: Packet,
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
    /// An edge that begins here is measured over another transport from now on.
    Rerouted {
        /// Which edge.
        edge: Edge,
        /// The new one.
        over: Transport,
    },
    /// Nothing to do before this instant, unless something arrives.
    Wake(MonotonicInstant),
    /// All is closed; there will be no further output.
    Stopped,
}

/// How one end of an edge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeState {
    /// `dst` waits for a first SYN.
    Listening,
    /// `dst` answers.
    Answering,
    /// `src` waits for an ACK.
    SynSent,
    /// `src` is in the middle of a train.
    Probing,
    /// `src` rests between two trains.
    Paused,
    /// `src` has said that it closes.
    Closing,
    /// `src` has closed.
    Closed,
    /// The handshake took longer than it may. It goes on all the same, and an edge that comes to life is not failed any more.
    Failed(Failure),
}

/// Why a handshake does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing came.
    NoAnswer,
    /// Something came and was dropped: most likely the nodes disagree about the run or its secret.
    Rejected(wire::Reject),
}

/// One end of an edge, for reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeView {
    /// Which edge.
    pub edge: Edge,
    /// How this node's end stands.
    pub state: EdgeState,
    /// What carried its last packets.
    pub transport: Transport,
    /// Exchanges a second that both ends can afford, before losses; 0 where none are on. Only `src` knows.
    pub exchanges_per_s: f64,
}
