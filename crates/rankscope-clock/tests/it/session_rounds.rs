//! Rounds among sessions on a simulated network: bad weather, dead nodes, partitions.

use std::collections::{BTreeMap, BTreeSet};

use crate::network::{MS, Network, SECOND, Weather, circle, complete};
use rankscope_clock::nodes::{Solution, SolveOptions};
use rankscope_clock::session::SessionSettings;
use rankscope_clock::{Edge, NodeId, NodeWindow};

/// Less traffic than by default: rounds are the subject.
fn quiet(settings: &mut SessionSettings) {
    settings.budget_bits_per_s = 120_000;
}

const WINDOW: i64 = 4 * SECOND;

/// Every round number at most once per node, and never a gap of more than `longest` between two windows from `from` on.
fn assert_windows(network: &Network, node: usize, from_ns: i64, longest_ns: i64) {
    let windows = &network.hosts[node].windows;
    let mut rounds = BTreeSet::new();
    for round in windows.iter().filter_map(|(_, window)| window.round) {
        assert!(rounds.insert(round), "node {node} closed round {round} twice");
    }
    let times: Vec<i64> = windows.iter().map(|(at, _)| *at).filter(|at| *at >= from_ns).chain([network.now_ns]).collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] <= longest_ns, "node {node} closed no window from {} to {} ns", pair[0], pair[1]);
    }
}

/// The bounds of every fitted window contain the truth, to within what the plain test estimator cannot know.
fn assert_truth(network: &mut Network) -> usize {
    let records: Vec<_> =
        network.hosts.iter().flat_map(|host| host.windows.iter().flat_map(|(_, window)| window.edges.clone())).collect();
    let mut checked = 0;
    for record in &records {
        for fit in record.fits.iter().flatten() {
            let truth_ns = network.difference(record.edge.src.0 as usize, record.edge.dst.0 as usize, fit.mid);
            let (lo, hi) = (fit.bound.lo.as_nanos(), fit.bound.hi.as_nanos());
            assert!(lo - 200 <= truth_ns && truth_ns <= hi + 200, "{}: {truth_ns} not in {lo} … {hi}", record.edge);
            checked += 1;
        }
    }
    checked
}

/// Rounds in which a node learned its clock.
fn told(network: &Network, node: usize) -> Vec<u64> {
    network.hosts[node].clocks.iter().map(|(_, round, _)| *round).collect()
}

#[test]
fn two_nodes_close_rounds_together_and_both_learn_their_clocks() {
    let mut network = Network::started(2, &complete(2), 1, quiet);
    network.run_for(10 * WINDOW + SECOND);
    assert_eq!(network.masters(), [0]);
    for node in 0..2 {
        assert_eq!(told(&network, node), (1..=10).collect::<Vec<_>>());
        assert_windows(&network, node, 0, WINDOW + 100 * MS);
    }
    assert_eq!(assert_truth(&mut network), 10);
    assert!(network.hosts[1].solved.is_empty());
}

#[test]
fn rounds_end_on_an_absolute_grid() {
    let mut network = Network::started(4, &complete(4), 2, quiet);
    network.weather.control_loss = 0.3;
    network.run_for(20 * WINDOW + SECOND);
    let ends: Vec<i64> = network.hosts[0].windows.iter().map(|(at, _)| *at).collect();
    assert_eq!(ends.len(), 20);
    for (i, at) in ends.iter().enumerate() {
        assert!((at - (i as i64 + 1) * WINDOW).abs() < MS, "round {i} ended at {at} ns");
    }
}

