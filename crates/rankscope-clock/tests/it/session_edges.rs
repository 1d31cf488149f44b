//! Edges of sessions on a simulated network: handshakes, pace, budget, losses.

use std::cell::RefCell;
use std::rc::Rc;

use crate::network::{MS, Network, SECOND, Weather, circle, complete, header};
use rankscope_clock::Edge;
use rankscope_clock::session::wire::{Kind, Reject};
use rankscope_clock::session::{EdgeState, Failure, Key};
use rankscope_clock::{MonotonicInstant, NodeId};
use rankscope_time::Span;

fn state(network: &Network, node: usize) -> EdgeState {
    let now = MonotonicInstant::from_nanos_since_epoch(network.now_ns);
    network.session(node).edges(now).next().expect("it has an edge").state
}

/// When, by whom, of what kind, and with what number.
type Log = Rc<RefCell<Vec<(i64, usize, Kind, u32)>>>;

/// Every packet that is sent from now on.
fn record(network: &mut Network) -> Log {
    let sent = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&sent);
    network.tap = Box::new(move |packet| {
        let header = header(&packet.bytes);
        log.borrow_mut().push((packet.at_ns, packet.from, header.kind, header.sequence));
        true
    });
    sent
}

#[test]
fn the_handshake_survives_every_loss_of_its_first_packets() {
    const FIRST: u32 = 8;
    for lost in 0..1u32 << FIRST {
        let mut network = Network::new(2, &complete(2), 1, |settings| settings.budget_bits_per_s = 50_000);
        let mut edge_packets = 0;
        network.tap = Box::new(move |packet| {
            if header(&packet.bytes).kind == Kind::Control {
                return true;
            }
            edge_packets += 1;
            edge_packets > FIRST || lost & 1 << (edge_packets - 1) == 0
        });
        network.start(0);
        network.start(1);
        network.run_for(13 * SECOND);
        assert!(matches!(state(&network, 1), EdgeState::Probing | EdgeState::Paused), "pattern {lost:08b}");
        assert_eq!(state(&network, 0), EdgeState::Answering, "pattern {lost:08b}");
        let records = network.hosts[1].windows.iter().flat_map(|(_, window)| &window.edges);
        assert!(records.map(|record| record.counts.complete).sum::<u32>() > 50, "pattern {lost:08b}");
    }
}

#[test]
fn a_late_peer_is_found_and_until_then_the_edge_says_why_it_fails() {
    let mut network = Network::new(2, &complete(2), 2, |_| {});
    let prober = 1;
    network.start(prober);
    network.run_for(29 * SECOND);
    assert_eq!(state(&network, prober), EdgeState::SynSent);
    network.run_for(2 * SECOND);
    assert_eq!(state(&network, prober), EdgeState::Failed(Failure::NoAnswer));
    network.run_for(100 * SECOND);
    network.start(0);
    network.run_for(3 * SECOND);
    assert!(matches!(state(&network, prober), EdgeState::Probing | EdgeState::Paused));
}

#[test]
fn a_wrong_secret_is_named_as_the_reason() {
    let mut network = Network::new(2, &complete(2), 3, |settings| {
        if settings.node == NodeId(0) {
            settings.key = Key::derive(b"a typing error");
        }
    });
    network.start(0);
    network.start(1);
    network.run_for(4 * SECOND);
    assert_eq!(state(&network, 0), EdgeState::Listening);
    assert!(network.session(0).counters().rejected(Reject::Mac) > 5);
    // The prober hears nothing on the edge, for nobody answers what cannot be read.
    network.run_for(30 * SECOND);
    assert_eq!(state(&network, 1), EdgeState::Failed(Failure::NoAnswer));
}

#[test]
fn a_restarted_end_is_met_again_and_loses_one_window_at_most() {
    for victim in 0..2 {
        let mut network = Network::started(2, &complete(2), 4, |settings| settings.budget_bits_per_s = 200_000);
        network.run_for(9 * SECOND);
        network.kill(victim);
        network.run_for(2 * SECOND);
        network.start(victim);
        network.run_for(20 * SECOND);
        let windows = &network.hosts[1].windows;
        let fitted = windows.iter().filter(|(_, window)| window.edges[0].fits[0].is_ok()).count();
        assert!(fitted + 1 >= windows.len(), "victim {victim}: {fitted} of {} windows", windows.len());
    }
}

