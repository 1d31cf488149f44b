//! Edges between nodes that datagrams do not reach: what carries them, and that it is said.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::network::{Network, SECOND, Weather, circle, complete};
use rankscope_clock::fit::fit_window;
use rankscope_clock::session::wire::Reject;
use rankscope_clock::session::{EdgeState, SessionSettings, Transports};
use rankscope_clock::{Edge, EdgeRecord, MonotonicInstant, NodeId, Transport};
use rankscope_time::Span;

const HANDSHAKE: i64 = 5 * SECOND;

/// Streams are allowed, and tried soon.
fn either(settings: &mut SessionSettings) {
    settings.transports = Transports::UdpThenTcp;
    settings.handshake = Span::from_nanos(HANDSHAKE);
    settings.budget_bits_per_s = 200_000;
}

/// No datagram passes between any two nodes.
fn filter_all(network: &mut Network, nodes: usize) {
    network.filtered = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b))).collect();
}

/// The transport of every edge, as its prober has it.
fn transports(network: &Network) -> Vec<(Edge, Transport)> {
    let now = MonotonicInstant::from_nanos_since_epoch(network.now_ns);
    let of = |node: usize| network.session(node).edges(now).map(move |view| (node, view)).collect::<Vec<_>>();
    let all = (0..network.hosts.len()).flat_map(of).filter(|(node, view)| view.edge.src.0 as usize == *node);
    all.map(|(_, view)| (view.edge, view.transport)).collect()
}

/// The records of all windows that closed from `from_ns` on, with a line.
fn records(network: &Network, from_ns: i64) -> Vec<EdgeRecord> {
    let windows = network.hosts.iter().flat_map(|host| &host.windows).filter(|(at, _)| *at >= from_ns);
    let records = windows.flat_map(|(_, window)| window.edges.clone());
    records.filter(|record| record.fits.iter().any(Result::is_ok)).collect()
}

/// How many packets streams carried from now on.
fn count_streamed(network: &mut Network) -> Rc<RefCell<usize>> {
    let counted = Rc::new(RefCell::new(0));
    let count = Rc::clone(&counted);
    network.tap = Box::new(move |packet| {
        *count.borrow_mut() += usize::from(packet.over == Transport::Tcp);
        true
    });
    counted
}

/// How many lines were checked against the truth.
fn assert_truth(network: &mut Network) -> usize {
    let mut checked = 0;
    for record in records(network, 0) {
        for fit in record.fits.iter().flatten().filter(|fit| !fit.degraded) {
            let truth_ns = network.difference(record.edge.src.0 as usize, record.edge.dst.0 as usize, fit.mid);
            let (lo_ns, hi_ns) = (fit.bound.lo.as_nanos(), fit.bound.hi.as_nanos());
            // A nanosecond at each end is rounding.
            assert!((lo_ns - 1..=hi_ns + 1).contains(&truth_ns), "{}: {truth_ns} not in {lo_ns} … {hi_ns}", record.edge);
            checked += 1;
        }
    }
    checked
}

#[test]
fn where_no_datagram_passes_all_is_measured_over_streams_and_says_so() {
    let mut network = Network::new(4, &complete(4), 1, either);
    filter_all(&mut network, 4);
    (0..4).for_each(|node| network.start(node));
    network.run_for(HANDSHAKE - SECOND);
    assert_eq!(records(&network, 0), []);
    network.run_for(30 * SECOND);
    assert!(transports(&network).iter().all(|(_, transport)| *transport == Transport::Tcp));
    let records = records(&network, 0);
    assert!(records.len() > 20 && records.iter().all(|record| record.transport == Transport::Tcp), "{}", records.len());
    assert_eq!(network.masters().len(), 1, "rounds go over streams, too");
    for node in 0..4 {
        assert!(network.hosts[node].clocks.len() >= 4, "node {node} was told {} rounds", network.hosts[node].clocks.len());
    }
}

#[test]
fn no_bound_over_streams_is_narrower_than_the_truth() {
    let mut checked = 0;
    for seed in 0..24 {
        let mut network = Network::new(3, &complete(3), 300 + seed, |settings| {
            either(settings);
            settings.fit = fit_window;
        });
        network.weather =
            Weather { probe_loss: 0.004 * (seed % 5) as f64, stamp_loss: 0.01 * (seed % 3) as f64, ..Weather::default() };
        filter_all(&mut network, 3);
        (0..3).for_each(|node| network.start(node));
        // Half of the runs change over in the middle, so that windows hold both.
        network.run_for(HANDSHAKE + 15 * SECOND + seed as i64 * SECOND / 7);
        if seed % 2 == 0 {
            network.filtered = BTreeSet::new();
        }
        network.run_for(25 * SECOND);
        checked += assert_truth(&mut network);
    }
    // Of half of the lines the two halves disagree, as the packets of a pair are read together: those prove nothing.
    assert!(checked > 24 * 3 * 5, "{checked} lines");
}

#[test]
fn who_answers_datagrams_is_never_sent_a_stream() {
    let mut network = Network::new(3, &complete(3), 2, either);
    network.weather = Weather { probe_loss: 0.1, control_loss: 0.2, ..Weather::default() };
    let streamed = count_streamed(&mut network);
    (0..3).for_each(|node| network.start(node));
    network.run_for(60 * SECOND);
    assert_eq!(*streamed.borrow(), 0);
    assert!(records(&network, 0).iter().all(|record| record.transport == Transport::Udp));
}