#[test]
fn eight_nodes_in_bad_weather_lose_no_round() {
    let mut network = Network::started(8, &circle(8, 3), 3, quiet);
    network.weather = Weather { probe_loss: 0.1, control_loss: 0.3, duplicates: 0.01, reordering: 0.05, stamp_loss: 0.02 };
    network.run_for(50 * WINDOW + 3 * SECOND);
    assert_eq!(network.masters(), [0]);
    for node in 0..8 {
        assert_windows(&network, node, 0, WINDOW * 3 / 2 + 10 * MS);
        assert!(told(&network, node).len() >= 49, "node {node} was told {} of 50 rounds", told(&network, node).len());
    }
    assert!(assert_truth(&mut network) > 8 * 3 * 45);
    let counters = network.session(0).counters();
    assert_eq!((counters.rounds_solved, counters.rounds_incomplete), (50, 0));
}

#[test]
fn a_killed_worker_costs_the_others_nothing() {
    let mut network = Network::started(4, &complete(4), 4, quiet);
    network.run_for(3 * WINDOW + SECOND);
    network.kill(2);
    network.run_for(5 * WINDOW);
    for node in [0, 1, 3] {
        assert_eq!(told(&network, node), (1..=8).collect::<Vec<_>>());
        assert_windows(&network, node, 0, WINDOW + 100 * MS);
    }
    // It waited for the dead one at most twice: a window has to pass before silence is death.
    assert!(network.session(0).counters().rounds_incomplete <= 2);
    network.start(2);
    network.run_for(4 * WINDOW);
    assert!(told(&network, 2).ends_with(&[10, 11, 12]), "{:?}", told(&network, 2));
    assert_eq!(network.masters(), [0]);
}

/// A solver that, without the reference, knows nothing but what it is reminded of.
fn hangs_on_before(windows: &[NodeWindow], before: Option<&Solution>, options: &SolveOptions) -> Solution {
    if windows.iter().any(|window| window.node == options.reference) {
        return crate::network::estimate::solve(windows, before, options);
    }
    before.cloned().unwrap_or_default()
}

#[test]
fn a_new_master_goes_on_from_where_it_was_told_to_stand() {
    let mut network = Network::started(3, &complete(3), 5, |settings| {
        quiet(settings);
        settings.solve = hangs_on_before;
    });
    network.run_for(3 * WINDOW);
    network.kill(0);
    network.run_for(5 * WINDOW);
    let (.., last) = network.hosts[1].solved.last().unwrap();
    assert_eq!(last.nodes.iter().map(|placed| placed.node).collect::<Vec<_>>(), [NodeId(1)]);
}

#[test]
fn a_killed_master_is_succeeded_by_the_lowest_and_no_one_stalls() {
    let mut network = Network::started(6, &circle(6, 2), 5, quiet);
    network.run_for(3 * WINDOW + SECOND);
    network.kill(0);
    network.run_for(6 * WINDOW);
    assert_eq!(network.masters(), [1]);
    for node in 1..6 {
        assert_windows(&network, node, 0, WINDOW * 3 / 2 + 200 * MS);
        let rounds: Vec<u64> = network.hosts[node].windows.iter().filter_map(|(_, window)| window.round).collect();
        let without = network.hosts[node].windows.len() - rounds.len();
        assert!(without <= 1, "node {node} closed {without} windows on its own");
        assert_eq!(rounds[..3], [1, 2, 3]);
        assert_eq!(rounds[3] >> 24, 1, "the successor numbers its own rounds");
    }
    // The old master comes back, and follows.
    network.start(0);
    network.run_for(3 * WINDOW);
    assert_eq!(network.masters(), [1]);
    assert!(network.hosts[0].windows.last().unwrap().1.round.unwrap() >> 24 == 1);
}

#[test]
fn a_master_that_restarts_at_once_takes_a_term_that_was_never_used() {
    let mut network = Network::started(3, &complete(3), 6, quiet);
    network.run_for(3 * WINDOW + SECOND);
    network.kill(0);
    network.run_for(100 * MS);
    network.start(0);
    network.run_for(5 * WINDOW);
    assert_eq!(network.masters(), [0]);
    for node in 1..3 {
        assert_windows(&network, node, 0, WINDOW * 3 / 2 + 200 * MS);
        let last = network.hosts[node].windows.last().unwrap().1.round.unwrap();
        assert_eq!(last >> 24, 3, "node {node} closed round {last}");
    }
}

