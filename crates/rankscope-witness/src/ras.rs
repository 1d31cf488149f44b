//! NCCL's RAS service: lines over TCP, and at the end one report.
//!
//! Every process of a job has the service, and any of them answers for all. JSON is asked for, which NCCL has since 2.28.7; a service that
//! does not know it is asked again for text. The report is of a moment: a job that runs is not held up.

mod monitor;

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::wire::Wire;

pub use monitor::follow;

/// Where the service listens unless `NCCL_RAS_ADDR` says otherwise.
pub const ADDRESS: &str = "localhost:28028";

/// Seconds that the service may wait for ranks that do not answer.
const COLLECT_S: u64 = 5;

/// Between two attempts where the service is busy.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// The report of the service at `address`, as it sent it.
///
/// # Errors
/// [`Error`], where there is none `within` that time.
pub fn ask(address: &str, within: Duration) -> Result<Vec<u8>, Error> {
    let deadline = Instant::now() + within;
    let mut form = Form::Json;
    loop {
        match ask_once(address, form, deadline) {
            Err(Error::Refused { .. } | Error::HungUp { bytes: 0, .. }) if form == Form::Json => form = Form::Text,
            Err(Error::Busy { .. }) if Instant::now() + BUSY_PAUSE < deadline => std::thread::sleep(BUSY_PAUSE),
            answer => return answer,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Text,
}

fn ask_once(address: &str, form: Form, deadline: Instant) -> Result<Vec<u8>, Error> {
    let mut wire = Wire::connect(address, deadline)?;
    command(&mut wire, address, "CLIENT PROTOCOL 2", "SERVER PROTOCOL")?;
    command(&mut wire, address, &format!("TIMEOUT {COLLECT_S}"), "OK")?;
    if form == Form::Json {
        command(&mut wire, address, "SET FORMAT json", "OK")?;
    }
    wire.send(b"VERBOSE STATUS\n", STATUS)?;
    let first = wire.line(STATUS)?;
    refusal(address, STATUS, &first)?;
    let mut report = first.into_bytes();
    report.push(b'\n');
    report.extend(wire.rest(STATUS, None)?);
    Ok(report)
}

const STATUS: &str = "VERBOSE STATUS";

/// Sends a command and takes the line that answers it.
fn command(wire: &mut Wire, address: &str, command: &str, expected: &str) -> Result<(), Error> {
    wire.send(format!("{command}\n").as_bytes(), command)?;
    let reply = wire.line(command)?;
    refusal(address, command, &reply)?;
    match reply.to_ascii_uppercase().starts_with(expected) {
        true => Ok(()),
        false => Err(refused(address, command, &reply)),
    }
}

/// Whether a line says that there will be no answer.
fn refusal(address: &str, question: &str, line: &str) -> Result<(), Error> {
    let upper = line.to_ascii_uppercase();
    if upper.starts_with("BUSY") {
        return Err(Error::Busy { address: address.to_owned() });
    }
    if upper.starts_with("ERROR") {
        return Err(refused(address, question, line));
    }
    Ok(())
}

fn refused(address: &str, question: &str, reply: &str) -> Error {
    let reply = reply.chars().take(200).collect();
    Error::Refused { address: address.to_owned(), question: question.to_owned(), reply }
}
