//! Probe graphs: what every one of them must be, and the ones of small jobs as they will stay.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write;

use proptest::prelude::*;
use rankscope_clock::graph::{ProbeGraph, Topology, TopologyError};
use rankscope_clock::{Edge, NodeId};

/// The origin's seed, and our default.
const SEED: u64 = 12345;

fn random(nodes: u32, seed: u64) -> ProbeGraph {
    Topology::Random.graph(nodes, seed).unwrap()
}

fn out_degrees(graph: &ProbeGraph) -> Vec<usize> {
    (0..graph.nodes()).map(|node| graph.targets(NodeId(node)).count()).collect()
}

fn check_random(nodes: u32, seed: u64) {
    let graph = random(nodes, seed);
    let unordered: BTreeSet<_> = graph.edges().iter().map(|edge| (edge.src.min(edge.dst), edge.src.max(edge.dst))).collect();
    assert_eq!(unordered.len(), graph.edges().len(), "a pair is probed twice");
    assert!(graph.edges().iter().all(|edge| edge.src != edge.dst));
    assert_eq!(graph.unconnected(), None);
    let log2_up = u32::BITS - (nodes - 1).leading_zeros();
    let degree = (nodes - 1).min(2 * log2_up + 2) as usize;
    assert_eq!(2 * graph.edges().len(), nodes as usize * degree);
    if nodes > 2 {
        assert_eq!(graph.bridges(), []);
        let degrees = out_degrees(&graph);
        let (least, most) = (degrees.iter().min().unwrap(), degrees.iter().max().unwrap());
        assert!(most - least <= 1 && *least >= 1, "out-degrees from {least} to {most}");
    }
    assert_eq!(graph, random(nodes, seed));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_graphs_are_connected_without_bridges_and_balanced(nodes in 2u32..300, seed: u64) {
        check_random(nodes, seed);
    }

    #[test]
    fn explicit_edges_survive_text(pairs in prop::collection::btree_set((0u32..20, 0u32..20), 1..20)) {
        let mut kept: Vec<Edge> = Vec::new();
        for (a, b) in pairs.into_iter().filter(|(a, b)| a != b) {
            let (src, dst) = (NodeId(a), NodeId(b));
            if !kept.contains(&Edge { src: dst, dst: src }) {
                kept.push(Edge { src, dst });
            }
        }
        prop_assume!(!kept.is_empty());
        let topology = Topology::Explicit(kept);
        prop_assert_eq!(topology.to_string().parse::<Topology>().unwrap(), topology);
    }

    /// Against the plain definition: an edge is a bridge if the graph without it has more unconnected nodes.
    #[test]
    fn bridges_are_what_disconnects(picks in prop::collection::btree_set((0u32..9, 0u32..9), 1..14)) {
        let edges: Vec<(u32, u32)> = picks.into_iter().filter(|(a, b)| a < b).collect();
        // A comb over all nodes makes the graph connected, so that explicit edges are accepted.
        let mut text: BTreeSet<(u32, u32)> = (0..8).map(|i| (i, i + 1)).collect();
        text.extend(edges);
        let all: Vec<Edge> = text.iter().map(|(a, b)| Edge { src: NodeId(*a), dst: NodeId(*b) }).collect();
        let graph = Topology::Explicit(all.clone()).graph(9, 0).unwrap();
        let disconnecting: Vec<Edge> = all
            .iter()
            .filter(|left_out| {
                let rest = all.iter().filter(|edge| edge != left_out).copied().collect();
                matches!(Topology::Explicit(rest).graph(9, 0), Err(TopologyError::Unconnected(_)))
            })
            .copied()
            .collect();
        prop_assert_eq!(graph.bridges(), disconnecting);
    }
}

#[test]
fn ten_thousand_nodes_are_drawn_like_ten() {
    check_random(10_000, SEED);
}

#[test]
fn graphs_of_small_jobs_stay_as_they_are() {
    for nodes in [2, 3, 4, 8, 16, 64] {
        let graph = random(nodes, SEED);
        let mut text = String::new();
        for node in 0..nodes {
            write!(text, "{node}:").unwrap();
            graph.targets(NodeId(node)).for_each(|target| write!(text, " {target}").unwrap());
            text.push('\n');
        }
        let file = format!("{}/tests/golden/random_{nodes}.txt", env!("CARGO_MANIFEST_DIR"));
        let golden = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, golden, "{file}: graphs of one seed must not change between versions");
    }
}

#[test]
fn named_topologies_are_what_they_say() {
    let text = |topology: &str, nodes| {
        let graph = topology.parse::<Topology>().unwrap().graph(nodes, SEED).unwrap();
        graph.edges().iter().map(Edge::to_string).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(text("ring", 4), "0->1 1->2 2->3 3->0");
    assert_eq!(text("ring", 2), "0->1");
    assert_eq!(text("directed", 4), "0->1 0->2 0->3");
    assert_eq!(text("loop", 4), "0->1 1->2 1->3 2->0 3->0");
    assert_eq!(text("0-1,2->1", 3), "0->1 2->1");
    assert_eq!(text("random", 2), "0->1");
    assert_eq!(text("random", 1), "");
}

#[test]
fn the_origins_graph_has_the_origins_traits() {
    for nodes in [2u32, 3, 6, 8, 16, 64] {
        let graph = Topology::Origin.graph(nodes, SEED).unwrap();
        let pairs: BTreeSet<_> = graph.edges().iter().map(|edge| (edge.src.min(edge.dst), edge.src.max(edge.dst))).collect();
        assert_eq!(pairs.len(), graph.edges().len());
        assert!(out_degrees(&graph).iter().all(|degree| *degree <= 10));
    }
    // Up to six nodes it is a complete tournament in which the last node never sends.
    let six = Topology::Origin.graph(6, SEED).unwrap();
    assert_eq!(six.edges().len(), 15);
    assert_eq!(out_degrees(&six)[5], 0);
    let sixteen: usize = (0..200).map(|seed| Topology::Origin.graph(16, seed).unwrap().edges().len()).sum();
    assert!((86..=92).contains(&(sixteen / 200)), "{}", sixteen / 200);
}

#[test]
fn errors_name_the_item() {
    let parse = |text: &str| text.parse::<Topology>().unwrap_err().to_string();
    assert!(parse("0-1,1-x").starts_with("`1-x`"));
    assert!(parse("rang").starts_with("`rang`"));
    assert!(parse("").starts_with("``"));
    assert!(parse("3-3").starts_with("edge 3->3"));
    assert!(parse("0-1,1-0").starts_with("edge 1->0"));
    let graph = |text: &str, nodes| text.parse::<Topology>().unwrap().graph(nodes, 0).unwrap_err().to_string();
    assert!(graph("0-1,1-7", 3).starts_with("edge 1->7"));
    assert!(graph("0-1,2-3", 4).ends_with("with node 2"));
    assert!(graph("ring", 0).contains("at least one node"));
}
