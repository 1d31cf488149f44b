//! Stopping: quick, with everything told, and nobody left waiting.

use crate::network::{MS, Network, SECOND, complete};
use rankscope_clock::session::SessionSettings;

fn quiet(settings: &mut SessionSettings) {
    settings.budget_bits_per_s = 200_000;
}

fn run(seed: u64) -> Network {
    let mut network = Network::started(4, &complete(4), seed, quiet);
    network.run_for(10 * SECOND);
    network
}

#[test]
fn all_together_they_finish_the_round_in_progress() {
    let mut network = run(1);
    for node in [2, 0, 3, 1] {
        network.stop(node);
        network.run_for(MS);
    }
    let began_ns = network.now_ns;
    network.run_for(SECOND);
    for (node, host) in network.hosts.iter().enumerate() {
        assert!(host.stopped_at.unwrap() - began_ns <= 500 * MS, "node {node} took {} ns", host.stopped_at.unwrap() - began_ns);
        if node < 3 {
            let (_, last) = host.windows.last().unwrap();
            assert_eq!(last.round, Some(3), "node {node}");
        }
    }
    let (_, round, solution) = network.hosts[0].solved.last().unwrap();
    assert_eq!((*round, solution.nodes.len()), (3, 4), "the last round is solved with all of them");
}

#[test]
fn a_worker_that_stops_leaves_its_last_window_to_the_round() {
    let mut network = run(2);
    network.stop(1);
    network.run_for(6 * SECOND);
    assert!(network.hosts[1].stopped_at.unwrap() <= 10 * SECOND + 500 * MS);
    let (_, last) = network.hosts[1].windows.last().unwrap();
    assert_eq!(last.round, Some(3));
    let (_, round, solution) = network.hosts[0].solved.last().unwrap();
    assert_eq!((*round, solution.nodes.len()), (3, 4));
    assert_eq!(network.session(0).counters().rounds_incomplete, 0, "nobody waited for the one that left");
}

#[test]
fn a_master_that_stops_hands_over_at_once() {
    let mut network = run(3);
    network.stop(0);
    network.run_for(SECOND);
    assert!(network.hosts[0].stopped_at.unwrap() <= 10 * SECOND + 500 * MS);
    assert_eq!(network.masters(), [1]);
    network.run_for(9 * SECOND);
    for node in 1..4 {
        assert!(network.hosts[node].windows.iter().all(|(_, window)| window.round.is_some()), "node {node}");
    }
}

#[test]
fn a_node_that_nobody_answers_stops_in_time_all_the_same() {
    for node in 0..4 {
        let mut network = run(10 + node as u64);
        network.side = (0..4).map(|other| u32::from(other == node)).collect();
        network.stop(node);
        network.run_for(SECOND);
        let took_ns = network.hosts[node].stopped_at.unwrap() - 10 * SECOND;
        assert!(took_ns <= 500 * MS, "node {node} took {took_ns} ns");
    }
}

#[test]
fn stopping_before_anything_began_is_stopping() {
    let mut network = Network::new(2, &complete(2), 4, quiet);
    network.start(1);
    network.stop(1);
    network.run_for(SECOND);
    assert!(network.hosts[1].stopped_at.is_some());
    assert!(network.hosts[1].windows.is_empty(), "there was nothing to write");
}