#[test]
fn a_partition_has_a_master_on_each_side_and_afterwards_one() {
    for seed in 0..8 {
        let mut network = Network::started(6, &complete(6), 100 + seed, quiet);
        network.weather.control_loss = 0.1;
        network.run_for(3 * WINDOW + seed as i64 * 777 * MS);
        network.side = vec![0, 0, 0, 1, 1, 1];
        network.run_for(10 * SECOND);
        // Which one of the far side depends on the last of the master's words that each of them heard.
        let masters = network.masters();
        assert!(masters.len() == 2 && masters[0] == 0 && masters[1] >= 3, "seed {seed}: {masters:?}");
        network.side = vec![0; 6];
        network.run_for(5 * WINDOW);
        assert_eq!(network.masters().len(), 1, "seed {seed}");
        let mut rounds: BTreeMap<u64, Vec<i64>> = BTreeMap::new();
        for node in 0..6 {
            assert_windows(&network, node, 0, WINDOW * 3 / 2 + 200 * MS);
            let on_its_own = network.hosts[node].windows.iter().filter(|(_, window)| window.round.is_none()).count();
            assert!(on_its_own <= 1, "seed {seed}: node {node} closed {on_its_own} windows on its own");
            for (at, window) in &network.hosts[node].windows {
                rounds.entry(window.round.unwrap_or(u64::MAX - node as u64)).or_default().push(*at);
            }
        }
        for (round, times) in rounds.iter().filter(|(round, _)| **round < 1 << 56) {
            let spread = times.iter().max().unwrap() - times.iter().min().unwrap();
            assert!(spread < 2 * SECOND, "seed {seed}: round {round} names windows {spread} ns apart");
        }
    }
}

#[test]
fn any_node_may_die_at_any_time_and_come_back() {
    for seed in 0..12 {
        let mut network = Network::started(4, &complete(4), 200 + seed, quiet);
        network.weather.control_loss = 0.3;
        network.run_for(2 * WINDOW + seed as i64 * 613 * MS);
        let victim = seed as usize % 4;
        network.kill(victim);
        network.run_for(3 * SECOND + seed as i64 * 1_100 * MS);
        network.start(victim);
        network.run_for(5 * WINDOW);
        assert_eq!(network.masters().len(), 1, "seed {seed}");
        for node in (0..4).filter(|node| *node != victim) {
            assert_windows(&network, node, 0, WINDOW * 3 / 2 + 200 * MS);
            let on_its_own = network.hosts[node].windows.iter().filter(|(_, window)| window.round.is_none()).count();
            assert!(on_its_own <= 1, "seed {seed}: node {node} closed {on_its_own} windows on its own");
        }
        let after = network.hosts[victim].windows.last().unwrap().1.edges.iter().filter(|edge| edge.fits[0].is_ok()).count();
        let edges: Vec<Edge> = complete(4).into_iter().filter(|edge| edge.src.0 as usize == victim).collect();
        assert_eq!(after, edges.len(), "seed {seed}: the restarted node measures all its edges again");
    }
}

#[test]
fn without_a_first_master_the_next_one_begins() {
    let mut network = Network::new(3, &complete(3), 7, quiet);
    network.start(1);
    network.start(2);
    network.run_for(4 * WINDOW);
    assert_eq!(network.masters(), [1]);
    network.start(0);
    network.run_for(2 * WINDOW);
    assert_eq!(network.masters(), [1]);
    assert!(!told(&network, 0).is_empty() || !told(&network, 2).is_empty());
    assert!(network.hosts[0].windows.last().unwrap().1.round.is_some());
}

