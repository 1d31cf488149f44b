//! The client against worker servers over real sockets: those that answer, and those that lie, stall and hang up.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rankscope_hang::{Dump, Evidence, Observed};
use rankscope_witness::Error;
use rankscope_witness::worker::{self, Handler};

/// A server of `handlers`, each with what it answers, byte by byte.
fn serve(handlers: Vec<(&'static str, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(&stream.expect("a connection"), &handlers);
        }
    });
    address
}

fn answer(stream: &TcpStream, handlers: &[(&str, String)]) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let Some(request) = lines.next() else { return };
    // The head ends in an empty line; there is no body.
    let _head = lines.find(String::is_empty);
    let reply = if request.starts_with("GET /handler/ ") {
        let names: Vec<String> = handlers.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        whole(&format!("[{}]\n", names.join(",")))
    } else {
        let known = handlers.iter().find(|(name, _)| request == format!("POST /handler/{name} HTTP/1.1"));
        known.map_or_else(|| "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned(), |(_, reply)| reply.clone())
    };
    let mut stream = stream;
    // Whoever asked may have had enough.
    let _gone = stream.write_all(reply.as_bytes());
    if reply.is_empty() {
        thread::sleep(Duration::from_secs(5));
    }
}

/// `body` as an answer that says its length.
fn whole(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// What a rank of two has recorded: six calls that ended, and a seventh if it `waits`.
fn recorded(waits: bool) -> String {
    let call = |number: u32| {
        format!(
            r#"{{"process_group": ["0", "default_pg"], "collective_seq_id": {number}, "profiling_name": "nccl:all_reduce",
                "time_created_ns": {number}, "state": "{}"}}"#,
            if number < 7 { "completed" } else { "started" }
        )
    };
    let calls: Vec<String> = (1..=if waits { 7 } else { 6 }).map(call).collect();
    format!(r#"{{"version": "2.10", "pg_config": {{"0": {{"ranks": "[0, 1]"}}}}, "entries": [{}]}}"#, calls.join(","))
}

const LOADER: &str = "Thread 0x00007f1a2b3c0000 (most recent call first):
  File \"/job/loader.py\", line 12 in read_shard
  File \"/job/gen.py\", line 60 in <module>
";

#[test]
fn servers_are_asked_for_what_they_have_and_their_answers_name_the_rank() {
    let waits = serve(vec![
        ("fr_trace_json", whole(&recorded(true))),
        ("dump_nccl_trace_json", whole("never asked for")),
        (
            "wait_counter_values",
            whole(r#"{"pytorch.wait_counter.ProcessGroupNCCL": {"active_count": 1}, "x": {"active_count": 0}}"#),
        ),
    ]);
    let stuck = serve(vec![("dump_nccl_trace_json", whole(&recorded(false))), ("dump_traceback", whole(LOADER))]);
    let answers = worker::ask_all(&[waits, stuck], Duration::from_secs(10));
    let mut evidence = Evidence::default();
    for (rank, answers) in (0..).zip(answers) {
        assert!(answers.silent.is_empty(), "{:?}", answers.silent);
        for (handler, bytes) in answers.said {
            match handler {
                Handler::FlightRecorder | Handler::NcclTrace => {
                    evidence.add(rank, "worker", Dump::read(&bytes).expect("a dump"));
                }
                Handler::Traceback => {
                    let python = Some(String::from_utf8(bytes).expect("text"));
                    evidence.add_observed(Observed { rank: Some(rank), python, ..Observed::default() });
                }
                Handler::WaitCounters => {
                    let waits = rankscope_hang::active_waits(&bytes);
                    assert_eq!(waits, ["pytorch.wait_counter.ProcessGroupNCCL"]);
                    evidence.add_observed(Observed { rank: Some(rank), waits, ..Observed::default() });
                }
            }
        }
    }
    let verdict = evidence.verdict("workers").verdict;
    assert_eq!((verdict.kind.as_str(), verdict.roots.len(), verdict.roots[0].rank), ("outside", 1, 1));
    assert!(verdict.summary.contains("read_shard (loader.py)"), "{}", verdict.summary);
}

#[test]
fn who_stalls_lies_or_hangs_up_costs_one_answer_and_no_more() {
    let bad = serve(vec![
        ("fr_trace_json", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"version\"".to_owned()),
        ("dump_nccl_trace_json", whole("{}")),
        ("dump_traceback", "HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nno\n".to_owned()),
        ("wait_counter_values", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n".to_owned()),
    ]);
    let answers = worker::ask(&bad, Duration::from_secs(10));
    assert_eq!(answers.said, [(Handler::NcclTrace, b"{}".to_vec())]);
    assert!(
        matches!(answers.silent[..], [Error::HungUp { bytes: 10, .. }, Error::Refused { .. }, Error::TooLarge { .. }]),
        "{:?}",
        answers.silent
    );
    let stalls = serve(vec![("fr_trace_json", String::new())]);
    let answers = worker::ask(&stalls, Duration::from_millis(300));
    assert!(answers.said.is_empty() && matches!(answers.silent[..], [Error::TooLate { .. }]), "{:?}", answers.silent);
}

#[test]
fn something_else_on_the_port_is_no_worker_server() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _gone = stream.expect("a connection").write_all(b"SSH-2.0-OpenSSH_9.6\r\n\r\n");
        }
    });
    let answers = worker::ask(&address, Duration::from_secs(5));
    assert!(
        answers.said.is_empty() && matches!(answers.silent[..], [Error::Refused { .. } | Error::HungUp { .. }]),
        "{:?}",
        answers.silent
    );
}
