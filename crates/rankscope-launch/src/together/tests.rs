//! Nodes that are asked together, with the sockets of their daemons and clocks that are bent: their processes are this one.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rankscope_on_demand::datagram::{ACTIVITIES, Poll, Said, answered};
use serde_json::json;

use super::*;

/// What wall clocks count from here.
const ZERO_NS: i64 = 1_700_000_000_000_000_000;

/// How far the clock of the second node is ahead, and what it gains.
const AHEAD_NS: i64 = 4_321_987_654;
const GAINS_PPB: i64 = 20_000;

fn shown_by(node: u32, true_ns: i64) -> i64 {
    let gain = (i128::from(true_ns) * i128::from(GAINS_PPB) / 1_000_000_000) as i64;
    ZERO_NS + true_ns + if node == 0 { 0 } else { AHEAD_NS + gain }
}

/// Offsets as agents would have written them, of a minute.
fn clocks(run: &Path) {
    let header = json!({"meta": true, "schema": 1, "reference": 0, "nodes": [{"node_id": 0}, {"node_id": 1}]});
    let mut lines = vec![header.to_string()];
    for round in 0..15 {
        for node in 0..2 {
            let at_ns = shown_by(node, round * 4_000_000_000);
            let offset_ns = at_ns - shown_by(0, round * 4_000_000_000);
            lines.push(
                json!({
                    "round_id": round, "window_id": round, "node_id": node, "at_ns": at_ns, "offset_ns": offset_ns,
                    "window_start_ns": at_ns - 2_000_000_000, "window_end_ns": at_ns + 2_000_000_000,
                    "skew_ppb": if node == 0 { 0.0 } else { GAINS_PPB as f64 }, "drift_ppm": if node == 0 { 0.0 } else { 20.0 },
                    "bound_lo_ns": offset_ns - 10_000, "bound_hi_ns": offset_ns + 10_000, "sigma_ns": 1_000.0,
                    "skew_lo_ppb": 0.0, "skew_hi_ppb": 40_000.0, "residual": 0.0, "reachable": true, "converged": true,
                })
                .to_string(),
            );
        }
    }
    fs::create_dir_all(run.join("clock")).unwrap();
    fs::write(run.join("clock/offsets.jsonl"), lines.join("\n") + "\n").unwrap();
}

fn name(of: &str, run: &Path) -> String {
    format!("rankscope-{of}-{}", run.display())
}

fn station(run: &Path, node: u32) -> Station {
    let options = Options { name: name(&format!("node{node}"), run), rpc: None, run: run.to_owned() };
    let rank_of = |pid: i32| (u32::try_from(pid) == Ok(std::process::id())).then_some(7);
    Station::open(Daemon::start(options).unwrap(), run, node, node == 0, rank_of).unwrap()
}

/// What a process of `node` is told when it asks.
fn told(run: &Path, node: u32) -> Option<String> {
    let address = |name: String| SocketAddr::from_abstract_name(format!("{name}\0")).unwrap();
    let socket = UnixDatagram::bind_addr(&address(name(&format!("client{node}"), run))).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let pid = i32::try_from(std::process::id()).unwrap();
    let poll = Said::Poll(Poll { kinds: ACTIVITIES, job: 0, pids: vec![pid] }).bytes();
    let mut buffer = [0; 4096];
    loop {
        socket.send_to_addr(&poll, &address(name(&format!("node{node}"), run))).unwrap();
        if let Ok(bytes) = socket.recv(&mut buffer) {
            return answered(&buffer[..bytes]).map(str::to_owned);
        }
    }
}

fn request(run: &Path) -> TogetherRequest {
    let (after, duration) = (Duration::from_secs(15), Duration::from_secs(2));
    TogetherRequest { run: run.to_owned(), after, duration, iterations: None, ranks: None }
}

fn start_ms(text: &str) -> i64 {
    let line = text.lines().find_map(|line| line.strip_prefix("PROFILE_START_TIME="));
    line.and_then(|ms| ms.parse().ok()).expect("a start")
}

#[test]
fn two_nodes_on_bent_clocks_begin_within_two_milliseconds_and_their_traces_are_collected_by_rank() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path();
    clocks(run);
    let (mut first, mut second) = (station(run, 0), station(run, 1));
    assert_eq!((told(run, 0), told(run, 1)), (None, None));
    let asked = ask(&run.join(files::FOLDER), &request(run)).unwrap();
    let now_ns = 60_000_000_000;
    // The node that does not lead waits for the word of the one that does.
    second.look(shown_by(1, now_ns));
    assert!(!asked.join("node-1.json").exists());
    first.look(shown_by(0, now_ns));
    second.look(shown_by(1, now_ns));
    let (one, other) = (told(run, 0).expect("a configuration"), told(run, 1).expect("a configuration"));
    let true_start_ns = now_ns + 15_000_000_000;
    assert!((start_ms(&one) * 1_000_000 - shown_by(0, true_start_ns)).abs() <= 1_000_000, "{one}");
    assert!((start_ms(&other) * 1_000_000 - shown_by(1, true_start_ns)).abs() <= 2_000_000, "{other}");
    let file = asked.join(format!("trace_{}.json", std::process::id()));
    fs::write(&file, "{}").unwrap();
    first.look(shown_by(0, true_start_ns));
    assert!(file.exists(), "it may still grow");
    first.look(shown_by(0, true_start_ns));
    assert_eq!(fs::read_to_string(run.join("raw/rank-7.json")).unwrap(), "{}");
    fs::write(&file, "{\"a\":1}").unwrap();
    second.look(shown_by(1, true_start_ns));
    second.look(shown_by(1, true_start_ns));
    assert_eq!(fs::read_to_string(asked.join("rank-7.json")).unwrap(), "{\"a\":1}", "what is there stays");
    let words: Vec<NodeWord> = (0..2).map(|node| files::read(&asked.join(files::word_name(node))).unwrap()).collect();
    assert!(words.iter().all(|word| word.is_over && word.is_aligned && word.collected == [7]), "{words:?}");
    first.close();
    assert_eq!(files::agents(&run.join(files::FOLDER)), [1]);
}

#[test]
fn a_process_that_does_not_write_is_missing_and_one_of_another_rank_is_not_asked() {
    let root = tempfile::tempdir().unwrap();
    let run = root.path();
    let mut station = station(run, 0);
    assert_eq!(told(run, 0), None);
    let folder = run.join(files::FOLDER);
    let asked = ask(&folder, &TogetherRequest { ranks: Some(vec![3]), ..request(run) }).unwrap();
    station.look(ZERO_NS);
    let word: NodeWord = files::read(&asked.join("node-0.json")).unwrap();
    assert!(word.asked.is_empty() && word.problem.is_some() && !word.is_aligned, "{word:?}");
    assert_eq!(told(run, 0), None);
    let asked = ask(&folder, &request(run)).unwrap();
    station.look(ZERO_NS);
    assert_eq!(told(run, 0).map(|text| start_ms(&text)), Some(ZERO_NS / 1_000_000 + 15_000), "by the wall clock");
    station.look(ZERO_NS + 120_000_000_000);
    let word: NodeWord = files::read(&asked.join("node-0.json")).unwrap();
    assert!(word.is_over && word.collected.is_empty() && word.asked == [7], "{word:?}");
    assert_eq!(summed_up(&[0, 1], vec![word]).missing, [7]);
    assert!(matches!(
        profile_together(&TogetherRequest { after: Duration::from_secs(1), ..request(run) }, &AtomicBool::new(false)),
        Err(TogetherError::TooSoon)
    ));
}
