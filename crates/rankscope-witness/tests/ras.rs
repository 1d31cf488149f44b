//! The client against services over real sockets that answer as NCCL's does, and as it does on a bad day.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

use rankscope_hang::{Evidence, RasAnswer, RasError, RasEvent, RasEventKind};
use rankscope_witness::{Error, ras};

/// A service of NCCL 2.29, which sends `events` to whoever follows, in pieces of so many bytes, and then does as `then` says.
fn serve_events(events: &'static str, piece: usize, then: Then) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nodelay(true).expect("set");
        let mut say = &stream;
        for line in BufReader::new(&stream).lines().map_while(Result::ok) {
            match (line.to_ascii_lowercase().as_str(), then) {
                ("client protocol 2", _) => say.write_all(b"SERVER PROTOCOL 2\n").expect("sent"),
                ("set format json", _) => say.write_all(b"OK\n").expect("sent"),
                ("monitor lifecycle", Then::KnowsNone) => say.write_all(b"ERROR: Unknown command monitor\n").expect("sent"),
                ("monitor lifecycle", _) => {
                    // An event may come in one piece with the answer.
                    let all = format!("OK\n{events}");
                    all.as_bytes().chunks(piece).for_each(|piece| say.write_all(piece).expect("sent"));
                    if matches!(then, Then::Ends) {
                        return;
                    }
                }
                (other, _) => panic!("unexpected command {other:?}"),
            }
        }
    });
    address
}

/// What a service does that sent its events.
#[derive(Clone, Copy)]
enum Then {
    /// It ends.
    Ends,
    /// It says nothing more.
    Waits,
    /// It is older and has no events to send.
    KnowsNone,
}

/// Two processes of a job, as NCCL writes it.
const EVENTS: &str = r#"{
  "timestamp": "2026-11-28 08:00:00",
  "group": "LIFECYCLE",
  "event": "PEER_NEW",
  "peer": {
    "host": "10.0.0.1",
    "pid": 11,
    "cuda_devs": [0],
    "nvml_devs": [0]
  },
  "details": ""
}
{
  "timestamp": "2026-11-28 08:09:00",
  "group": "LIFECYCLE",
  "event": "PEER_DEAD",
  "peer": {
    "host": "10.0.0.2",
    "pid": 13,
    "cuda_devs": [0,1],
    "nvml_devs": [4,5]
  },
  "details": ""
}
"#;

fn followed(address: &str) -> (Vec<RasEvent>, Result<(), Error>) {
    let mut events = Vec::new();
    let ended = ras::follow(address, Duration::from_secs(10), |event| {
        events.extend(event.map(|event| RasEvent::read(event).expect("an event")));
        ControlFlow::Continue(())
    });
    (events, ended)
}

#[test]
fn events_are_heard_in_whatever_pieces_they_come() {
    for piece in [1, 7, 64, EVENTS.len() + 3] {
        let (events, ended) = followed(&serve_events(EVENTS, piece, Then::Ends));
        ended.expect("it ended between events");
        let said: Vec<_> = events.iter().map(|event| (event.kind.clone(), event.host.as_deref(), event.pid)).collect();
        let expected = [(RasEventKind::Joined, Some("10.0.0.1"), Some(11)), (RasEventKind::Dead, Some("10.0.0.2"), Some(13))];
        assert_eq!(said, expected, "{piece}");
    }
}

#[test]
fn one_that_hangs_up_in_the_middle_of_an_event_is_told_so_wherever() {
    let first = EVENTS.find("}\n{").expect("two") + 2;
    for bytes in (1..EVENTS.len() - 2).step_by(23).filter(|bytes| *bytes != first) {
        let (events, ended) = followed(&serve_events(&EVENTS[..bytes], usize::MAX, Then::Ends));
        assert_eq!(events.len(), usize::from(bytes > first), "{bytes}");
        assert!(matches!(ended, Err(Error::HungUp { .. })), "{bytes}: {ended:?}");
    }
    let (events, ended) = followed(&serve_events(&EVENTS[..first], usize::MAX, Then::Ends));
    assert!(events.len() == 1 && ended.is_ok(), "{ended:?}");
}

