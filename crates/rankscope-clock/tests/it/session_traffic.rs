//! What a master sends, counted bit by bit as it leaves, beside the budget that is said to hold it: with what rounds take, and with what is
//! sent again where packets are lost. And what is sent to it, of which the reports of all others are most.

#![expect(clippy::print_stdout, reason = "the figures")]

use std::cell::Cell;
use std::rc::Rc;

use rankscope_clock::Edge;
use rankscope_clock::graph::Topology;
use rankscope_clock::session::{Packet, SessionSettings};

use crate::network::{Network, SECOND, Weather};

const WINDOW: i64 = 4 * SECOND;

/// Bits per second: what node 0 of `count` may send, what it is said to send for rounds, what it sends in all and for rounds, and what is
/// sent to it.
struct Traffic {
    budget: f64,
    said: f64,
    sent: f64,
    control: f64,
    to_it: f64,
}

fn traffic(count: u32, loss: f64) -> Traffic {
    let graph = Topology::default().graph(count, 12_345).expect("there is one for every number");
    let mut network = Network::new(count, &[], 5, |settings| {
        let is_own = |edge: &&Edge| [edge.src, edge.dst].contains(&settings.node);
        settings.edges = graph.edges().iter().filter(is_own).copied().collect();
        settings.budget_bits_per_s = SessionSettings::budget_for(settings.edges.len() as u64);
    });
    network.keep_windows = false;
    network.weather = Weather { probe_loss: loss, control_loss: loss, ..Weather::default() };
    let [all, control, to_it] = [(); 3].map(|()| Rc::new(Cell::new(0)));
    let counted = [&all, &control, &to_it].map(Rc::clone);
    network.tap = Box::new(move |sent| {
        // In the first window nobody is anywhere yet.
        if sent.at_ns > WINDOW - WINDOW / 16 && concerns_node_0(&sent.bytes) {
            // With headers of IPv4 and UDP.
            let bits = (sent.bytes.len() as u64 + 28) * 8;
            let (is_own, is_control) = (sent.from == 0, matches!(sent.bytes, Packet::Control(_)));
            let counts = [is_own, is_own && is_control, !is_own];
            counted.iter().zip(counts).filter(|(_, counts)| *counts).for_each(|(bit, _)| bit.set(bit.get() + bits));
        }
        true
    });
    (0..count as usize).for_each(|node| network.start(node));
    // As many ends of rounds as windows.
    let windows = i64::from(256 / count).clamp(2, 16);
    network.run_for((1 + windows) * WINDOW - WINDOW / 16);
    assert_eq!(network.masters(), [0]);
    let per_s = |bits: &Cell<u64>| bits.get() as f64 * SECOND as f64 / (windows * WINDOW) as f64;
    let settings = &network.hosts[0].settings;
    let (budget, said) = (settings.budget_bits_per_s as f64, settings.control_bits_per_s() as f64);
    let traffic = Traffic { budget, said, sent: per_s(&all), control: per_s(&control), to_it: per_s(&to_it) };
    println!(
        "{count} nodes, {:2.0} % lost: {:.0} bit/s of {budget:.0}, for rounds {:.0} of {said:.0}; {:.0} bit/s are sent to it",
        100.0 * loss,
        traffic.sent,
        traffic.control,
        traffic.to_it
    );
    traffic
}

/// Whether node 0 sends it or is to read it: packets name both ends.
fn concerns_node_0(packet: &[u8]) -> bool {
    packet[16..20] == [0; 4] || packet[20..24] == [0; 4]
}

/// The budget holds what is sent, and there is hardly more in it than that.
fn keeps_to_its_budget(count: u32) {
    let Traffic { budget, said, sent, control, to_it } = traffic(count, 0.0);
    assert!(sent <= budget && sent >= 0.85 * budget, "{count} nodes: {sent} bit/s of {budget}");
    assert!(control <= said && control >= 0.7 * said, "{count} nodes, for rounds: {control} bit/s of {said}");
    assert!(to_it < 1e6, "{count} nodes: {to_it} bit/s come");
    let Traffic { budget, said, sent, control, .. } = traffic(count, 0.1);
    assert!(sent <= budget, "{count} nodes in rain: {sent} bit/s of {budget}");
    assert!(control <= 1.1 * said, "{count} nodes in rain, for rounds: {control} bit/s of {said}");
}

#[test]
fn two_nodes_keep_to_their_budget() {
    keeps_to_its_budget(2);
}

#[test]
fn eight_nodes_keep_to_their_budget() {
    keeps_to_its_budget(8);
}

#[test]
fn the_master_of_sixty_four_keeps_to_its_budget() {
    keeps_to_its_budget(64);
}

#[test]
fn the_master_of_two_hundred_and_fifty_six_keeps_to_its_budget() {
    keeps_to_its_budget(256);
}

#[test]
fn in_a_storm_a_master_stays_below_a_megabit() {
    let Traffic { sent, .. } = traffic(256, 0.3);
    assert!(sent < 1e6, "{sent} bit/s");
}
