//! The shapes a probe graph can have, by name.
//!
//! The default is random and regular; the small hand-made ones are for tests and for looking at one link. Text names them:
//! `random`, `ring`, `directed`, `loop`, `origin`, or the edges themselves, as in `0-1,1-2,2-0`.

use std::fmt;
use std::str::FromStr;

use super::{ProbeGraph, edge, origin, regular};
use crate::{Edge, NodeId};

/// The shape of a probe graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Topology {
    /// Connected without bridges, of degree `min(n - 1, 2 ceil(log2 n) + 2)`, sending and receiving balanced.
    #[default]
    Random,
    /// Each node probes the next, the last one the first.
    Ring,
    /// Node 0 probes all others: a star, without any loop to check it.
    Directed,
    /// Node 0 probes 1, which probes all others, which probe 0: the origin's `loop_2`, for any number of nodes.
    Loop,
    /// The origin's algorithm.
    Origin,
    /// These edges.
    Explicit(Vec<Edge>),
}

/// Why there is no such graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyError {
    /// Neither a name nor an edge.
    #[error("`{0}` is neither a topology nor an edge; use random, ring, directed, loop, origin, or edges such as 0-1,1-2,2-0")]
    Unreadable(String),
    /// An edge from a node to itself.
    #[error("edge {0}: a node cannot probe itself")]
    SelfLoop(Edge),
    /// Two edges for the same pair.
    #[error("edge {0}: list each pair once, because one edge measures both directions")]
    Twice(Edge),
    /// An edge beyond the number of nodes.
    #[error("edge {edge}: the {nodes} nodes are numbered from 0")]
    OutOfRange {
        /// The edge.
        edge: Edge,
        /// Number of nodes.
        nodes: u32,
    },
    /// A part of the graph hangs in the air.
    #[error("no edges connect node 0 with node {0}")]
    Unconnected(NodeId),
    /// A graph of nobody.
    #[error("a probe graph needs at least one node")]
    NoNodes,
}

impl Topology {
    /// The graph of this shape over `nodes` nodes. The same arguments give the same graph, for ever.
    ///
    /// # Errors
    /// Where there are no nodes, and where explicit edges name a node that does not exist or leave one out.
    pub fn graph(&self, nodes: u32, seed: u64) -> Result<ProbeGraph, TopologyError> {
        let graph = match self {
            Self::Random => regular::random_regular(nodes, seed),
            Self::Origin => origin::origin(nodes, seed),
            Self::Ring if nodes > 2 => ProbeGraph::new(nodes, (0..nodes).map(|i| edge(i, (i + 1) % nodes)).collect()),
            Self::Loop if nodes > 2 => {
                let around = (2..nodes).flat_map(|i| [edge(1, i), edge(i, 0)]);
                ProbeGraph::new(nodes, std::iter::once(edge(0, 1)).chain(around).collect())
            }
            // With two nodes a ring and a loop have one edge too.
            Self::Directed | Self::Ring | Self::Loop => ProbeGraph::new(nodes, (1..nodes).map(|i| edge(0, i)).collect()),
            Self::Explicit(edges) => {
                if let Some(edge) = edges.iter().find(|edge| edge.src.0.max(edge.dst.0) >= nodes) {
                    return Err(TopologyError::OutOfRange { edge: *edge, nodes });
                }
                ProbeGraph::new(nodes, edges.clone())
            }
        };
        match graph.unconnected() {
            _ if nodes == 0 => Err(TopologyError::NoNodes),
            Some(node) if *self != Self::Origin => Err(TopologyError::Unconnected(node)),
            _ => Ok(graph),
        }
    }
}

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, TopologyError> {
        match text {
            "random" => Ok(Self::Random),
            "ring" => Ok(Self::Ring),
            "directed" => Ok(Self::Directed),
            "loop" => Ok(Self::Loop),
            "origin" => Ok(Self::Origin),
            edges => explicit(edges).map(Self::Explicit),
        }
    }
}

fn explicit(text: &str) -> Result<Vec<Edge>, TopologyError> {
    let mut edges: Vec<Edge> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let ends = item.split_once("->").or_else(|| item.split_once('-'));
        let ends = ends.and_then(|(src, dst)| Some(edge(src.parse().ok()?, dst.parse().ok()?)));
        let edge = ends.ok_or_else(|| TopologyError::Unreadable(item.to_owned()))?;
        if edge.src == edge.dst {
            return Err(TopologyError::SelfLoop(edge));
        }
        if edges.iter().any(|other| *other == edge || (other.src, other.dst) == (edge.dst, edge.src)) {
            return Err(TopologyError::Twice(edge));
        }
        edges.push(edge);
    }
    Ok(edges)
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::Ring => f.write_str("ring"),
            Self::Directed => f.write_str("directed"),
            Self::Loop => f.write_str("loop"),
            Self::Origin => f.write_str("origin"),
            Self::Explicit(edges) => {
                for (place, Edge { src, dst }) in edges.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(f, "{comma}{src}-{dst}")?;
                }
                Ok(())
            }
        }
    }
}