#[test]
fn whoever_follows_may_go_while_nothing_happens() {
    let address = serve_events(EVENTS, usize::MAX, Then::Waits);
    let (mut heard, mut turns) = (0, 0);
    ras::follow(&address, Duration::from_secs(10), |event| {
        heard += u32::from(event.is_some());
        turns += u32::from(event.is_none());
        if turns < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .expect("left");
    assert_eq!(heard, 2);
}

#[test]
fn one_that_has_no_events_is_told_so() {
    let (_, ended) = followed(&serve_events("", usize::MAX, Then::KnowsNone));
    assert!(matches!(&ended, Err(Error::Refused { question, .. }) if question == "MONITOR lifecycle"), "{ended:?}");
    assert!(matches!(followed(&serve(Habit::CutLine)).1, Err(Error::HungUp { .. })));
    let mute = ras::follow(&serve(Habit::Mute), Duration::from_millis(300), |_| ControlFlow::Continue(()));
    assert!(matches!(mute, Err(Error::TooLate { .. })), "{mute:?}");
}

/// What a service does when it is asked.
#[derive(Clone, Copy)]
enum Habit {
    /// It knows JSON.
    Json(&'static str),
    /// It is older: it knows text alone.
    Text(&'static str),
    /// It sends so many bytes of the report and hangs up.
    Cut(&'static str, usize),
    /// It hangs up in the middle of the line that answers the first command.
    CutLine,
    /// It is busy the first so many times.
    Busy(u32, &'static str),
    /// It says nothing at all.
    Mute,
}

/// Listens, and behaves as `habit` says, to as many as come.
fn serve(habit: Habit) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        let mut held = Vec::new();
        for (number, stream) in (0..).zip(listener.incoming()) {
            let stream = stream.expect("a connection");
            match habit {
                Habit::Mute => held.push(stream),
                _ => answer(&stream, habit, number),
            }
        }
    });
    address
}

fn answer(stream: &TcpStream, habit: Habit, number: u32) {
    let mut say = stream;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let reply = match (line.to_ascii_lowercase().as_str(), habit) {
            (_, Habit::CutLine) => {
                say.write_all(b"SERVER PROT").expect("sent");
                return;
            }
            ("client protocol 2", _) => "SERVER PROTOCOL 2\n",
            ("timeout 5", _) => "OK\n",
            ("set format json", Habit::Text(_)) => "ERROR: Unknown command SET FORMAT json\n",
            ("set format json", _) => "OK\n",
            ("verbose status", Habit::Busy(times, _)) if number < times => "BUSY\n",
            ("verbose status", Habit::Json(report) | Habit::Text(report) | Habit::Busy(_, report)) => {
                say.write_all(report.as_bytes()).expect("sent");
                return;
            }
            ("verbose status", Habit::Cut(report, bytes)) => {
                say.write_all(&report.as_bytes()[..bytes]).expect("sent");
                return;
            }
            (other, _) => panic!("unexpected command {other:?}"),
        };
        say.write_all(reply.as_bytes()).expect("sent");
    }
}

fn ask(habit: Habit) -> Result<Vec<u8>, Error> {
    ras::ask(&serve(habit), Duration::from_secs(10))
}

/// The kind of the verdict by this answer alone, and whom it names.
fn judged(bytes: &[u8]) -> (String, Vec<u32>) {
    let mut evidence = Evidence::default();
    evidence.add_ras(RasAnswer::read(bytes).expect("an answer"));
    let verdict = evidence.verdict("ras").verdict;
    (verdict.kind.to_string(), verdict.roots.iter().map(|root| root.rank).collect())
}

/// Rank 2 of 3 is dead. As NCCL 2.28.9 writes it: without the comma before "status".
const NO_COMMA: &str = r#"{
  "nccl_version": "2.28.9",
  "communicators_count": 1,
  "communicators": [
    {
      "hash": "0xae94", "size": 3, "ranks_count": 2, "missing_ranks_count": 1,
      "ranks": [
        { "rank": 0, "host": "10.0.0.1", "pid": 11, "status": { "init_state": 0 }, "collective_counts": { "AllReduce": 12 } },
        { "rank": 1, "host": "10.0.0.1", "pid": 12, "status": { "init_state": 0 }, "collective_counts": { "AllReduce": 12 } }
      ],
      "missing_ranks": [
        { "rank": 2, "host": "10.0.0.2", "pid": 13, "cuda_dev": 0,
          "nvml_dev": 0
          "status": { "unresponsive": true, "considered_dead": true } }
      ]
    }
  ],
  "ras": { "collection_time_sec": 0.1, "timeouts_count": 0 }
}
"#;

/// One rank of four has launched less.
const BEHIND: &str = r#"{"communicators": [{"size": 4, "ranks": [
    {"rank": 0, "host": "a", "pid": 1, "collective_counts": {"AllReduce": 9}},
    {"rank": 1, "host": "a", "pid": 2, "collective_counts": {"AllReduce": 8}},
    {"rank": 2, "host": "a", "pid": 3, "collective_counts": {"AllReduce": 9}},
    {"rank": 3, "host": "a", "pid": 4, "collective_counts": {"AllReduce": 9}}]}]}
