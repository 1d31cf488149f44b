//! Edges and nodes in step, so that a node wakes once for all that it has to send.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rankscope_clock::Edge;
use rankscope_clock::NodeId;
use rankscope_clock::session::wire::Kind;

use crate::network::{MS, Network, SECOND, complete, header};

const NODES: u32 = 8;

/// When each edge begins an exchange.
fn begun_in(network: &mut Network, span_ns: i64) -> BTreeMap<Edge, BTreeSet<i64>> {
    let begun = Rc::new(RefCell::new(BTreeMap::<Edge, BTreeSet<i64>>::new()));
    let log = Rc::clone(&begun);
    network.tap = Box::new(move |packet| {
        let header = header(&packet.bytes);
        if header.kind == Kind::Pt1 {
            log.borrow_mut().entry(header.edge).or_default().insert(packet.at_ns);
        }
        true
    });
    network.run_for(span_ns);
    network.tap = Box::new(|_| true);
    begun.take()
}

/// The first exchanges of trains.
fn trains(begun: &BTreeSet<i64>) -> Vec<i64> {
    let after_rest = begun.iter().zip(begun.iter().skip(1)).filter(|(before, at)| *at - *before > 5 * MS);
    after_rest.map(|(_, at)| *at).collect()
}

fn network(change: impl Fn(&mut rankscope_clock::session::SessionSettings)) -> Network {
    Network::started(NODES, &complete(NODES), 3, |settings| {
        settings.seed = u64::from(settings.node.0);
        change(settings);
    })
}

#[test]
fn a_node_probes_all_its_edges_at_one_instant_and_with_all_others() {
    let mut network = network(|_| {});
    network.run_for(10 * SECOND);
    let begun = begun_in(&mut network, 8 * SECOND);
    assert_eq!(begun.len(), complete(NODES).len());
    let of_node = |node| -> Vec<&BTreeSet<i64>> {
        begun.iter().filter(|(edge, _)| edge.src == NodeId(node)).map(|(_, times)| times).collect()
    };
    for node in 0..NODES {
        let edges = of_node(node);
        assert!(edges.len() > 1 && edges.iter().all(|times| **times == *edges[0]), "node {node}");
    }
    let first = trains(of_node(0)[0]);
    assert!(first.len() > 10, "{first:?}");
    for node in 1..NODES {
        let own = trains(of_node(node)[0]);
        for train in &first[1..first.len() - 1] {
            // A cadence apart by their places, a tenth of one by jitter of each, and by what clocks gain until the next round.
            let near = own.iter().any(|at| (at - train).abs() < MS + 200_000);
            assert!(near, "node {node} has no train at {train}: {own:?}");
        }
    }
}

#[test]
fn an_edge_to_a_poor_node_goes_along_with_some_trains() {
    let poor = NodeId(5);
    let mut network = network(|settings| {
        if settings.node == poor {
            settings.budget_bits_per_s /= 3;
        }
    });
    network.run_for(10 * SECOND);
    let begun = begun_in(&mut network, 20 * SECOND);
    for (edge, times) in begun.iter().filter(|(edge, _)| edge.dst == poor) {
        let beside = begun.iter().find(|(other, _)| other.src == edge.src && other.dst != poor).map(|(_, times)| times);
        let beside = beside.expect("it has another edge");
        assert!(times.is_subset(beside), "{edge} has instants of its own");
        let (few, many) = (trains(times).len() as f64, trains(beside).len() as f64);
        assert!((0.25..0.4).contains(&(few / many)), "{edge}: {few} trains of {many}");
    }
}
