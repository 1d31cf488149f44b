//! The thread that answers `dyno`: one connection after the other, each with a question, an answer and little time.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{DaemonError, LOOK_EVERY, Shared};
use crate::desk::Wanted;
use crate::plan::refuse_outside;
use crate::rpc::{self, Call, Profile, Profiled};

/// How long a connection may take.
const CONNECTION_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), DaemonError> {
    let failed = |reason| DaemonError::Socket { name: address.to_string(), reason };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let own = listener.local_addr().map_err(failed)?;
    Ok((listener, own))
}

pub(super) fn listen(listener: &TcpListener, shared: &Shared) {
    while !shared.is_over() {
        match listener.accept() {
            // What goes wrong with one connection is that one's.
            Ok((stream, _)) => drop(converse(stream, shared)),
            Err(_) => sleep(LOOK_EVERY),
        }
    }
}

fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let deadline = Instant::now() + CONNECTION_WITHIN;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(CONNECTION_WITHIN))?;
    let mut head = [0; 4];
    read_exact(&mut stream, &mut head, deadline)?;
    let length = rpc::length(head).ok_or(io::ErrorKind::InvalidData)?;
    let mut message = vec![0; length];
    read_exact(&mut stream, &mut message, deadline)?;
    let answer = match serde_json::from_slice(&message) {
        Ok(call) => answer(call, shared),
        Err(error) => serde_json::json!({"status": "failed", "error": error.to_string()}),
    };
    stream.write_all(&rpc::framed(answer.to_string().as_bytes()))
}

/// All of `into`, before `deadline`: who sends byte by byte gets no more time than others.
fn read_exact(stream: &mut TcpStream, into: &mut [u8], deadline: Instant) -> io::Result<()> {
    let mut filled = 0;
    while filled < into.len() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut into[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    Ok(())
}

fn answer(call: Call, shared: &Shared) -> serde_json::Value {
    match call {
        Call::Status => serde_json::json!({"status": 1}),
        Call::Version => serde_json::json!({"version": env!("CARGO_PKG_VERSION")}),
        Call::Profile(profile) => serde_json::to_value(place(profile, shared)).unwrap_or_default(),
    }
}

fn place(profile: Profile, shared: &Shared) -> Profiled {
    if let Err(outside) = refuse_outside(&profile.config, &shared.run) {
        return Profiled { error: Some(outside.to_string()), ..Profiled::default() };
    }
    let pids = if profile.pids == [0] { Vec::new() } else { profile.pids };
    let wanted = Wanted { job: Some(profile.job_id), pids, limit: profile.process_limit };
    let placed = shared.desk().place(&wanted, |_| profile.config.clone(), shared.now_ms());
    Profiled {
        processes_matched: placed.matched,
        activity_profilers_triggered: placed.triggered,
        activity_profilers_busy: i32::try_from(placed.busy.len()).unwrap_or(i32::MAX),
        ..Profiled::default()
    }
}
