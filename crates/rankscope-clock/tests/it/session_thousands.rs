//! A job of hundreds of nodes that come one after the other, as a slow store lets them, and of which some die and come back.
//!
//! `CLOCK_NODES=1000 cargo test --package rankscope-clock --test it thousands -- --nocapture` prints what node 0 has to do for a thousand, which
//! takes a minute of a processor. Above a thousand there are few probes, and ten thousand nodes take five minutes of it and 1.7 GB.

#![expect(clippy::print_stdout, reason = "the figures")]

use std::cell::Cell;
use std::rc::Rc;

use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::NodeEstimate;
use rankscope_clock::session::{Packet, SessionSettings};
use rankscope_clock::{Edge, fit, nodes};

use crate::network::{MS, Network, SECOND};

const WINDOW: i64 = 4 * SECOND;

/// When the last node has come, the first ones die, these come back, and it is over.
const COME: i64 = 3 * WINDOW;
const DIE: i64 = 4 * WINDOW;
const RETURN: i64 = 6 * WINDOW;
const END: i64 = 9 * WINDOW;

/// How many nodes somebody wants.
fn wanted() -> Option<u32> {
    std::env::var("CLOCK_NODES").ok()?.parse().ok()
}

/// Less than by default: how many nodes there are is the subject, and not how many probes. What there are is spread over the window all the
/// same, because an edge guarantees nothing beyond its first and last exchange.
fn lean(settings: &mut SessionSettings) {
    (settings.budget_bits_per_s, settings.train) = (200_000, 2);
}

/// Least: about eight exchanges of an edge in a window, two by two.
fn leanest(settings: &mut SessionSettings) {
    let edges = settings.edges.len() as u64;
    (settings.budget_bits_per_s, settings.train) = (13_000 * edges, 2);
    settings.fit_options = settings.fit_options.with_exchanges_min(5);
}

/// Nodes in the default graph, all off.
fn network(count: u32, change: impl Fn(&mut SessionSettings)) -> Network {
    let graph = Topology::default().graph(count, 12_345).expect("there is one for every number");
    let mut of_node = vec![Vec::new(); count as usize];
    for edge in graph.edges() {
        of_node[edge.src.0 as usize].push(*edge);
        of_node[edge.dst.0 as usize].push(*edge);
    }
    Network::new(count, &[], 5, |settings| {
        let edges: &Vec<Edge> = &of_node[settings.node.0 as usize];
        settings.edges.clone_from(edges);
        settings.budget_bits_per_s = SessionSettings::budget_for(edges.len() as u64);
        settings.fit = fit::fit_window;
        settings.solve = nodes::solve;
        change(settings);
    })
}

/// When `node` has found the others.
fn comes_at(node: u32, count: u32) -> i64 {
    COME * i64::from(node) / i64::from(count)
}

fn dies(node: u32) -> bool {
    node % 50 == 7
}

/// Lets everything happen that is to happen.
fn play(network: &mut Network, count: u32) {
    let coming = (0..count).map(|node| (comes_at(node, count), node, true));
    let dying = (0..count).filter(|node| dies(*node)).flat_map(|node| [(DIE, node, false), (RETURN, node, true)]);
    let mut events: Vec<_> = coming.chain(dying).collect();
    events.sort_unstable();
    for (at, node, starts) in events {
        network.run_for(at - network.now_ns);
        if starts { network.start(node as usize) } else { network.kill(node as usize) }
    }
    network.run_for(END - network.now_ns);
}

/// By how much the truth lies outside of what `estimate` guarantees.
fn outside(network: &mut Network, estimate: &NodeEstimate) -> i64 {
    let truth = -network.difference(estimate.node.0 as usize, 0, estimate.at);
    let (lo, hi) = (estimate.bound.lo.as_nanos(), estimate.bound.hi.as_nanos());
    (lo - truth).max(truth - hi).max(0)
}

#[test]
fn thousands_may_come_as_they_find_each_other_die_and_return() {
    let begun = std::time::Instant::now();
    let (count, mut network) = match wanted() {
        Some(count) if count > 1000 => (count, network(count, leanest)),
        Some(count) => (count, network(count, |_| {})),
        None => (200, network(200, lean)),
    };
    network.keep_windows = false;
    network.busy.insert(0, std::time::Duration::ZERO);
    // Control packets of node 0, and their bytes.
    let control = Rc::new(Cell::new((0, 0)));
    let counted = Rc::clone(&control);
    network.tap = Box::new(move |sent| {
        if let (0, Packet::Control(bytes)) = (sent.from, &sent.bytes) {
            let (packets, all) = counted.get();
            counted.set((packets + 1, all + bytes.len()));
        }
        true
    });
    play(&mut network, count);
    assert_eq!(network.masters(), [0]);
    let (mut checked, mut slowest) = (0, 0);
    for node in 0..count {
        let told = network.hosts[node as usize].clocks.clone();
        // Until all have come, whom a node probes may be still to come.
        let since = if dies(node) { RETURN } else { COME };
        let first = told.iter().map(|(at, ..)| *at).find(|at| *at >= since);
        slowest = slowest.max(first.unwrap_or(i64::MAX) - since);
        // A round, and what is left of the one in which it came.
        assert!(
            first.is_some_and(|at| at - since <= 2 * WINDOW + WINDOW / 2 + 100 * MS),
            "node {node} came at {since} ns: {first:?}"
        );
        let last = told.last().map_or(0, |(_, round, _)| *round);
        assert!(last >= 7, "node {node} was told of round {last} last");
        for (_, round, estimate) in told.iter().filter(|(_, _, estimate)| !estimate.degraded) {
            assert_eq!(outside(&mut network, estimate), 0, "node {node} in round {round}");
            checked += 1;
        }
    }
    assert!(checked as u32 >= 5 * count, "{checked} guarantees");
    let seconds = END as f64 / SECOND as f64;
    println!(
        "{count} nodes: a clock {:.1} s later at most, node 0 sends {:.0} control packets a second, {:.2} Mbit/s, and takes {:.1} % \
         of this processor; {checked} guarantees hold; simulated in {:.0} s",
        slowest as f64 / SECOND as f64,
        control.get().0 as f64 / seconds,
        control.get().1 as f64 * 8.0 / seconds / 1e6,
        network.busy[&0].as_secs_f64() / seconds * 100.0,
        begun.elapsed().as_secs_f64()
    );
    // In each round every node is told that it ends, that its report is here, and its clock; between rounds, that node 0 lives.
    assert!(control.get().0 <= 14 * u64::from(count) * (END / WINDOW) as u64, "{}", control.get().0);
    assert_eq!(network.session(0).counters().elections, 1);
}
