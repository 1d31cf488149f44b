//! Names of nodes, edges and clocks.

use std::fmt;

use rankscope_time::{HostClock, Instant};

/// An instant on the clock of one host: the clock that probes are stamped with.
pub type HostInstant = Instant<HostClock>;

/// The clock that paces sending and times out waiting. It is never compared with another host's.
#[derive(Debug)]
pub enum MonotonicClock {}

/// An instant on the pacing clock.
pub type MonotonicInstant = Instant<MonotonicClock>;

/// A participant in clock synchronisation: one agent, usually one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A directed edge of the probe graph: `src` probes, `dst` answers. Both directions of the path are measured all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Who sends the probes and fits the line.
    pub src: NodeId,
    /// Who answers.
    pub dst: NodeId,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.src, self.dst)
    }
}
