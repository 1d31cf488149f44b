//! The thread that answers datagrams.
//!
//! A process waits 90 ms for an answer, and takes a later one for that to its next question. So an answer goes out in time or not at
//! all, and a configuration stays with us until it has.

use std::collections::BTreeMap;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use super::Shared;
use crate::datagram::{self, HEAD_BYTES, PAYLOAD_MAX, Poll, Refused, Said};
use crate::owner;

/// After that an answer is not sent any more.
const ANSWER_WITHIN: Duration = Duration::from_millis(80);

/// Sockets whose process is known.
const OWNERS_MAX: usize = 8_192;

/// Processes by the names of their sockets.
type Owners = BTreeMap<Vec<u8>, i32>;

/// Answers until it is over.
pub(super) fn answer(socket: &UnixDatagram, shared: &Shared) {
    // One more than is taken, so that what is longer is seen to be.
    let mut buffer = vec![0; HEAD_BYTES + PAYLOAD_MAX + 1];
    let mut owners = Owners::new();
    while !shared.is_over() {
        let Ok((bytes, from)) = socket.recv_from(&mut buffer) else { continue };
        let came = Instant::now();
        let heard = Said::read(&buffer[..bytes]).and_then(|said| is_genuine(&said, &from, &mut owners).map(|()| said));
        match heard {
            Ok(Said::Poll(poll)) => reply(socket, shared, &poll, &from, came),
            Ok(Said::Context(_)) => {
                let known = i32::try_from(shared.desk().pids().count()).unwrap_or(i32::MAX);
                // Whoever has gone does not read it.
                let _gone = socket.send_to_addr(&datagram::count(known.max(1)), &from);
            }
            Err(why) => shared.refuse(why),
        }
    }
}

/// Whether the process that a datagram names has sent it.
fn is_genuine(said: &Said, from: &SocketAddr, owners: &mut Owners) -> Result<(), Refused> {
    let name = owner::name(from).ok_or(Refused::Forged)?;
    if owners.get(&name) == Some(&said.pid()) {
        return Ok(());
    }
    if !owner::owns(said.pid(), from) {
        return Err(Refused::Forged);
    }
    if owners.len() >= OWNERS_MAX {
        owners.clear();
    }
    owners.insert(name, said.pid());
    Ok(())
}

fn reply(socket: &UnixDatagram, shared: &Shared, poll: &Poll, to: &SocketAddr, came: Instant) {
    let mut desk = shared.desk();
    let (answer, is_given) = match desk.hear(poll, shared.now_ms()) {
        Ok(text) => (datagram::configuration(text), text.is_some()),
        Err(why) => return shared.refuse(why),
    };
    if came.elapsed() < ANSWER_WITHIN && socket.send_to_addr(&answer, to).is_ok() && is_given {
        desk.given(poll.pids[0]);
    }
}
