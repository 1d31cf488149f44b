//! Packets that should not be there: each is counted for what it is, and changes nothing.

use std::cell::RefCell;
use std::rc::Rc;

use crate::network::{Network, SECOND, complete, header};
use rankscope_clock::session::wire::{self, Header, Kind, Reject, Value};
use rankscope_clock::session::{Counters, Key};
use rankscope_clock::{Edge, NodeId};

/// A run of three nodes, with every packet that node 1 was sent, and the same run a while later.
fn recorded() -> (Network, Vec<Vec<u8>>) {
    let mut network = Network::started(3, &complete(3), 1, |settings| settings.budget_bits_per_s = 100_000);
    let packets = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&packets);
    network.tap = Box::new(move |packet| {
        let header = header(&packet.bytes);
        let for_one =
            if header.kind == Kind::Control || header.kind.is_for_listener() { header.edge.dst } else { header.edge.src };
        if for_one == NodeId(1) {
            log.borrow_mut().push(packet.bytes.to_vec());
        }
        true
    });
    network.run_for(9 * SECOND);
    network.tap = Box::new(|_| true);
    // What is still under way would not be a replay.
    network.run_for(SECOND / 10);
    let packets = packets.take();
    (network, packets)
}

/// What an outsider could see of a node: what it sent and what it made of it.
fn fingerprint(network: &Network) -> (usize, u64, Vec<u64>) {
    let counters: &Counters = network.session(1).counters();
    let rounds = network.hosts[1].clocks.iter().map(|(_, round, _)| *round).collect();
    (network.hosts[1].windows.len(), counters.packets_sent, rounds)
}

/// Feeds `packets` to node 1; all must be rejected for `reason`, and it must not so much as answer.
fn assert_rejected(network: &mut Network, packets: &[Vec<u8>], reason: Reject) {
    let before =
        (fingerprint(network), network.session(1).counters().rejected(reason), network.session(1).counters().rejected_in_all());
    for packet in packets {
        network.inject(1, packet);
    }
    let counters = network.session(1).counters();
    let count = packets.len() as u64;
    assert_eq!(counters.rejected(reason) - before.1, count, "{reason:?}");
    assert_eq!(counters.rejected_in_all() - before.2, count, "{reason:?} is the only reason");
    assert_eq!(fingerprint(network), before.0, "{reason:?}");
}

#[test]
fn intruders_are_counted_by_kind_and_change_nothing() {
    let (mut network, packets) = recorded();
    assert!(packets.len() > 500);
    let key = Key::derive(b"the job's secret");

    let with = |change: &dyn Fn(&mut Header), key: &Key| -> Vec<Vec<u8>> {
        let mut changed = Vec::new();
        for bytes in &packets {
            let opened = wire::open(bytes, &Key::derive(b"the job's secret"), 77).unwrap();
            let mut header = opened.header;
            change(&mut header);
            changed.push(match header.kind {
                Kind::Control => wire::seal_control(key, &header, opened.body),
                _ => wire::seal_probe(key, &header, opened.values).to_vec(),
            });
        }
        changed
    };
    assert_rejected(&mut network, &with(&|_| {}, &Key::derive(b"guess")), Reject::Mac);
    assert_rejected(&mut network, &with(&|header| header.run = 78, &key), Reject::Run);
    assert_rejected(&mut network, &with(&|header| header.run = 78, &Key::derive(b"theirs")), Reject::Run);
    let elsewhere = Edge { src: NodeId(8), dst: NodeId(9) };
    assert_rejected(&mut network, &with(&|header| header.edge = elsewhere, &key), Reject::Edge);
    let reflected = |header: &mut Header| header.edge = Edge { src: header.edge.dst, dst: header.edge.src };
    assert_rejected(&mut network, &with(&reflected, &key), Reject::Edge);
    let cut: Vec<Vec<u8>> = packets.iter().map(|bytes| bytes[..40].to_vec()).collect();
    assert_rejected(&mut network, &cut, Reject::Length);

    // The run goes on as if nothing had been.
    let told = network.hosts[1].clocks.len();
    network.run_for(8 * SECOND);
    assert_eq!(network.hosts[1].clocks.len(), told + 2);
}

#[test]
fn replays_are_counted_and_change_nothing() {
    let (mut network, packets) = recorded();
    // A SYN again is a question that may be asked again; everything else counts once.
    let (syn, others): (Vec<_>, Vec<_>) =
        packets.into_iter().partition(|bytes| matches!(header(bytes).kind, Kind::Syn | Kind::Ack));
    assert!(!syn.is_empty());
    assert_rejected(&mut network, &others, Reject::Replay);
    let told = network.hosts[1].clocks.len();
    network.run_for(8 * SECOND);
    assert_eq!(network.hosts[1].clocks.len(), told + 2);
}

#[test]
fn packets_of_a_process_that_has_died_do_not_disturb_the_next() {
    let (mut network, _) = recorded();
    let relics = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&relics);
    network.tap = Box::new(move |packet| {
        let header = header(&packet.bytes);
        let for_one = header.edge.dst == NodeId(1) || header.edge == Edge { src: NodeId(1), dst: NodeId(0) };
        if packet.from == 0 && for_one {
            log.borrow_mut().push(packet.bytes.to_vec());
        }
        true
    });
    // Across the end of a round, so that the relics hold a command and a result.
    network.run_for(4 * SECOND);
    network.tap = Box::new(|_| true);
    network.kill(0);
    network.run_for(SECOND);
    network.start(0);
    network.run_for(SECOND);
    let before = fingerprint(&network);
    let rejected = network.session(1).counters().rejected_in_all();
    let relics = relics.take();
    assert!(relics.len() > 100);
    for packet in &relics {
        network.inject(1, packet);
    }
    assert_eq!(network.session(1).counters().rejected_in_all() - rejected, relics.len() as u64);
    assert_eq!(fingerprint(&network), before);
    network.run_for(12 * SECOND);
    assert_eq!(network.masters(), [0]);
    assert!(
        network.hosts[1].windows.iter().rev().take(2).all(|(_, window)| window.edges.iter().all(|edge| edge.fits[0].is_ok()))
    );
}

#[test]
fn a_probe_on_the_wrong_socket_is_of_the_wrong_edge() {
    let key = Key::derive(b"the job's secret");
    let mut network = Network::started(2, &complete(2), 2, |_| {});
    network.run_for(SECOND);
    let edge = Edge { src: NodeId(1), dst: NodeId(0) };
    let syn = Header { kind: Kind::Syn, run: 77, edge, sequence: 900, incarnation: 1 };
    let bytes = wire::seal_probe(&key, &syn, [Value::Nothing; 2]);
    let before = network.session(0).counters().rejected(Reject::Edge);
    network.inject_on(0, Some(Edge { src: NodeId(5), dst: NodeId(0) }), &bytes);
    assert_eq!(network.session(0).counters().rejected(Reject::Edge), before + 1);
}
