//! The daemon over real sockets: processes that ask as torch's do, and those who lie, stall, flood and ask for what is not theirs.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rankscope_on_demand::datagram::{self, ACTIVITIES, Context, Poll, Refused, Said};
use rankscope_on_demand::rpc::{self, Profiled};
use rankscope_on_demand::{Daemon, DaemonError, Options, Wanted};

/// A name that no other test has.
fn unused(what: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("rankscope-test-{what}-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn address(name: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(format!("{name}\0")).expect("a name")
}

fn daemon(run: &Path) -> (Daemon, SocketAddr) {
    let name = unused("daemon");
    let options = Options { name: name.clone(), rpc: Some(([127, 0, 0, 1], 0).into()), run: run.to_owned() };
    (Daemon::start(options).expect("a daemon"), address(&name))
}

/// A process that asks.
struct Client {
    socket: UnixDatagram,
    daemon: SocketAddr,
}

impl Client {
    fn of(daemon: &SocketAddr) -> Self {
        let socket = UnixDatagram::bind_addr(&address(&unused("client"))).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(1))).expect("set");
        Self { socket, daemon: daemon.clone() }
    }

    fn send(&self, bytes: &[u8]) {
        self.socket.send_to_addr(bytes, &self.daemon).expect("sent");
    }

    /// Asks until there is an answer: one that would come late is not sent.
    fn poll(&self) -> Option<String> {
        datagram::answered(&self.insist(&poll_of(own_pid()))).map(str::to_owned)
    }

    fn insist(&self, said: &Said) -> Vec<u8> {
        let mut buffer = [0; 4096];
        loop {
            self.send(&said.bytes());
            if let Ok(bytes) = self.socket.recv(&mut buffer) {
                return buffer[..bytes].to_vec();
            }
        }
    }
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).expect("a number")
}

fn poll_of(pid: i32) -> Said {
    Said::Poll(Poll { kinds: ACTIVITIES, job: 0, pids: vec![pid, 1] })
}

fn all() -> Wanted {
    Wanted { limit: 1_000, ..Wanted::default() }
}

/// What `dyno` would get.
fn ask(daemon: &Daemon, message: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(daemon.rpc().expect("it listens")).expect("connected");
    stream.write_all(&rpc::framed(message.as_bytes())).expect("sent");
    let mut head = [0; 4];
    stream.read_exact(&mut head).expect("a length");
    let mut answer = vec![0; rpc::length(head).expect("a length")];
    stream.read_exact(&mut answer).expect("an answer");
    serde_json::from_slice(&answer).expect("JSON")
}

#[test]
fn a_process_that_asks_gets_its_configuration_once() {
    let (daemon, address) = daemon(Path::new("/runs/a"));
    let client = Client::of(&address);
    assert_eq!(client.insist(&Said::Context(Context { gpu: 0, pid: own_pid(), job: 0 })), datagram::count(1));
    assert_eq!(client.poll(), None);
    assert_eq!(daemon.pids(), [own_pid()]);
    assert_eq!(daemon.place(&all(), |pid| format!("A={pid}\n")).triggered, [own_pid()]);
    assert_eq!(daemon.place(&all(), |_| String::new()).busy, [own_pid()]);
    assert_eq!(client.poll(), Some(format!("A={}\n", own_pid())));
    assert_eq!(client.poll(), None);
}

#[test]
fn what_was_not_delivered_waits_for_the_next_question() {
    let (daemon, address) = daemon(Path::new("/runs/a"));
    assert_eq!(Client::of(&address).poll(), None);
    daemon.place(&all(), |_| "A=1\n".to_owned());
    // It asks and is gone before it is answered, or just after: then the answer lies in a socket that nobody reads.
    let gone = Client::of(&address);
    gone.send(&poll_of(own_pid()).bytes());
    drop(gone);
    let next = Client::of(&address);
    // Either the first answer was sent in time, or the next question gets it.
    let late = next.poll();
    assert!(late.is_none() || late.as_deref() == Some("A=1\n"), "{late:?}");
    daemon.place(&all(), |_| "A=2\n".to_owned());
    assert_eq!(daemon.cancel(&[own_pid()]), [own_pid()]);
    assert_eq!(next.poll(), None);
}

