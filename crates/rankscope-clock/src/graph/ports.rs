//! One port for each end of each edge, given out by one node for all.
//!
//! Node `i` owns the block `base + per_node * i ..`. In order of the edges, each edge takes the lowest free port of its
//! destination's block to listen on and the lowest free one of its source's block to hear answers on. Whether a port is really
//! free only the host can tell: it reports those it could not bind, and [`PortPlan::avoiding`] moves just the edge ends that
//! sat on them. Blocks beyond the last port are an error, not a wrap-around; such jobs use one port a node with the edge in the
//! packet.

use std::collections::{BTreeMap, BTreeSet};

use super::ProbeGraph;
use crate::{Edge, NodeId};

/// Ports that a node found taken by others.
pub type BusyPorts = BTreeMap<NodeId, BTreeSet<u16>>;

/// Where blocks of ports lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortOptions {
    /// First port of node 0.
    pub base: u16,
    /// Ports from one node's block to the next.
    pub per_node: u16,
}

impl Default for PortOptions {
    /// The origin's: 20000, and 100 for each node.
    fn default() -> Self {
        Self { base: 20_000, per_node: 100 }
    }
}

impl PortOptions {
    /// Blocks of `per_node` ports, from `base` on.
    pub const fn new(base: u16, per_node: u16) -> Self {
        Self { base, per_node }
    }
}

/// The two ports of an edge that others must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgePorts {
    /// Where `dst` listens for probes.
    pub listen: u16,
    /// Where `src` hears answers.
    pub response: u16,
}

/// Why ports cannot be given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The block lies beyond port 65535.
    #[error(
        "node {node}: its block of ports would start at {start}, past 65535; use a lower port base or the single-port mode"
    )]
    PastLastPort {
        /// Whose block.
        node: NodeId,
        /// Where it would start.
        start: u64,
    },
    /// The block has no free port left.
    #[error("node {node}: all {per_node} ports from {start} on are taken; use more ports per node or the single-port mode")]
    BlockFull {
        /// Whose block.
        node: NodeId,
        /// Its first port.
        start: u16,
        /// Its size.
        per_node: u16,
    },
}

/// The ports of all edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortPlan {
    options: PortOptions,
    edges: BTreeMap<Edge, EdgePorts>,
    /// Ports in use by an edge, or refused by their host at any time: neither is given out again.
    taken: BusyPorts,
}

impl PortPlan {
    /// Ports for all edges of `graph`, none of them among `busy`.
    ///
    /// # Errors
    /// [`PortError`] names the node whose block lies too high or is used up.
    pub fn new(graph: &ProbeGraph, options: PortOptions, busy: &BusyPorts) -> Result<Self, PortError> {
        let mut plan = Self { options, edges: BTreeMap::new(), taken: busy.clone() };
        for edge in graph.edges() {
            let listen = plan.lowest_free(edge.dst)?;
            let response = plan.lowest_free(edge.src)?;
            plan.edges.insert(*edge, EdgePorts { listen, response });
        }
        Ok(plan)
    }

    /// One port for everything on each node: what `port` says.
    pub fn single(graph: &ProbeGraph, port: impl Fn(NodeId) -> u16) -> Self {
        let ports = |edge: &Edge| EdgePorts { listen: port(edge.dst), response: port(edge.src) };
        let edges = graph.edges().iter().map(|edge| (*edge, ports(edge))).collect();
        Self { options: PortOptions::default(), edges, taken: BusyPorts::new() }
    }

    /// The same plan after hosts found the ports `busy` taken by others: ends of edges on them move to the lowest free port of
    /// their block, all others stay. A port once found busy is not tried again.
    ///
    /// # Errors
    /// [`PortError::BlockFull`] where a node runs out.
    pub fn avoiding(&self, busy: &BusyPorts) -> Result<Self, PortError> {
        let mut plan = self.clone();
        for (node, ports) in busy {
            plan.taken.entry(*node).or_default().extend(ports);
        }
        let is_busy = |node, port| busy.get(&node).is_some_and(|ports| ports.contains(&port));
        for (edge, old) in &self.edges {
            let mut ports = *old;
            if is_busy(edge.dst, old.listen) {
                ports.listen = plan.lowest_free(edge.dst)?;
            }
            if is_busy(edge.src, old.response) {
                ports.response = plan.lowest_free(edge.src)?;
            }
            plan.edges.insert(*edge, ports);
        }
        Ok(plan)
    }

    /// The ports of `edge`, if it is one of the graph.
    pub fn ports(&self, edge: Edge) -> Option<EdgePorts> {
        self.edges.get(&edge).copied()
    }

    /// All edges with their ports, in order of the edges.
    pub fn iter(&self) -> impl Iterator<Item = (Edge, EdgePorts)> {
        self.edges.iter().map(|(edge, ports)| (*edge, *ports))
    }

    fn lowest_free(&mut self, node: NodeId) -> Result<u16, PortError> {
        let PortOptions { base, per_node } = self.options;
        let start = u64::from(base) + u64::from(per_node) * u64::from(node.0);
        let Ok(start) = u16::try_from(start) else {
            return Err(PortError::PastLastPort { node, start });
        };
        let end = u32::from(start) + u32::from(per_node);
        let taken = self.taken.entry(node).or_default();
        let free = (start..=u16::MAX).take_while(|port| u32::from(*port) < end).find(|port| !taken.contains(port));
        let port = free.ok_or(PortError::BlockFull { node, start, per_node })?;
        taken.insert(port);
        Ok(port)
    }
}
