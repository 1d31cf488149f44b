//! Agents as processes on this host: they meet, measure, are killed, come back and stop.
//!
//! Real time passes here, so nothing is said about how fast anything is, only that it ends.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::collections::BTreeSet;
use std::net::UdpSocket;

use crate::process::{Fleet, Running, addresses, command, free_ports};
use rankscope_clock::files::{read_offsets, read_windows};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{NodeId, Transport};
use serde_json::Value;

/// What a loaded host may add to an honest estimate.
const TOLERATED_NS: i64 = 10_000;

#[test]
fn two_terminals_measure_a_bent_clock() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let addresses = addresses(2);
    let now_ns = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let bend = format!("offset-ns=5000000,skew-ppb=20000,origin-ns={now_ns}");
    let standalone = |node: usize| {
        let arguments = ["clock", "standalone", "--rank", &node.to_string(), "--addresses", &addresses, "--out", &out];
        let mut command = command(&arguments);
        command.args(["--duration-sec", "3", "--probe-window-s", "0.5", "--format", "json"]);
        if node == 1 {
            command.args(["--set", &format!("test-clock={bend}")]);
        }
        Running::start(command)
    };
    let documents = [standalone(0), standalone(1)].map(|running| {
        let output = running.ended();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document")
    });

    let shift_ns = |node: usize| {
        let file = read_windows("", &std::fs::read(folder.path().join(format!("windows-node{node}.jsonl"))).unwrap());
        file.header.and_then(|header| header.host_minus_raw_ns).expect("the header says what the host clock is")
    };
    let mut bend: SimClock = bend.parse().unwrap();
    for document in &documents {
        let node = document["nodes"].as_array().unwrap().iter().find(|node| node["node"] == 1).expect("node 1 was placed");
        let field = |name: &str| node[name].as_i64().unwrap_or_else(|| panic!("{name} in {node}"));
        // The same instant on both host clocks: they differ by where each of the two was set, and by the bend.
        let (shown_ns, offset_ns) = (field("at_ns"), field("offset_ns"));
        let truth_ns = shown_ns - (bend.true_ns(shown_ns) - shift_ns(1) + shift_ns(0));
        assert!((offset_ns - truth_ns).abs() < TOLERATED_NS, "{offset_ns} for {truth_ns}");
        let (lo_ns, hi_ns) = (field("bound_lo_ns") - TOLERATED_NS, field("bound_hi_ns") + TOLERATED_NS);
        assert!((lo_ns..=hi_ns).contains(&truth_ns), "{truth_ns} in {node}");
        assert!(hi_ns - lo_ns < 1_000_000, "a bound that says something: {node}");
    }
}