#[test]
fn no_line_holds_packets_of_two_processes() {
    for into_window_ms in [500, 1_900, 3_000] {
        let mut network = Network::started(2, &complete(2), 11, |settings| settings.budget_bits_per_s = 200_000);
        network.run_for(8 * SECOND + into_window_ms * MS);
        network.kill(0);
        network.start(0);
        let (restarted_ns, restarted) = (network.now_ns, network.now(1).host);
        network.run_for(12 * SECOND);
        let after = network.hosts[1].windows.iter().filter(|(at, _)| *at > restarted_ns);
        let fits: Vec<_> = after.flat_map(|(_, window)| window.edges[0].fits.iter().flatten()).collect();
        assert!(fits.len() >= 2 && fits.iter().all(|fit| fit.start > restarted), "{fits:?}");
    }
}

#[test]
fn cadence_and_spacing_are_what_is_configured() {
    let nanos = Span::from_nanos;
    for (cadence_us, spacing_us, budget) in [(800, 100, 1_000_000), (400, 50, 0), (2000, 200, 300_000)] {
        let mut network = Network::started(2, &complete(2), 5, |settings| {
            settings.cadence = nanos(cadence_us * 1000);
            settings.spacing = nanos(spacing_us * 1000);
            settings.budget_bits_per_s = budget;
        });
        // Until the grid is on the reference's clock.
        network.run_for(9 * SECOND);
        network.wake_late_ns = 5_000;
        let sent = record(&mut network);
        network.run_for(20 * SECOND);
        let times = |kind: Kind| -> Vec<(u32, i64)> {
            sent.borrow().iter().filter(|(_, _, sent, _)| *sent == kind).map(|(at, _, _, number)| (*number, *at)).collect()
        };
        let [pt1, pt2, pr1, pr2] = [Kind::Pt1, Kind::Pt2, Kind::Pr1, Kind::Pr2].map(times);
        let mean = |steps: Vec<i64>| steps.iter().sum::<i64>() as f64 / steps.len() as f64;
        let near = |mean_ns: f64, wanted_us: i64| (mean_ns / 1e3 / wanted_us as f64 - 1.0).abs();
        for (first, second) in [(&pt1, &pt2), (&pr1, &pr2)] {
            let begun = |number: u32| first.iter().find(|(of, _)| *of == number).map(|(_, at)| *at);
            let spacing_ns = mean(second.iter().take(2000).filter_map(|(number, at)| Some(at - begun(*number)?)).collect());
            // 5 µs of it are the driver's, which this test makes late on purpose.
            assert!(near(spacing_ns - 5_000.0, spacing_us) < 0.01, "spacing {spacing_ns} ns for {spacing_us} µs");
        }
        let in_train =
            pt1.windows(2).filter(|pair| pair[1].1 - pair[0].1 < cadence_us * 1300).map(|pair| pair[1].1 - pair[0].1);
        let cadence_ns = mean(in_train.collect());
        assert!(near(cadence_ns, cadence_us) < 0.01, "cadence {cadence_ns} ns for {cadence_us} µs");
        if budget == 0 {
            let [first, last] = [pt1[0].1, pt1[pt1.len() - 1].1].map(|at| network.shown(0, at));
            let drift_ns = last - first - (pt1.len() as i64 - 1) * cadence_us * 1000;
            assert!(drift_ns.abs() < 2 * cadence_us * 100, "{drift_ns} ns off after {} exchanges", pt1.len());
        }
    }
}

#[test]
fn the_budget_is_kept_by_every_node() {
    for (nodes, edges) in [(2, complete(2)), (8, complete(8)), (64, circle(64, 7))] {
        let mut network = Network::started(nodes, &edges, 6, |settings| settings.budget_bits_per_s = 1_000_000);
        network.weather.control_loss = 0.05;
        network.keep_history = false;
        let seconds = if nodes == 64 { 13 } else { 25 };
        network.run_for(seconds * SECOND);
        let rates: Vec<f64> =
            (0..nodes as usize).map(|node| network.session(node).counters().bits_sent as f64 / seconds as f64).collect();
        let busiest = rates.iter().copied().fold(0.0, f64::max);
        assert!(busiest <= 1_000_000.0, "{nodes} nodes: {busiest} bit/s");
        assert!(busiest >= 700_000.0, "{nodes} nodes leave most of their budget unused: {busiest} bit/s");
    }
}

#[test]
fn a_driver_that_sleeps_makes_no_burst() {
    let mut network = Network::started(2, &complete(2), 7, |settings| settings.budget_bits_per_s = 0);
    network.run_for(SECOND);
    let sent = record(&mut network);
    network.wake_late_ns = 50 * MS;
    network.run_for(2 * SECOND);
    network.wake_late_ns = 0;
    network.run_for(SECOND);
    let times: Vec<i64> = sent.borrow().iter().filter(|(_, _, kind, _)| *kind == Kind::Pt1).map(|(at, ..)| *at).collect();
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] > 600_000, "two exchanges within {} ns", pair[1] - pair[0]);
    }
}

