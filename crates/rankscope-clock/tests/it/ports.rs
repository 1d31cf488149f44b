//! Ports and keys of a probe graph: no two edge ends of a node share a port, and what is published is what is read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rankscope_clock::graph::{BusyPorts, EdgePorts, PortError, PortOptions, PortPlan, ProbeGraph, Topology, keys};
use rankscope_clock::{Edge, NodeId};

fn graph(topology: &str, nodes: u32) -> ProbeGraph {
    topology.parse::<Topology>().unwrap().graph(nodes, 12345).unwrap()
}

fn plan(graph: &ProbeGraph) -> PortPlan {
    PortPlan::new(graph, PortOptions::default(), &BusyPorts::new()).unwrap()
}

fn edge(src: u32, dst: u32) -> Edge {
    Edge { src: NodeId(src), dst: NodeId(dst) }
}

/// Ports in use, by node; panics where a node uses one twice.
fn ports_by_node(plan: &PortPlan) -> BTreeMap<NodeId, BTreeSet<u16>> {
    let mut used: BTreeMap<NodeId, BTreeSet<u16>> = BTreeMap::new();
    for (edge, ports) in plan.iter() {
        assert!(used.entry(edge.dst).or_default().insert(ports.listen), "{edge} listens on a used port");
        assert!(used.entry(edge.src).or_default().insert(ports.response), "{edge} hears answers on a used port");
    }
    used
}

#[test]
fn a_cycle_of_three_takes_the_origins_six_ports() {
    let plan = plan(&graph("ring", 3));
    let ports = |src, dst| plan.ports(edge(src, dst)).unwrap();
    assert_eq!(ports(0, 1), EdgePorts { listen: 20100, response: 20000 });
    assert_eq!(ports(1, 2), EdgePorts { listen: 20200, response: 20101 });
    assert_eq!(ports(2, 0), EdgePorts { listen: 20001, response: 20201 });
    assert_eq!(plan.ports(edge(0, 2)), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn busy_ports_move_only_who_sits_on_them(nodes in 2u32..40, picks in prop::collection::vec((0u32..40, 0u16..30), 1..20)) {
        let before = plan(&graph("random", nodes));
        let mut busy = BusyPorts::new();
        for (node, port) in picks {
            let node = node % nodes;
            busy.entry(NodeId(node)).or_default().insert(20_000 + 100 * node as u16 + port);
        }
        let after = before.avoiding(&busy).unwrap();
        for (node, ports) in ports_by_node(&after) {
            prop_assert!(busy.get(&node).is_none_or(|busy| busy.is_disjoint(&ports)));
        }
        let was_busy = |node: NodeId, port: u16| busy.get(&node).is_some_and(|busy| busy.contains(&port));
        for ((edge, old), (_, new)) in before.iter().zip(after.iter()) {
            prop_assert_eq!(old.listen != new.listen, was_busy(edge.dst, old.listen));
            prop_assert_eq!(old.response != new.response, was_busy(edge.src, old.response));
        }
        prop_assert_eq!(&before.avoiding(&busy).unwrap(), &after);
    }

    #[test]
    fn what_is_published_is_what_is_read(nodes in 2u32..40) {
        let graph = graph("random", nodes);
        let plan = plan(&graph);
        let written = keys::publish(&graph, &plan);
        prop_assert_eq!(written.last().unwrap(), &(keys::READY.to_owned(), nodes.to_string()));
        let store: BTreeMap<String, String> = written.into_iter().collect();
        for node in (0..nodes).map(NodeId) {
            let read = keys::read(node, |key| store.get(key).cloned()).unwrap();
            let expected = |of: fn(&Edge) -> NodeId| -> Vec<_> { plan.iter().filter(|(edge, _)| of(edge) == node).collect() };
            prop_assert_eq!(read.out, expected(|edge| edge.src));
            prop_assert_eq!(read.back, expected(|edge| edge.dst));
        }
    }

    #[test]
    fn any_value_is_read_or_refused(value in ".{0,40}") {
        let _ = keys::ports("k", &value);
        let _ = keys::nodes("k", &value);
    }
}

#[test]
fn a_refused_port_is_never_tried_again() {
    let mut plan = plan(&graph("directed", 2));
    for port in 20100..20110 {
        assert_eq!(plan.ports(edge(0, 1)).unwrap().listen, port);
        plan = plan.avoiding(&BusyPorts::from([(NodeId(1), BTreeSet::from([port]))])).unwrap();
    }
}

#[test]
fn keys_are_the_origins() {
    let graph = graph("directed", 3);
    let written = keys::publish(&graph, &plan(&graph));
    let text: Vec<String> = written.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(
        text,
        [
            "probe_edge:0->1=20100,20000",
            "probe_edge:0->2=20200,20001",
            "probe_neighbors:0=1,2",
            "backward_neighbors:0=",
            "probe_neighbors:1=",
            "backward_neighbors:1=0",
            "probe_neighbors:2=",
            "backward_neighbors:2=0",
            "probe_participants=0",
            "probe_graph_ready=3",
        ]
    );
}

#[test]
fn a_missing_or_broken_key_is_named() {
    let missing = keys::read(NodeId(4), |_| None).unwrap_err();
    assert_eq!(missing.to_string(), "key `probe_neighbors:4` is missing");
    let broken = keys::read(NodeId(4), |key| Some(if key.starts_with("probe_edge") { "80".into() } else { "1".to_owned() }));
    assert!(broken.unwrap_err().to_string().starts_with("key `probe_edge:4->1` holds `80`"));
}

#[test]
fn too_many_nodes_and_too_many_edges_are_errors() {
    let far = PortPlan::new(&graph("ring", 500), PortOptions::default(), &BusyPorts::new()).unwrap_err();
    assert!(matches!(far, PortError::PastLastPort { node: NodeId(456), start: 65_600 }), "{far}");
    assert!(far.to_string().contains("single-port mode"));
    let full = PortPlan::new(&graph("directed", 102), PortOptions::default(), &BusyPorts::new()).unwrap_err();
    assert!(matches!(full, PortError::BlockFull { node: NodeId(0), start: 20_000, per_node: 100 }), "{full}");
    // The last block ends at the last port, not past it.
    let options = PortOptions::new(65_500, 100);
    let full = PortPlan::new(&graph("directed", 38), options, &BusyPorts::new()).unwrap_err();
    assert!(matches!(full, PortError::PastLastPort { .. } | PortError::BlockFull { .. }), "{full}");
}