#[test]
fn a_node_that_udp_does_not_reach_is_measured_over_tcp() {
    let now_ns = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let bend = format!("offset-ns=-70000000,skew-ppb=-30000,origin-ns={now_ns}");
    // The second takes no notice of datagrams, as a filter in front of it would have it.
    let (test_clock, shift) = (format!("test-clock={bend}"), format!("test-clock-shift-ns={now_ns}"));
    let mut fleet = Fleet::of(&[vec!["handshake-timeout-s=1", &shift], vec!["transport=tcp", &test_clock, &shift]]);
    let placed = |fleet: &Fleet| {
        let rows = read_offsets(&fleet.read("offsets.jsonl")).rows.into_iter();
        let of_second = rows.filter(|row| row.node == NodeId(1) && row.over_tcp).filter_map(|row| row.estimate);
        of_second.filter(|estimate| !estimate.degraded).collect::<Vec<_>>()
    };
    fleet.wait_for("the second node in three rounds", |fleet| placed(fleet).len() >= 3);
    let estimates = placed(&fleet);
    fleet.stop_all();
    assert!(fleet.log(0).contains("node 1 does not answer over UDP and is measured over TCP"), "{}", fleet.log(0));
    let mut bend: SimClock = bend.parse().unwrap();
    for estimate in estimates {
        let at_ns = estimate.at.nanos_since_epoch();
        let truth_ns = at_ns - bend.true_ns(at_ns);
        // Twice what stamps are known to at least.
        let (lo_ns, hi_ns) = (estimate.bound.lo.as_nanos() - 2_000, estimate.bound.hi.as_nanos() + 2_000);
        assert!((lo_ns..=hi_ns).contains(&truth_ns), "{truth_ns} in {estimate:?}");
    }
    for verb in ["solve", "show"] {
        let output = command(&["clock", verb, &fleet.out(), "--format", "json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
        assert!(document["notes"].to_string().contains("measured over TCP instead of UDP"), "{verb}: {}", document["notes"]);
    }
}

#[test]
fn the_killed_leave_whole_lines_and_the_others_go_on() {
    let mut fleet = Fleet::start(3, &[]);
    fleet.wait_for("windows of all nodes", |fleet| (0..3).all(|node| fleet.fitted(node) >= 2));
    fleet.kill(2);
    let (left, before) = (fleet.read("windows-node2.jsonl"), [fleet.windows(0), fleet.windows(1)]);
    assert!(left.ends_with(b"\n"));
    assert_eq!(read_windows("windows-node2.jsonl", &left).damaged, []);
    let rounds = fleet.rounds().len();
    fleet.wait_for("more of the living", |fleet| {
        fleet.rounds().len() >= rounds + 2 && (0..2).all(|node| fleet.windows(node) >= before[node] + 2)
    });
    fleet.stop_all();

    let solved = command(&["clock", "solve", &fleet.out(), "--format", "json"]).output().unwrap();
    assert!(solved.status.success(), "{}", String::from_utf8_lossy(&solved.stderr));
    let rows: Value = serde_json::from_slice(&solved.stdout).expect("one JSON document");
    assert!(rows.to_string().contains("\"node_id\":2"), "{rows}");
}

#[test]
fn another_node_leads_when_the_master_is_killed() {
    let mut fleet = Fleet::start(3, &[]);
    fleet.wait_for("a round of node 0", |fleet| fleet.rounds().len() >= 2);
    fleet.kill(0);
    let before = fleet.rounds();
    fleet.wait_for("rounds of another master", |fleet| {
        let offsets = read_offsets(&fleet.read("offsets.jsonl"));
        let placed =
            |node| offsets.rows.iter().any(|row| !before.contains(&row.round) && row.node == node && row.estimate.is_some());
        fleet.rounds().difference(&before).count() >= 2 && placed(NodeId(1)) && placed(NodeId(2))
    });
    fleet.stop_all();
}

#[test]
fn a_port_that_is_taken_is_replaced() {
    let base = crate::process::free_block();
    // The lowest port of node 0's block is the first that is given out.
    let taken = UdpSocket::bind(("127.0.0.1", base)).unwrap();
    let mut fleet = Fleet::start(3, &["port-mode=per-edge", &format!("port-base={base}"), "control-port=0"]);
    fleet.wait_for("windows of all nodes", |fleet| (0..3).all(|node| fleet.fitted(node) >= 2));
    let minutes: Value = serde_json::from_slice(&fleet.read("minutes-node0.json")).unwrap();
    assert!(!minutes.to_string().contains(&base.to_string()), "{minutes}");
    drop(taken);
    fleet.stop_all();
}

#[test]
fn a_node_that_was_killed_joins_again() {
    let mut fleet = Fleet::start(3, &[]);
    fleet.wait_for("windows of all nodes", |fleet| (0..3).all(|node| fleet.fitted(node) >= 1));
    fleet.kill(1);
    let before: BTreeSet<u64> = fleet.rounds();
    fleet.wait_for("a round without it", |fleet| fleet.rounds().len() > before.len());
    let last = fleet.rounds().last().copied().unwrap_or(0);
    let own = fleet.fitted(1);
    fleet.begin(1);
    fleet.wait_for("the node back in a round", |fleet| {
        let back =
            |row: &rankscope_clock::files::OffsetRow| row.round > last + 1 && row.node == NodeId(1) && row.estimate.is_some();
        fleet.fitted(1) > own && read_offsets(&fleet.read("offsets.jsonl")).rows.iter().any(back)
    });
    assert!(fleet.log(1).contains("continues with the ports and edges agreed then"), "{}", fleet.log(1));
    fleet.stop_all();
    // Its host clock counts on as if nothing had happened, so that nothing that others measured has to be moved or left out.
    let constants = read_windows("", &fleet.read("windows-node1.jsonl")).constants;
    assert!(constants.len() == 2 && constants[0].1 == constants[1].1, "{constants:?}");
    let output = command(&["clock", "solve", &fleet.out(), "--format", "json"]).output().unwrap();
    let solved: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let notes = solved["notes"].to_string();
    assert!(!notes.contains("jumped") && !notes.contains("left out"), "{notes}");
}

#[test]
fn over_tcp_a_node_that_was_killed_is_met_again_in_either_mode_of_ports() {
    let base = format!("port-base={}", crate::process::free_block());
    for ports in [vec!["port-mode=single"], vec!["port-mode=per-edge", &base, "control-port=0"]] {
        let mut fleet = Fleet::start(3, &[vec!["transport=tcp"], ports].concat());
        fleet.wait_for("windows of all nodes", |fleet| (0..3).all(|node| fleet.fitted(node) >= 1));
        fleet.kill(1);
        let before = [0, 1, 2].map(|node| fleet.fitted(node));
        fleet.begin(1);
        fleet.wait_for("more windows of all", |fleet| (0..3).all(|node| fleet.fitted(node) >= before[node] + 2));
        let windows = read_windows("", &fleet.read("windows-node0.jsonl")).windows;
        let mut records = windows.iter().flat_map(|window| &window.edges).filter(|record| record.counts.complete > 0);
        assert!(records.all(|record| record.transport == Transport::Tcp));
        fleet.stop_all();
    }
}

#[test]
fn nobody_there_is_said() {
    let output = Running::start({
        let mut command = command(&["clock", "standalone", "--rank", "0", "--addresses", &addresses(2)]);
        command.args(["--duration-sec", "1", "--set", "probe-window-s=0.5", "--format", "json"]);
        command
    })
    .ended();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no other node answered") && said.contains("same addresses"), "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document all the same");
    assert_eq!(document["edges"], Value::Array(Vec::new()));
}

#[test]
fn other_hosts_are_not_met_without_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let keys = ["mine", "open"].map(|name| folder.path().join(name));
    for (path, mode) in keys.iter().zip([0o600, 0o644]) {
        std::fs::write(path, "hunter2\n").unwrap();
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let [mine, open] = keys.map(|path| path.display().to_string());
    let agent = "agent --rank 0 --num-nodes 2 --set interfaces=none7 --rendezvous";
    // From a block for documentation: no host has it.
    let standalone = "clock standalone --rank 0 --duration-sec 1 --addresses 203.0.113.1:9000,127.0.0.1:9000";
    let (refused, no_interface, no_address) = ("RANKSCOPE_KEY", "none7", "cannot bind");
    let table = [
        (format!("{agent} tcp://203.0.113.1:29400"), None, refused),
        (format!("{agent} node0:29400"), None, refused),
        (format!("{agent} etcd://203.0.113.1:2379"), None, refused),
        (standalone.to_owned(), None, refused),
        // What comes next is wrong as well, which shows that it was reached.
        (format!("{agent} tcp://127.0.0.1:29400"), None, no_interface),
        (format!("{agent} tcp://203.0.113.1:29400"), Some("hunter2"), no_interface),
        (format!("{agent} tcp://203.0.113.1:29400 --insecure"), None, no_interface),
        (format!("{agent} tcp://203.0.113.1:29400 --set insecure=true"), None, no_interface),
        (format!("{agent} tcp://203.0.113.1:29400 --set key-file={mine}"), None, no_interface),
        (format!("{agent} tcp://203.0.113.1:29400 --set key-file={open}"), None, "others may read or write it"),
        (format!("{standalone} --insecure"), None, no_address),
        (standalone.to_owned(), Some("hunter2"), no_address),
    ];
    for (arguments, key, part) in table {
        let mut command = command(&arguments.split(' ').collect::<Vec<_>>());
        command.envs(key.map(|key| ("RANKSCOPE_KEY", key)));
        let output = Running::start(command).ended();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {said}");
        assert!(said.contains(part) && (part == refused) == said.contains("--insecure runs without"), "{arguments}: {said}");
        assert!(!said.contains("hunter"), "{said}");
    }
}

#[test]
fn a_node_with_another_key_is_counted_and_not_let_in() {
    let [port] = free_ports::<1>();
    let place = format!("tcp://127.0.0.1:{port}");
    let agent = |rank: &str, key: &str| {
        let mut command = command(&["agent", "--rank", rank, "--num-nodes", "2", "--rendezvous", &place, "--insecure"]);
        command.args(["--set", "interfaces=lo", "--set", "probe-export=false"]).args(["--duration-sec", "1"]);
        Running::start({
            command.env("RANKSCOPE_KEY", key);
            command
        })
    };
    let first = agent("0", "right");
    let said = |output: std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let stranger = agent("1", "wrong").ended();
    assert_eq!(stranger.status.code(), Some(1));
    assert!(said(stranger).contains("the shared keys differ"));
    let second = agent("1", "right").ended();
    let first = first.ended();
    assert!(first.status.success() && second.status.success(), "{} {}", said(first), said(second));
    let said = said(first);
    assert!(said.contains("connections that the store of node 0 closed: 1 with another key or none"), "{said}");
}

#[test]
fn an_agent_that_waits_for_the_others_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let place = format!("file://{}", folder.path().join("meet").display());
    let agent = Running::start(command(&[
        "agent",
        "--rank",
        "0",
        "--num-nodes",
        "2",
        "--rendezvous",
        &place,
        "--set",
        "interfaces=lo",
        // Longer than the test waits, so that it does not end by itself.
        "--set",
        "handshake-timeout-s=600",
    ]));
    // It has said where it is, and now waits for node 1.
    crate::process::wait_for("its address", || {
        std::fs::read_dir(folder.path().join("meet")).is_ok_and(|entries| entries.count() > 0)
    });
    agent.terminate();
    agent.ended();
}

#[test]
fn what_is_wrong_is_said_at_once() {
    let [port, taken] = free_ports::<2>();
    let _holder = UdpSocket::bind(("127.0.0.1", taken)).unwrap();
    let (pair, held) = (addresses(2), format!("127.0.0.1:{taken},127.0.0.1:{port}"));
    let standalone = |rest: &[&str]| [&["clock", "standalone", "--duration-sec", "1"], rest].concat().join(" ");
    let table = [
        (standalone(&["--rank", "2", "--addresses", &pair]), "node 2 of 2"),
        (standalone(&["--rank", "0", "--addresses", "127.0.0.1:9000"]), "at least two addresses"),
        (standalone(&["--rank", "0", "--num-nodes", "3", "--addresses", &pair]), "--addresses lists 2"),
        (standalone(&["--rank", "0", "--addresses", "here,there"]), "HOST:PORT"),
        (standalone(&["--rank", "0", "--addresses", "192.0.2.1:9000,127.0.0.1:9000"]), "192.0.2.1:9000"),
        (standalone(&["--rank", "0", "--addresses", &held]), &taken.to_string()),
        (standalone(&["--rank", "0", "--addresses", "127.0.0.1:9,127.0.0.1:9"]), "twice"),
        (standalone(&["--rank", "0", "--topology", "star", "--addresses", &pair]), "star"),
        (standalone(&["--rank", "0", "--set", "test-clock=late", "--addresses", &pair]), "test-clock"),
        ("agent --rank 3 --num-nodes 3 --rendezvous /tmp".to_owned(), "node 3 of 3"),
        ("agent --rank 0 --num-nodes 3".to_owned(), "--rendezvous"),
        ("agent --rank 0 --num-nodes 3 --rendezvous nowhere".to_owned(), "nowhere"),
        ("agent --rank 0 --num-nodes 3 --rendezvous /dev/null/x --set interfaces=lo".to_owned(), "/dev/null/x"),
        ("agent --rank 0 --num-nodes 3 --rendezvous /tmp --set interfaces=none7".to_owned(), "none7"),
        ("agent".to_owned(), "--rank"),
    ];
    for (arguments, part) in table {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let output = Running::start(command(&arguments)).ended();
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}
