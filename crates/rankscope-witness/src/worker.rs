//! Torch's worker servers: each process of a job may have one, which answers while the program hangs.
//!
//! Handlers are asked that only look. A server lists what it has, and what is not listed is not asked for; each is asked by a
//! connection of its own, so that one that does not answer costs itself alone.

use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::http;

/// What is asked, of those that the server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handler {
    /// The flight recorder of any library, as JSON.
    FlightRecorder,
    /// That of NCCL, in older versions.
    NcclTrace,
    /// Stacks of Python's threads.
    Traceback,
    /// What is waited for.
    WaitCounters,
}

impl Handler {
    const ALL: [Self; 4] = [Self::FlightRecorder, Self::NcclTrace, Self::Traceback, Self::WaitCounters];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FlightRecorder => "fr_trace_json",
            Self::NcclTrace => "dump_nccl_trace_json",
            Self::Traceback => "dump_traceback",
            Self::WaitCounters => "wait_counter_values",
        }
    }
}

/// What one server answered.
#[derive(Debug)]
pub struct Answers {
    /// What each handler said.
    pub said: Vec<(Handler, Vec<u8>)>,
    /// Those that said nothing, and why.
    pub silent: Vec<Error>,
}

/// Servers that are asked at a time.
const AT_A_TIME: usize = 64;

/// Asks all servers at `addresses`, at most some at a time; each has as long as `within`.
pub fn ask_all(addresses: &[String], within: Duration) -> Vec<Answers> {
    let mut answers = Vec::with_capacity(addresses.len());
    for some in addresses.chunks(AT_A_TIME) {
        thread::scope(|scope| {
            let asked: Vec<_> = some.iter().map(|address| (address, scope.spawn(move || ask(address, within)))).collect();
            answers.extend(asked.into_iter().map(|(address, thread)| thread.join().unwrap_or_else(|_| lost(address))));
        });
    }
    answers
}

/// Asks the server at `address`.
pub fn ask(address: &str, within: Duration) -> Answers {
    let deadline = Instant::now() + within;
    let mut answers = Answers { said: Vec::new(), silent: Vec::new() };
    let listed = match http::request(address, "GET", "/handler/", deadline) {
        Ok(answer) => String::from_utf8_lossy(&answer.body).into_owned(),
        Err(error) => {
            answers.silent.push(error);
            return answers;
        }
    };
    let has = |handler: &Handler| listed.contains(&format!("\"{}\"", handler.name()));
    let known: Vec<Handler> = Handler::ALL.into_iter().filter(has).collect();
    if known.is_empty() {
        answers.silent.push(refused(address, "GET /handler/", listed.as_bytes()));
    }
    for handler in known {
        // The flight recorder of all libraries holds that of NCCL.
        if handler == Handler::NcclTrace && answers.said.iter().any(|(said, _)| *said == Handler::FlightRecorder) {
            continue;
        }
        let path = format!("/handler/{}", handler.name());
        match http::request(address, "POST", &path, deadline) {
            Ok(answer) if answer.status == 200 => answers.said.push((handler, answer.body)),
            Ok(answer) => answers.silent.push(refused(address, &format!("POST {path}"), &answer.body)),
            Err(error) => answers.silent.push(error),
        }
    }
    answers
}

fn refused(address: &str, question: &str, reply: &[u8]) -> Error {
    let reply = String::from_utf8_lossy(&reply[..reply.len().min(200)]).into_owned();
    Error::Refused { address: address.to_owned(), question: question.to_owned(), reply }
}

/// A thread that asked has failed, which none does.
fn lost(address: &str) -> Answers {
    let silent = vec![Error::TooLate { address: address.to_owned(), question: "GET /handler/".to_owned() }];
    Answers { said: Vec::new(), silent }
}