"#;

const TEXT: &str = "NCCL version 2.27.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4        7-8            1         31       31

Communicators... (2.05s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4       7-8        32        31   RUNNING  INCOMPLETE

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 172.16.64.213 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
  The missing rank: 21

Warnings
========

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different AllReduce operation counts
  30 ranks have launched up to operation 64
  Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node 172.16.64.210
";

#[test]
fn a_missing_comma_is_put_back_and_the_dead_rank_is_named() {
    let report = ask(Habit::Json(NO_COMMA)).expect("an answer");
    assert_eq!(judged(&report), ("dead".to_owned(), vec![2]));
}

#[test]
fn counts_alone_name_nobody() {
    let report = ask(Habit::Json(BEHIND)).expect("an answer");
    assert_eq!(judged(&report), ("unclear".to_owned(), vec![]));
}

#[test]
fn a_service_that_knows_text_alone_is_asked_for_text() {
    let report = ask(Habit::Text(TEXT)).expect("an answer");
    assert_eq!(judged(&report), ("dead".to_owned(), vec![21]));
}

#[test]
fn a_report_that_is_cut_off_is_refused_wherever_it_is_cut() {
    let end = NO_COMMA.trim_end().len();
    for bytes in (40..end).step_by(7) {
        let report = ask(Habit::Cut(NO_COMMA, bytes)).expect("what came");
        assert!(matches!(RasAnswer::read(&report), Err(RasError::Cut { .. })), "{bytes}");
    }
    let report = ask(Habit::Cut(TEXT, TEXT.find("Warnings").expect("there"))).expect("what came");
    assert!(matches!(RasAnswer::read(&report), Err(RasError::Cut { .. })));
}

#[test]
fn one_that_hangs_up_in_the_middle_of_a_line_is_told_so() {
    assert!(matches!(ask(Habit::CutLine), Err(Error::HungUp { bytes: 11, .. })));
}

#[test]
fn one_that_is_busy_is_asked_again() {
    let report = ask(Habit::Busy(2, NO_COMMA)).expect("an answer");
    assert_eq!(judged(&report).1, vec![2]);
    let busy = ras::ask(&serve(Habit::Busy(u32::MAX, "")), Duration::from_millis(500));
    assert!(matches!(busy, Err(Error::Busy { .. })), "{busy:?}");
}

#[test]
fn one_that_says_nothing_is_not_waited_for() {
    let mute = ras::ask(&serve(Habit::Mute), Duration::from_millis(300));
    assert!(matches!(mute, Err(Error::TooLate { .. })), "{mute:?}");
    assert!(matches!(ras::ask("nonsense", Duration::from_secs(1)), Err(Error::NoAddress { .. })));
}
