//! Who probes whom, and over which ports.
//!
//! Node 0 decides for everybody: it lays out a [`ProbeGraph`], gives each edge its ports ([`PortPlan`]), and publishes both as
//! the short strings of [`keys`]. All of it is a pure function of the number of nodes, a seed and the ports that turned out to
//! be taken. Nothing here binds a port or talks to a store.

pub mod keys;
mod origin;
mod ports;
mod regular;
mod topology;

pub use ports::{BusyPorts, EdgePorts, PortError, PortOptions, PortPlan};
pub use topology::{Topology, TopologyError};

use std::collections::VecDeque;

use crate::{Edge, NodeId};

/// The directed edges that a job probes over: at most one for each pair of nodes, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeGraph {
    nodes: u32,
    edges: Vec<Edge>,
}

impl ProbeGraph {
    fn new(nodes: u32, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        Self { nodes, edges }
    }

    /// Number of nodes, numbered from 0.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Sorted by source, then destination.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whom `node` probes, ascending.
    pub fn targets(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let first = self.edges.partition_point(|edge| edge.src < node);
        self.edges[first..].iter().take_while(move |edge| edge.src == node).map(|edge| edge.dst)
    }

    /// Who probes `node`, ascending.
    pub fn sources(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.edges.iter().filter(move |edge| edge.dst == node).map(|edge| edge.src)
    }

    /// The lowest node that no path connects to node 0, direction aside.
    pub fn unconnected(&self) -> Option<NodeId> {
        let neighbours = self.neighbours();
        let mut seen = vec![false; self.nodes as usize];
        let mut queue = VecDeque::from_iter((self.nodes > 0).then_some(0usize));
        while let Some(node) = queue.pop_front() {
            if !std::mem::replace(&mut seen[node], true) {
                queue.extend(neighbours[node].iter().map(|(other, _)| *other as usize));
            }
        }
        seen.iter().position(|seen| !seen).map(|node| NodeId(node as u32))
    }

    /// Edges whose loss alone would cut the graph in two, and which no loop checks. Those of the generated graphs have none.
    pub fn bridges(&self) -> Vec<Edge> {
        let neighbours = self.neighbours();
        let nodes = self.nodes as usize;
        let (mut entered, mut low) = (vec![usize::MAX; nodes], vec![usize::MAX; nodes]);
        let (mut found, mut clock) = (Vec::new(), 0);
        for root in 0..nodes {
            if entered[root] != usize::MAX {
                continue;
            }
            // Tarjan's depth-first search with its stack in the open: a ring of ten thousand is ten thousand frames deep.
            let mut stack = vec![(root, usize::MAX, 0)];
            while let Some((node, via, next)) = stack.last_mut() {
                if *next == 0 {
                    (entered[*node], low[*node]) = (clock, clock);
                    clock += 1;
                }
                if let Some((other, edge)) = neighbours[*node].get(*next).map(|(other, edge)| (*other as usize, *edge as usize))
                {
                    *next += 1;
                    if edge == *via {
                        continue;
                    }
                    if entered[other] == usize::MAX {
                        stack.push((other, edge, 0));
                    } else {
                        low[*node] = low[*node].min(entered[other]);
                    }
                } else {
                    let (node, via, _) = (*node, *via, stack.pop());
                    if let Some((parent, ..)) = stack.last() {
                        low[*parent] = low[*parent].min(low[node]);
                        if low[node] > entered[*parent] {
                            found.push(self.edges[via]);
                        }
                    }
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// For each node its neighbours, direction aside, each with the place of the edge.
    fn neighbours(&self) -> Vec<Vec<(u32, u32)>> {
        let mut neighbours = vec![Vec::new(); self.nodes as usize];
        for (place, edge) in self.edges.iter().enumerate() {
            neighbours[edge.src.0 as usize].push((edge.dst.0, place as u32));
            neighbours[edge.dst.0 as usize].push((edge.src.0, place as u32));
        }
        neighbours
    }
}

fn edge(src: u32, dst: u32) -> Edge {
    Edge { src: NodeId(src), dst: NodeId(dst) }
}