#[test]
fn a_late_peer_ends_up_on_datagrams() {
    let mut network = Network::new(2, &complete(2), 3, either);
    network.start(1);
    network.run_for(3 * HANDSHAKE);
    network.start(0);
    network.run_for(5 * SECOND);
    assert_eq!(transports(&network), [(Edge { src: NodeId(1), dst: NodeId(0) }, Transport::Udp)]);
}

#[test]
fn an_edge_goes_back_to_datagrams_when_they_pass_again() {
    let mut network = Network::new(2, &complete(2), 4, either);
    filter_all(&mut network, 2);
    (0..2).for_each(|node| network.start(node));
    network.run_for(HANDSHAKE + 20 * SECOND);
    assert_eq!(transports(&network)[0].1, Transport::Tcp);
    network.filtered.clear();
    network.run_for(25 * SECOND);
    assert_eq!(transports(&network)[0].1, Transport::Udp);
    let last = records(&network, network.now_ns - 9 * SECOND);
    assert!(!last.is_empty() && last.iter().all(|record| record.transport == Transport::Udp));
    // Nothing was lost on the way: streams carried the edge until datagrams did.
    let windows = &network.hosts[1].windows;
    let without =
        windows.iter().filter(|(at, window)| *at > HANDSHAKE + 9 * SECOND && window.edges[0].fits[0].is_err()).count();
    assert_eq!(without, 0, "of {} windows", windows.len());
}

#[test]
fn one_way_is_enough_to_need_streams_and_costs_only_its_pair() {
    let edges = circle(6, 2);
    let mut network = Network::new(6, &edges, 5, either);
    // Edges 2→3 and 1→3 touch node 3 from below; datagrams from 3 to 2 are dropped.
    network.filtered = BTreeSet::from([(3, 2)]);
    (0..6).for_each(|node| network.start(node));
    network.run_for(HANDSHAKE + 40 * SECOND);
    let over_tcp: Vec<_> = transports(&network).into_iter().filter(|(_, transport)| *transport == Transport::Tcp).collect();
    assert_eq!(over_tcp, [(Edge { src: NodeId(2), dst: NodeId(3) }, Transport::Tcp)]);
    for node in 0..6 {
        assert!(network.hosts[node].clocks.len() >= 8, "node {node} was told {} rounds", network.hosts[node].clocks.len());
    }
}

#[test]
fn a_restarted_end_is_met_again_on_the_stream_without_another_handshakes_wait() {
    for victim in 0..2 {
        let mut network = Network::new(2, &complete(2), 6, either);
        filter_all(&mut network, 2);
        (0..2).for_each(|node| network.start(node));
        network.run_for(HANDSHAKE + 13 * SECOND);
        network.kill(victim);
        network.run_for(SECOND);
        network.start(victim);
        // Whoever began anew waits as long as at first; who did not knows better.
        let wait = if victim == 1 { HANDSHAKE } else { 0 };
        network.run_for(wait + 12 * SECOND);
        let last = records(&network, network.now_ns - 5 * SECOND);
        assert!(!last.is_empty() && last.iter().all(|record| record.transport == Transport::Tcp), "victim {victim}");
    }
}

#[test]
fn streams_alone_send_no_datagram_and_datagrams_alone_no_stream() {
    for (allowed, carried) in [(Transports::Tcp, Transport::Tcp), (Transports::Udp, Transport::Udp)] {
        let mut network = Network::new(3, &complete(3), 7, |settings| {
            either(settings);
            settings.transports = allowed;
        });
        network.tap = Box::new(move |packet| {
            assert_eq!(packet.over, carried);
            true
        });
        (0..3).for_each(|node| network.start(node));
        network.run_for(3 * HANDSHAKE);
        assert!(records(&network, 0).iter().all(|record| record.transport == carried));
        assert!(!records(&network, 0).is_empty());
    }
}

#[test]
fn who_uses_streams_alone_is_met_on_them() {
    for only in 0..2 {
        let mut network = Network::started(2, &complete(2), 10, |settings| {
            either(settings);
            if settings.node == NodeId(only) {
                settings.transports = Transports::Tcp;
            }
        });
        network.run_for(HANDSHAKE + 20 * SECOND);
        assert_eq!(transports(&network)[0].1, Transport::Tcp);
        let dropped = network.session(only as usize).counters().rejected(Reject::Transport);
        assert!(only == 1 || dropped > 0, "datagrams do not count there");
    }
}

#[test]
fn without_a_stream_either_the_edge_fails_as_before() {
    let mut network = Network::new(2, &complete(2), 8, either);
    network.start(1);
    network.run_for(HANDSHAKE + SECOND);
    let now = MonotonicInstant::from_nanos_since_epoch(network.now_ns);
    let view = network.session(1).edges(now).next().expect("it has an edge");
    assert!(matches!(view.state, EdgeState::Failed(_)), "{view:?}");
}

#[test]
fn streams_keep_the_budget_with_their_receipts() {
    let mut network = Network::new(4, &complete(4), 9, |settings| {
        either(settings);
        settings.budget_bits_per_s = 400_000;
    });
    filter_all(&mut network, 4);
    network.keep_history = false;
    (0..4).for_each(|node| network.start(node));
    network.run_for(HANDSHAKE + 25 * SECOND);
    for node in 0..4 {
        let rate = network.session(node).counters().bits_sent as f64 / (network.now_ns - HANDSHAKE) as f64 * 1e9;
        assert!(rate <= 400_000.0, "node {node}: {rate} bit/s");
    }
}
