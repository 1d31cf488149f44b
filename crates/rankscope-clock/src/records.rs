//! What is known of an edge when a window closes, and what a node reports of all its edges.

use std::fmt;

use rankscope_time::Span;

use crate::{Edge, HostInstant, NodeId};

/// A closed interval of differences between two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Least difference.
    pub lo: Span,
    /// Greatest difference.
    pub hi: Span,
}

/// The relation of two clocks over one window (or a part of it, where a clock stepped): `dst - src` as a line over `src`'s
/// clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeFit {
    /// First instant the line was fitted over, on `src`'s clock. Where the window was split it is shown to hold from here on.
    pub start: HostInstant,
    /// Last instant the line was fitted over.
    pub end: HostInstant,
    /// Where `offset` and `bound` hold: the middle of `start` and `end`.
    pub mid: HostInstant,
    /// `dst - src` at `mid`.
    pub offset: Span,
    /// What `dst` gains on `src`, in parts per billion.
    pub skew_ppb: f64,
    /// What `offset` can be at all, given that no packet arrives before it is sent and that the skew changes no faster than
    /// assumed.
    pub bound: Interval,
    /// The slopes that some line through the band has, in parts per billion. With `bound` it bounds the offset away from `mid`.
    pub skew_bound_ppb: (f64, f64),
    /// How far `offset` is likely off: one standard deviation, in nanoseconds. For weights, not for guarantees.
    pub sigma_ns: f64,
    /// Width of the band: the shortest round trip.
    pub rtt_min: Span,
    /// Points that bounded from above.
    pub points_forward: u32,
    /// Points that bounded from below.
    pub points_reverse: u32,
    /// The bound is no proof: stamps contradicted each other and it trusts all but the offenders, or a clock stepped and nothing
    /// shows how far the line reaches, or its halves disagree.
    pub degraded: bool,
}

/// Why an edge has no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFit {
    /// Too few complete exchanges. Holds how many there were.
    TooFewExchanges(u32),
    /// All points bound from one side.
    OneDirection,
    /// No line fits, even after leaving out the worst points and splitting.
    Contradiction,
}

/// A change of the relation of two clocks that no line can follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClockEvent {
    /// One of the clocks jumped.
    Step {
        /// When, on `src`'s clock.
        at: HostInstant,
        /// What `dst - src` gained.
        size: Span,
    },
    /// The rate changed at once, as when a time daemon starts or ends a slew.
    RateChange {
        /// When, on `src`'s clock.
        at: HostInstant,
        /// By how much, in parts per billion.
        by_ppb: f64,
    },
}

/// Counts of one edge over one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Exchanges with all eight stamps.
    pub complete: u32,
    /// Probes sent that were never seen at `dst`.
    pub lost_forward: u32,
    /// Answers sent that were never seen at `src`.
    pub lost_reverse: u32,
    /// Packets that came after a later one.
    pub reordered: u32,
    /// Packets that came twice.
    pub duplicated: u32,
    /// Packets whose stamp never came.
    pub unstamped: u32,
    /// Directions of exchanges that the purity filter took out.
    pub filtered: u32,
}

/// What stamps are made of, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StampSource {
    /// The clock of the network card.
    Hardware,
    /// The kernel, as the packet passes the driver.
    #[default]
    Kernel,
    /// The program, after the fact. A last resort.
    User,
}

/// What carries the packets of an edge, best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// Datagrams, which the card or the kernel can stamp as they leave.
    #[default]
    Udp,
    /// Streams, where datagrams are not answered. The program stamps what leaves, before the kernel has it, and what is lost holds
    /// up what follows it: delays are longer, and so are bounds.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        })
    }
}

/// One edge over one window.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeRecord {
    /// Which edge.
    pub edge: Edge,
    /// The lines, in order of time: one, or several where the clocks stepped; each part that has none says why.
    pub fits: Vec<Result<EdgeFit, NoFit>>,
    /// Where it was split.
    pub events: Vec<ClockEvent>,
    /// What was lost on the way.
    pub counts: LinkCounts,
    /// The worst stamps that were used.
    pub stamps: StampSource,
    /// The worst that carried packets.
    pub transport: Transport,
}

impl EdgeRecord {
    /// One with these lines and nothing else to say: no events, no counts, and packets as they usually are.
    pub fn new(edge: Edge, fits: Vec<Result<EdgeFit, NoFit>>) -> Self {
        let (events, counts) = (Vec::new(), LinkCounts::default());
        Self { edge, fits, events, counts, stamps: StampSource::default(), transport: Transport::default() }
    }
}

/// All edges that one node probed in one window.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeWindow {
    /// Whose.
    pub node: NodeId,
    /// Counts up on this node.
    pub window_id: u64,
    /// The round that the master gave it; none where the node closed the window on its own.
    pub round: Option<u64>,
    /// First instant, on the node's clock: of the data, not of the plan.
    pub start: HostInstant,
    /// Last instant.
    pub end: HostInstant,
    /// In order of `dst`.
    pub edges: Vec<EdgeRecord>,
}