#[test]
fn losses_are_counted_in_the_direction_they_happened() {
    let edges = [Edge { src: NodeId(0), dst: NodeId(1) }];
    let mut network = Network::started(2, &edges, 8, |settings| settings.budget_bits_per_s = 1_000_000);
    network.run_for(SECOND);
    let (mut number, lost) = (0, Rc::new(RefCell::new([0u32; 2])));
    let log = Rc::clone(&lost);
    network.tap = Box::new(move |packet| {
        let kind = header(&packet.bytes).kind;
        number += 1;
        let drop = match kind {
            Kind::Pt1 | Kind::Pt2 => number % 20 == 0,
            Kind::Pr1 | Kind::Pr2 => number % 10 == 0,
            _ => false,
        };
        log.borrow_mut()[usize::from(!kind.is_for_listener())] += u32::from(drop);
        !drop
    });
    network.run_for(20 * SECOND);
    let counts = network.hosts[0].windows.iter().map(|(_, window)| window.edges[0].counts);
    let sums = counts.fold([0; 2], |[forward, reverse], counts| [forward + counts.lost_forward, reverse + counts.lost_reverse]);
    let lost = *lost.borrow();
    for (direction, (counted, true_count)) in sums.iter().zip(lost).enumerate() {
        // What was lost since the last window closed is not counted yet.
        let open = true_count / 15;
        assert!((true_count - open..=true_count + 3).contains(counted), "direction {direction}: {counted} of {true_count}");
    }
}

#[test]
fn doubles_disorder_and_missing_stamps_are_counted_and_harmless() {
    let edges = [Edge { src: NodeId(0), dst: NodeId(1) }];
    let mut network = Network::started(2, &edges, 9, |settings| settings.budget_bits_per_s = 1_000_000);
    network.weather = Weather { duplicates: 0.02, reordering: 0.05, stamp_loss: 0.03, ..Weather::default() };
    network.run_for(21 * SECOND);
    for (_, window) in &network.hosts[0].windows[1..] {
        let counts = window.edges[0].counts;
        let exchanges = 4.0 * 650.0;
        let near = |count: u32, expected: f64| (f64::from(count) / expected - 1.0).abs() < 0.35;
        assert!(near(counts.duplicated, 0.02 * 4.0 * exchanges), "{counts:?}");
        assert!(counts.reordered > 50, "{counts:?}");
        assert!(near(counts.unstamped, 0.03 * 2.0 * exchanges), "{counts:?}");
        assert!(counts.lost_forward <= 5 && counts.lost_reverse <= 5, "{counts:?}");
        assert!(f64::from(counts.complete) > 0.7 * exchanges, "{counts:?}");
    }
}

#[test]
fn at_defaults_nearly_every_exchange_is_complete() {
    let edges = [Edge { src: NodeId(0), dst: NodeId(1) }];
    let mut network = Network::started(2, &edges, 10, |_| {});
    let sent = record(&mut network);
    network.run_for(13 * SECOND);
    let started = sent.borrow().iter().filter(|(at, _, kind, _)| *kind == Kind::Pt1 && *at < 12 * SECOND).count() as u32;
    let complete: u32 = network.hosts[0].windows.iter().map(|(_, window)| window.edges[0].counts.complete).sum();
    assert!(started - complete <= 16, "{complete} of {started}");
}

/// By their budgets edges have eleven exchanges a window here, and few are lost: less than is asked of those that have more.
#[test]
fn nodes_whose_edges_are_slow_are_told_their_clocks() {
    let mut network = Network::started(6, &complete(6), 9, |settings| {
        (settings.train, settings.budget_bits_per_s) = (1, 43_000);
        (settings.fit, settings.solve) = (rankscope_clock::fit::fit_window, rankscope_clock::nodes::solve);
    });
    network.weather.probe_loss = 0.02;
    network.run_for(41 * SECOND);
    let most = network.hosts.iter().flat_map(|host| &host.windows).flat_map(|(_, window)| &window.edges);
    let most = most.map(|record| record.counts.complete).max().expect("there are edges");
    assert!((8..13).contains(&most), "{most} exchanges of a window");
    for node in 0..6 {
        let told = network.hosts[node].clocks.len();
        assert!(told >= 8, "node {node} was told its clock {told} times in ten rounds");
    }
}
