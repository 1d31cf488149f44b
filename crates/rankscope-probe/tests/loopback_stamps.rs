//! Real packets over the loopback: every transmit stamp finds its packet, and no packet arrives before it is sent.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test; its figures are for whoever runs it with --nocapture")]

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rankscope_clock::StampSource;
use rankscope_probe::clocks::{HostTime, HostTimeOptions};
use rankscope_probe::stamps::{PacketStamp, SocketOptions, StampedSocket, Stamping, self_test, wait};

const PATIENCE: Duration = Duration::from_secs(10);

fn socket(ip: IpAddr, stamping: Stamping) -> StampedSocket {
    let opened = StampedSocket::bind(SocketAddr::new(ip, 0), &SocketOptions::stamped(stamping)).unwrap();
    // The kernel stamps what it receives from some milliseconds after the first socket asked for it; a test of one packet shows
    // that it does.
    assert_eq!(self_test(ip, stamping, 1, PATIENCE).unwrap().received, 1);
    opened
}

fn kernel_ns(stamp: PacketStamp) -> i64 {
    if let PacketStamp::Kernel(ns) = stamp { ns } else { panic!("{stamp:?} is not the kernel's") }
}

/// Waits until `done`, calling it whenever `sockets` have something.
fn until(from: &mut StampedSocket, mut done: impl FnMut(&mut StampedSocket) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done(from) {
        let left = deadline.saturating_duration_since(Instant::now());
        assert!(!left.is_zero(), "nothing came for {PATIENCE:?}");
        wait([from.as_fd()], left).unwrap();
    }
}

#[test]
fn a_thousand_packets_all_get_their_own_stamp() {
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        let report = self_test(ip, Stamping::Kernel, 1_000, PATIENCE).unwrap();
        assert_eq!((report.sent, report.stamped, report.received), (1_000, 1_000, 1_000), "{ip}");
        assert_eq!(report.passages_ns.len(), 1_000, "{ip}");
        assert!(report.passages_ns[0] >= 0, "{ip}: a packet arrived {} ns before it was sent", -report.passages_ns[0]);
        let at = |percent| report.percentile_ns(percent).unwrap();
        println!("{ip}: rx - tx min {} p50 {} p99 {} max {} ns", at(0), at(50), at(99), at(100));
    }
}

#[test]
fn stamps_read_late_and_in_one_go_belong_to_their_packets() {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (mut sender, mut receiver) = (socket(ip, Stamping::Kernel), socket(ip, Stamping::Kernel));
    let to = receiver.local_addr();
    let (mut arrivals, mut sent) = (Vec::new(), Vec::new());
    // The error queue is left alone until all is sent; the passages of wrongly matched stamps would be negative or huge.
    for number in 0..200u32 {
        sent.push(sender.send(to, &number.to_le_bytes()).unwrap());
        until(&mut receiver, |receiver| {
            receiver.receive(|packet| arrivals.push((packet.bytes.to_vec(), kernel_ns(packet.stamp.unwrap())))).unwrap();
            arrivals.len() > number as usize
        });
    }
    let mut stamps = HashMap::new();
    until(&mut sender, |sender| {
        sender
            .drain_stamps(|id, stamp| {
                stamps.insert(id, kernel_ns(stamp));
            })
            .unwrap();
        stamps.len() == sent.len()
    });
    for (number, (bytes, arrived_ns)) in arrivals.iter().enumerate() {
        assert_eq!(bytes, &(number as u32).to_le_bytes());
        let left_ns = stamps[&sent[number]];
        assert!(left_ns <= *arrived_ns, "packet {number}");
        if let Some(next) = sent.get(number + 1) {
            assert!(stamps[next] > *arrived_ns, "packet {} was sent after {number} had come", number + 1);
        }
    }
    assert_eq!(sender.unstamped(), 0);
}

#[test]
fn a_failed_send_shifts_no_stamp() {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (mut sender, receiver) = (socket(ip, Stamping::Kernel), socket(ip, Stamping::Kernel));
    let to = receiver.local_addr();
    let mut stamps = HashMap::new();
    let mut last = None;
    for round in 0..20 {
        last = Some(sender.send(to, &[round]).unwrap());
        let expected = stamps.len() + 1;
        until(&mut sender, |sender| {
            sender
                .drain_stamps(|id, stamp| {
                    stamps.insert(id, kernel_ns(stamp));
                })
                .unwrap();
            stamps.len() == expected
        });
        // Longer than a datagram can be.
        assert!(sender.send(to, &[0; 70_000]).is_err());
    }
    assert_eq!(stamps.keys().max(), last.as_ref());
    let in_order = |a: &&_, b: &&_| stamps[*a] < stamps[*b];
    let mut ids: Vec<_> = stamps.keys().collect();
    ids.sort();
    assert!(ids.windows(2).all(|pair| in_order(&pair[0], &pair[1])));
}

/// However badly a stamp is known, it counts.
fn any_stamp() -> HostTimeOptions {
    let mut options = HostTimeOptions::default();
    options.uncertainty_max_ns = u64::MAX;
    options
}

#[test]
fn stamps_of_the_program_say_so() {
    let mut host = HostTime::start(any_stamp());
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (mut sender, mut receiver) = (socket(ip, Stamping::User), socket(ip, Stamping::User));
    let id = sender.send(receiver.local_addr(), b"x").unwrap();
    let (mut sent, mut arrived) = (Vec::new(), Vec::new());
    sender.drain_stamps(|id, stamp| sent.push((id, stamp))).unwrap();
    until(&mut receiver, |receiver| {
        receiver.receive(|packet| arrived.push(packet.stamp.unwrap())).unwrap();
        !arrived.is_empty()
    });
    assert!(matches!(sent[..], [(of, PacketStamp::User(_))] if of == id), "{sent:?}");
    let left = host.stamp(sent[0].1).unwrap();
    assert_eq!(left.source, StampSource::User);
}

#[test]
fn passages_keep_their_length_on_the_host_clock() {
    let ip = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let mut host = HostTime::start(any_stamp());
    let (mut sender, mut receiver) = (socket(ip, Stamping::Kernel), socket(ip, Stamping::Kernel));
    for _ in 0..100 {
        sender.send(receiver.local_addr(), b"probe").unwrap();
        let (mut sent, mut arrived) = (None, None);
        until(&mut receiver, |receiver| {
            receiver.receive(|packet| arrived = packet.stamp).unwrap();
            arrived.is_some()
        });
        until(&mut sender, |sender| {
            sender.drain_stamps(|_, stamp| sent = Some(stamp)).unwrap();
            sent.is_some()
        });
        let (sent, arrived) = (sent.unwrap(), arrived.unwrap());
        let passage_ns = kernel_ns(arrived) - kernel_ns(sent);
        let converted = host.stamp(arrived).unwrap().at - host.stamp(sent).unwrap().at;
        let apart_ns = (converted.as_nanos() - passage_ns).unsigned_abs();
        // Both stamps lie on one chord or on two that meet; the clocks part by less than a per mille.
        assert!(apart_ns <= 2 * host.worst_uncertainty_ns() + passage_ns.unsigned_abs() / 1_000, "{apart_ns} ns");
    }
}

#[test]
fn a_taken_port_is_named() {
    let first = socket(IpAddr::V4(Ipv4Addr::LOCALHOST), Stamping::Kernel);
    let error = StampedSocket::bind(first.local_addr(), &SocketOptions::default()).unwrap_err().to_string();
    assert!(error.contains(&first.local_addr().to_string()) && error.contains("no other agent uses the port"), "{error}");
}