/// Of so many nodes a master speaks four times in a window. Nodes without edges send nothing else.
#[test]
fn among_many_nodes_a_dead_master_is_missed_in_time_and_a_living_one_in_rain_is_not() {
    let mut network = Network::started(256, &[], 8, |_| {});
    network.weather.control_loss = 0.3;
    network.run_for(20 * WINDOW);
    assert_eq!(network.masters(), [0]);
    let elections: u64 = (0..256).map(|node| network.session(node).counters().elections).sum();
    assert_eq!(elections, 1, "nobody took a living master for dead");
    for seed in 0..8 {
        let mut network = Network::started(256, &[], 20 + seed, |_| {});
        network.weather.control_loss = 0.1;
        network.run_for(3 * WINDOW + seed as i64 * 499 * MS);
        network.kill(0);
        // The patience, and the head start of nodes that might come first.
        network.run_for(WINDOW + WINDOW / 8);
        // Who it is depends on the last word that each of them heard.
        assert_eq!(network.masters().len(), 1, "seed {seed}");
    }
}

#[test]
fn a_node_that_was_stopped_does_not_take_over_when_it_goes_on() {
    for seed in 0..6 {
        let mut network = Network::started(4, &complete(4), 40 + seed, quiet);
        network.run_for(3 * WINDOW + seed as i64 * 700 * MS);
        let stopped = 1 + seed as usize % 3;
        network.pause(stopped);
        network.run_for(3 * WINDOW + seed as i64 * 300 * MS);
        network.resume(stopped);
        network.run_for(2 * WINDOW);
        assert_eq!(network.masters(), [0], "seed {seed}");
        assert_eq!(network.session(stopped).counters().elections, 0, "seed {seed}: its master lived all the time");
        assert!(told(&network, stopped).len() >= 4, "seed {seed}: {:?}", told(&network, stopped));
        // Where it is dead, that is found out.
        network.pause(stopped);
        network.run_for(SECOND);
        network.kill(0);
        network.run_for(2 * WINDOW);
        network.resume(stopped);
        network.run_for(2 * WINDOW);
        assert_eq!(network.masters().len(), 1, "seed {seed}");
    }
}

#[test]
fn a_node_that_was_stopped_overslept_once_however_much_came_meanwhile() {
    let mut network = Network::started(2, &complete(2), 7, quiet);
    network.run_for(3 * WINDOW);
    network.pause(1);
    network.run_for(SECOND);
    network.kill(0);
    network.run_for(3 * WINDOW);
    network.resume(1);
    network.run_for(2 * WINDOW);
    assert_eq!(network.masters(), [1], "its master died meanwhile, and is not waited for once more for every packet of it");
}

/// A new master was told of itself alone; what its followers were told is worth as much.
#[test]
fn a_new_master_knows_what_all_nodes_were_told() {
    fn knows(windows: &[NodeWindow], before: Option<&Solution>, options: &SolveOptions) -> Solution {
        if windows.iter().any(|window| window.node == options.reference) {
            return crate::network::estimate::solve(windows, before, options);
        }
        let known = before.into_iter().flat_map(|before| before.nodes.iter().chain(&before.earlier));
        Solution { earlier: known.copied().collect(), ..Solution::default() }
    }
    let mut network = Network::started(4, &complete(4), 5, |settings| {
        quiet(settings);
        settings.solve = knows;
    });
    network.run_for(3 * WINDOW + SECOND);
    network.kill(0);
    network.run_for(4 * WINDOW);
    assert_eq!(network.masters(), [1]);
    for (_, round, solution) in &network.hosts[1].solved {
        let known: BTreeSet<NodeId> = solution.earlier.iter().map(|known| known.node).collect();
        assert_eq!(known, BTreeSet::from([1, 2, 3].map(NodeId)), "round {round:#x}");
        assert_eq!(solution.earlier.len(), 3, "round {round:#x}: each once, however often it is told");
    }
    assert!(network.hosts[1].solved.len() >= 2);
}
