//! A service that plays NCCL's RAS for a job of three ranks.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::json;

/// What it tells of processes by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Events {
    /// That rank 2 is dead, as soon as somebody listens; then it ends.
    Death,
    /// It does not know what is asked for, as NCCL before 2.29.
    Unknown,
}

/// It is there until the test is over.
pub(crate) struct RasService {
    address: String,
    questions: Arc<Mutex<Vec<String>>>,
}

impl RasService {
    pub(crate) fn start(events: Events) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let questions: Arc<Mutex<Vec<String>>> = Arc::default();
        let (asked, is_dead) = (Arc::clone(&questions), Arc::new(AtomicBool::new(false)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (asked, is_dead) = (Arc::clone(&asked), Arc::clone(&is_dead));
                // Who listens and who asks do not wait for each other.
                thread::spawn(move || speak(&stream, events, &asked, &is_dead));
            }
        });
        Self { address, questions }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it was asked for until now.
    pub(crate) fn questions(&self) -> Vec<String> {
        self.questions.lock().expect("nobody failed").clone()
    }
}

/// Agrees to everything until it is asked for something, answers that, and ends; where it has told of the death already it only listens.
fn speak(stream: &TcpStream, events: Events, asked: &Mutex<Vec<String>>, is_dead: &AtomicBool) {
    let mut say = stream;
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let is_question = matches!(line.as_str(), "VERBOSE STATUS" | "MONITOR lifecycle");
        let mut is_over = is_question;
        let answer = match line.as_str() {
            "CLIENT PROTOCOL 2" => "SERVER PROTOCOL 2\n".to_owned(),
            "VERBOSE STATUS" => report(is_dead.load(Ordering::SeqCst)),
            "MONITOR lifecycle" if events == Events::Unknown => "ERROR: Unknown command\n".to_owned(),
            "MONITOR lifecycle" if is_dead.swap(true, Ordering::SeqCst) => {
                is_over = false;
                "OK\n".to_owned()
            }
            "MONITOR lifecycle" => DEATH.to_owned(),
            _ => "OK\n".to_owned(),
        };
        if is_question {
            asked.lock().expect("nobody failed").push(line);
        }
        if say.write_all(answer.as_bytes()).is_err() || is_over {
            return;
        }
    }
}

const DEATH: &str = "OK\n{\n  \"timestamp\": \"2026-11-28 08:09:00\",\n  \"group\": \"LIFECYCLE\",\n  \"event\": \"PEER_DEAD\",\n  \
                     \"peer\": {\n    \"host\": \"10.0.0.2\",\n    \"pid\": 13,\n    \"cuda_devs\": [0],\n    \"nvml_devs\": [0]\n  },\n  \
                     \"details\": \"\"\n}\n";

fn report(is_dead: bool) -> String {
    let rank = |rank: u32, host: &str, pid: u32| json!({"rank": rank, "host": host, "pid": pid, "collective_counts": {"AllReduce": 9}});
    let third = rank(2, "10.0.0.2", 13);
    let mut ranks = vec![rank(0, "10.0.0.1", 11), rank(1, "10.0.0.1", 12)];
    let mut missing = Vec::new();
    if is_dead {
        missing.push(json!({"rank": 2, "host": "10.0.0.2", "pid": 13, "status": {"considered_dead": true}}));
    } else {
        ranks.push(third);
    }
    json!({"communicators": [{"size": 3, "ranks": ranks, "missing_ranks": missing}]}).to_string() + "\n"
}