#[test]
fn datagrams_that_lie_are_counted_and_answered_by_nothing() {
    let (daemon, address) = daemon(Path::new("/runs/a"));
    let client = Client::of(&address);
    let genuine = poll_of(own_pid()).bytes();
    client.send(&genuine[..genuine.len() - 3]);
    client.send(&[genuine.clone(), vec![1]].concat());
    client.send(b"hello");
    // Of the first process of this machine, which does not have this socket.
    client.send(&poll_of(1).bytes());
    // The next answer is that to the next question.
    assert_eq!(client.poll(), None);
    let refusals = daemon.refusals();
    assert_eq!(refusals.get(&Refused::Cut), Some(&2));
    assert_eq!((refusals.get(&Refused::Size), refusals.get(&Refused::Forged)), (Some(&1), Some(&1)));
    assert_eq!(daemon.pids(), [own_pid()], "who lies is not known");
}

#[test]
fn a_thousand_clients_and_a_flood_of_nonsense_are_survived() {
    let (daemon, address) = daemon(Path::new("/runs/a"));
    let clients: Vec<Client> = (0..200).map(|_| Client::of(&address)).collect();
    for round in 0..5 {
        for client in &clients {
            client.send(&[round; 60]);
            client.poll();
        }
    }
    assert_eq!(daemon.refusals().values().sum::<u64>(), 1_000);
    assert_eq!(daemon.pids(), [own_pid()]);
}

#[test]
fn dyno_is_answered_and_no_configuration_points_out_of_the_run() {
    let (daemon, address) = daemon(Path::new("/runs/a"));
    let client = Client::of(&address);
    assert_eq!(client.poll(), None);
    assert_eq!(ask(&daemon, r#"{"fn":"getStatus"}"#)["status"], 1);
    assert!(ask(&daemon, "nonsense")["error"].is_string());
    let profile = |file: &str| {
        let config = serde_json::Value::from(format!("ACTIVITIES_LOG_FILE={file}\n"));
        let answer = ask(&daemon, &format!(r#"{{"fn":"setKinetOnDemandRequest","config":{config},"pids":[0]}}"#));
        serde_json::from_value::<Profiled>(answer).expect("an answer")
    };
    let refused = profile("/runs/a/../../etc/x.json");
    assert!(refused.activity_profilers_triggered.is_empty() && refused.error.is_some(), "{refused:?}");
    assert_eq!(client.poll(), None);
    let taken = profile("/runs/a/x.json");
    assert_eq!((taken.processes_matched, taken.activity_profilers_triggered), (vec![own_pid()], vec![own_pid()]));
    assert_eq!(profile("/runs/a/y.json").activity_profilers_busy, 1);
    assert_eq!(client.poll(), Some("ACTIVITIES_LOG_FILE=/runs/a/x.json\n".to_owned()));
}

#[test]
fn who_sends_half_a_question_keeps_nobody_else_waiting_for_long() {
    let (daemon, _) = daemon(Path::new("/runs/a"));
    let mut stalls = TcpStream::connect(daemon.rpc().expect("it listens")).expect("connected");
    stalls.write_all(&[9, 0]).expect("sent");
    assert_eq!(ask(&daemon, r#"{"fn":"getVersion"}"#)["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_second_daemon_is_told_that_there_is_one() {
    let name = unused("daemon");
    let options = || Options { name: name.clone(), rpc: None, run: "/runs/a".into() };
    let first = Daemon::start(options()).expect("a daemon");
    assert!(matches!(Daemon::start(options()), Err(DaemonError::Taken { .. })));
    drop(first);
    Daemon::start(options()).expect("the name is free again");
}
