//! The probe graph as keys and values of a store, the origin's names and formats.
//!
//! | key | value |
//! |---|---|
//! | `probe_edge:<src>-><dst>` | `listen,response`, ports in decimal |
//! | `probe_neighbors:<i>` | whom `i` probes, comma between, may be empty |
//! | `backward_neighbors:<i>` | who probes `i` |
//! | `probe_participants` | nodes that probe anybody |
//! | `probe_graph_ready` | number of nodes, written last |

use super::{EdgePorts, PortPlan, ProbeGraph};
use crate::{Edge, NodeId};

/// Says that all other keys are there; holds the number of nodes.
pub const READY: &str = "probe_graph_ready";

/// Nodes that send probes.
pub const PARTICIPANTS: &str = "probe_participants";

/// Why a value is not what its key promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Nobody wrote it.
    #[error("key `{0}` is missing")]
    Missing(String),
    /// It is not in the format of its key.
    #[error("key `{key}` holds `{value}`, which is not {expected}")]
    Malformed {
        /// Of what.
        key: String,
        /// As read.
        value: String,
        /// What belongs there.
        expected: KeyFormat,
    },
}

/// What the value of a key has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFormat {
    /// Neighbours.
    #[error("a comma-separated list of node numbers")]
    Nodes,
    /// The ports of an edge.
    #[error("two ports separated by a comma")]
    Ports,
}

/// What one node must know of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbourhood {
    /// The edges it probes, with their ports.
    pub out: Vec<(Edge, EdgePorts)>,
    /// The edges it answers on.
    pub back: Vec<(Edge, EdgePorts)>,
}

/// The key of an edge's ports.
pub fn edge_key(edge: Edge) -> String {
    format!("probe_edge:{edge}")
}

/// The key of those whom `node` probes.
pub fn neighbors_key(node: NodeId) -> String {
    format!("probe_neighbors:{node}")
}

/// The key of those who probe `node`.
pub fn backward_key(node: NodeId) -> String {
    format!("backward_neighbors:{node}")
}

/// All keys and values of a graph, in the order to write them: the last one says that all are there.
pub fn publish(graph: &ProbeGraph, plan: &PortPlan) -> Vec<(String, String)> {
    let edges = plan.iter().map(|(edge, ports)| (edge_key(edge), format!("{},{}", ports.listen, ports.response)));
    let mut written: Vec<(String, String)> = edges.collect();
    let mut sources = vec![Vec::new(); graph.nodes() as usize];
    for edge in graph.edges() {
        sources[edge.dst.0 as usize].push(edge.src);
    }
    for (node, sources) in (0..).map(NodeId).zip(sources) {
        written.push((neighbors_key(node), list(graph.targets(node))));
        written.push((backward_key(node), list(sources)));
    }
    let mut senders: Vec<NodeId> = graph.edges().iter().map(|edge| edge.src).collect();
    senders.dedup();
    written.push((PARTICIPANTS.to_owned(), list(senders)));
    written.push((READY.to_owned(), graph.nodes().to_string()));
    written
}

/// What `node` reads of the store once [`READY`] is there. `value` looks a key up.
///
/// # Errors
/// [`KeyError`] names the key that is missing or malformed.
pub fn read(node: NodeId, mut value: impl FnMut(&str) -> Option<String>) -> Result<Neighbourhood, KeyError> {
    let mut look_up = |key: String| match value(&key) {
        Some(value) => Ok((key, value)),
        None => Err(KeyError::Missing(key)),
    };
    let (key, targets) = look_up(neighbors_key(node))?;
    let targets = nodes(&key, &targets)?;
    let (key, sources) = look_up(backward_key(node))?;
    let sources = nodes(&key, &sources)?;
    let mut with_ports = |edge| look_up(edge_key(edge)).and_then(|(key, value)| Ok((edge, ports(&key, &value)?)));
    let out: Result<_, _> = targets.into_iter().map(|dst| with_ports(Edge { src: node, dst })).collect();
    let back: Result<_, _> = sources.into_iter().map(|src| with_ports(Edge { src, dst: node })).collect();
    Ok(Neighbourhood { out: out?, back: back? })
}

/// A list of nodes as it stands under `key`.
///
/// # Errors
/// [`KeyError::Malformed`] where it is no comma-separated list of numbers.
pub fn nodes(key: &str, value: &str) -> Result<Vec<NodeId>, KeyError> {
    if value.trim().is_empty() {
        return Ok(Vec::new());
    }
    let parsed: Result<Vec<u32>, _> = value.split(',').map(|item| item.trim().parse()).collect();
    let nodes = parsed.map_err(|_| malformed(key, value, KeyFormat::Nodes))?;
    Ok(nodes.into_iter().map(NodeId).collect())
}

/// The ports of an edge as they stand under `key`.
///
/// # Errors
/// [`KeyError::Malformed`] where they are not two port numbers.
pub fn ports(key: &str, value: &str) -> Result<EdgePorts, KeyError> {
    let pair = value.split_once(',');
    let pair = pair.and_then(|(listen, response)| Some((listen.trim().parse().ok()?, response.trim().parse().ok()?)));
    let (listen, response) = pair.ok_or_else(|| malformed(key, value, KeyFormat::Ports))?;
    Ok(EdgePorts { listen, response })
}

fn malformed(key: &str, value: &str, expected: KeyFormat) -> KeyError {
    KeyError::Malformed { key: key.to_owned(), value: value.to_owned(), expected }
}

fn list(nodes: impl IntoIterator<Item = NodeId>) -> String {
    let nodes: Vec<String> = nodes.into_iter().map(|node| node.to_string()).collect();
    nodes.join(",")
}
