//! Random graphs in which every node has the same degree and sends as much as it receives.
//!
//! Start from a circulant (each node probes the next few on a circle, labels shuffled) and exchange the destinations of random
//! pairs of edges many times over. An exchange changes no node's in- or out-degree, so balance never has to be repaired. All
//! degrees are even, and a connected graph of even degrees has no bridge: cutting one would leave a part with an odd sum of
//! degrees. So only connectivity needs a look, and on failure more exchanges. Where the degree would reach all other nodes the
//! graph is complete, and there is nothing to draw.

use super::{ProbeGraph, edge};
use crate::{Edge, Rng};

/// The lane of the seed's generator that shapes graphs.
const LANE: u64 = 1;

/// Exchanges tried for each edge. Ten mix a sparse graph well (Milo et al. 2003 recommend 100 to be beyond doubt; we need an
/// expander, not a uniform sample).
const EXCHANGES_PER_EDGE: u64 = 10;

/// Rounds of exchanges before the circulant itself has to do. With a degree of six or more the first round suffices.
const ROUNDS_MAX: u32 = 16;

pub(super) fn random_regular(nodes: u32, seed: u64) -> ProbeGraph {
    let degree = degree(nodes);
    if degree + 1 >= nodes {
        return ProbeGraph::new(nodes, complete(nodes));
    }
    let mut rng = Rng::lane(seed, LANE);
    let labels = shuffled(nodes, &mut rng);
    let circulant: Vec<Edge> = (0..nodes)
        .flat_map(|i| (1..=degree / 2).map(move |step| (i, (i + step) % nodes)))
        .map(|(i, j)| edge(labels[i as usize], labels[j as usize]))
        .collect();
    let mut exchange = Exchange::new(nodes, circulant.clone());
    for _ in 0..ROUNDS_MAX {
        exchange.run(&mut rng);
        let graph = ProbeGraph::new(nodes, exchange.edges.clone());
        if graph.unconnected().is_none() {
            return graph;
        }
    }
    ProbeGraph::new(nodes, circulant)
}

/// Twice the logarithm of the number of nodes keeps distances and the spread of errors small; two more make it an expander when
/// links fail.
fn degree(nodes: u32) -> u32 {
    let log2_up = nodes.max(1).next_power_of_two().trailing_zeros();
    nodes.saturating_sub(1).min(2 * log2_up + 2)
}

/// Each pair once, from the node that comes first within half a turn of the circle, so that out-degrees differ by at most one.
fn complete(nodes: u32) -> Vec<Edge> {
    let pairs = (0..nodes).flat_map(|i| (i + 1..nodes).map(move |j| (i, j)));
    pairs.map(|(i, j)| if 2 * (j - i) <= nodes { edge(i, j) } else { edge(j, i) }).collect()
}

pub(super) fn shuffled(count: u32, rng: &mut Rng) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..count).collect();
    for i in (1..labels.len()).rev() {
        labels.swap(i, rng.below(i as u64 + 1) as usize);
    }
    labels
}

/// Edges under exchange, and for each node its neighbours in a short list: scanning thirty numbers beats hashing a pair.
struct Exchange {
    edges: Vec<Edge>,
    neighbours: Vec<Vec<u32>>,
}

impl Exchange {
    fn new(nodes: u32, edges: Vec<Edge>) -> Self {
        let mut neighbours = vec![Vec::new(); nodes as usize];
        for Edge { src, dst } in &edges {
            neighbours[src.0 as usize].push(dst.0);
            neighbours[dst.0 as usize].push(src.0);
        }
        Self { edges, neighbours }
    }

    fn run(&mut self, rng: &mut Rng) {
        let count = self.edges.len() as u64;
        for _ in 0..EXCHANGES_PER_EDGE * count {
            let (i, j) = (rng.below(count) as usize, rng.below(count) as usize);
            let ((a, b), (c, d)) = (self.ends(i), self.ends(j));
            let distinct = a != c && b != d && a != d && c != b;
            if distinct && !self.adjacent(a, d) && !self.adjacent(c, b) {
                self.rewire(a, b, d);
                self.rewire(b, a, c);
                self.rewire(c, d, b);
                self.rewire(d, c, a);
                (self.edges[i], self.edges[j]) = (edge(a, d), edge(c, b));
            }
        }
    }

    fn ends(&self, place: usize) -> (u32, u32) {
        (self.edges[place].src.0, self.edges[place].dst.0)
    }

    fn adjacent(&self, a: u32, b: u32) -> bool {
        self.neighbours[a as usize].contains(&b)
    }

    fn rewire(&mut self, node: u32, from: u32, to: u32) {
        for neighbour in &mut self.neighbours[node as usize] {
            if *neighbour == from {
                *neighbour = to;
                break;
            }
        }
    }
}
