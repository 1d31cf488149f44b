//! The store that node 0 hosts: one thread that waits for all connections at once.
//!
//! It decides nothing: it moves bytes between sockets and [`Links`], which keep them within their limits.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

use super::board::Board;
use super::frame::{self, Identity};
use super::links::{Limits, Links};
use super::listen::listeners;
use super::refusal::{Refusal, Refusals};
use crate::key::SharedKey;
use crate::rendezvous::StoreError;

/// A store on this host, for as long as it lives.
#[derive(Debug)]
pub struct StoreServer {
    address: SocketAddr,
    refusals: Refusals,
    /// Ends the thread.
    stop: Waker,
    thread: Option<JoinHandle<()>>,
}

/// How long no connection is accepted after the kernel had no room for one.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// How often connections that let time pass are looked at.
const SWEEP: Duration = Duration::from_secs(1);

/// Connections that are accepted before others have their turn.
const ACCEPTED_AT_ONCE: usize = 64;

impl StoreServer {
    /// Hosts a store at the addresses of `host` that this host has, for nodes that have `key`, or for everybody; port 0 lets the
    /// kernel choose. Where none of them is this host's own, as behind an address that is translated, it listens at all.
    ///
    /// # Errors
    /// [`StoreError::Host`] where somebody else has the port.
    pub fn start(host: &str, port: u16, key: Option<SharedKey>) -> Result<Self, StoreError> {
        Self::start_within(Limits::USUAL, host, port, key)
    }

    fn start_within(limits: Limits, host: &str, port: u16, key: Option<SharedKey>) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Host { port, source };
        let listeners = listeners(host, port).map_err(failed)?;
        listeners.iter().try_for_each(|listener| listener.set_nonblocking(true)).map_err(failed)?;
        let address = listeners[0].local_addr().map_err(failed)?;
        let poll = Poll::new().map_err(failed)?;
        let stop = Waker::new(poll.registry(), STOP).map_err(failed)?;
        let mut doors: Vec<Door> = Vec::new();
        for (number, listener) in listeners.into_iter().enumerate() {
            let mut listener = TcpListener::from_std(listener);
            poll.registry().register(&mut listener, Token(FIRST_DOOR.0 - number), Interest::READABLE).map_err(failed)?;
            doors.push(Door { listener, knocked: false });
        }
        let incarnation = random().map_err(failed)?;
        let refusals = Refusals::default();
        let links = Links::new(limits, refusals.clone(), poll.registry().try_clone().map_err(failed)?);
        let host = Host { poll, doors, key, incarnation, board: Board::default(), links };
        let spawned = std::thread::Builder::new().name("rankscope-store".to_owned()).spawn(move || host.run());
        Ok(Self { address, refusals, stop, thread: Some(spawned.map_err(failed)?) })
    }

    /// Where it listens, or the first of several such; the unspecified address where it listens at all.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that it closed, by the reason.
    pub fn refusals(&self) -> BTreeMap<Refusal, u64> {
        self.refusals.counted()
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        let told = self.stop.wake().is_ok();
        if let Some(thread) = self.thread.take_if(|_| told) {
            // A panic in the thread has been reported by the thread.
            let _ended = thread.join();
        }
    }
}

pub(super) fn random() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

struct Host {
    poll: Poll,
    doors: Vec<Door>,
    key: Option<SharedKey>,
    incarnation: Identity,
    board: Board,
    links: Links,
}

/// An address at which the store listens.
struct Door {
    listener: TcpListener,
    /// Somebody may stand there: so until the kernel says that nobody does.
    knocked: bool,
}

/// Names of what is waited for. Connections are named by their numbers.
const STOP: Token = Token(usize::MAX);
const FIRST_DOOR: Token = Token(usize::MAX - 1);

/// What happens to more than that many connections at once is told in several pieces.
const EVENTS: usize = 1024;

impl Host {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS);
        let mut full_until: Option<Instant> = None;
        loop {
            full_until = full_until.filter(|until| Instant::now() < *until);
            let knocked = full_until.is_none() && self.doors.iter().any(|door| door.knocked);
            let pause = match full_until {
                _ if knocked || self.links.has_work() => Duration::ZERO,
                None => SWEEP,
                Some(_) => FULL_PAUSE,
            };
            // Interrupted, or no memory for a moment: what happened is told the next time.
            let told = self.poll.poll(&mut events, Some(pause)).is_ok();
            for event in events.iter().filter(|_| told) {
                match event.token() {
                    STOP => return,
                    Token(door) if FIRST_DOOR.0 - door < self.doors.len() => self.doors[FIRST_DOOR.0 - door].knocked = true,
                    Token(link) => {
                        // What has gone wrong or is over is heard of by reading, or by sending.
                        let reads = event.is_readable() || event.is_read_closed() || event.is_error();
                        let writes = event.is_writable() || event.is_write_closed() || event.is_error();
                        self.links.note(link as u64, reads, writes);
                    }
                }
            }
            if full_until.is_none() && self.accept().is_err() {
                full_until = Some(Instant::now() + FULL_PAUSE);
            }
            self.links.serve_all(&mut self.board, self.key.as_ref());
            let written = self.board.take_written();
            self.links.wake(&written, &self.board);
            self.links.sweep();
        }
    }

    /// Takes in who knocks, at all addresses.
    fn accept(&mut self) -> io::Result<()> {
        for door in 0..self.doors.len() {
            for _ in 0..ACCEPTED_AT_ONCE {
                if !self.doors[door].knocked || !self.accept_one(door)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes in one, if there is one.
    fn accept_one(&mut self, door: usize) -> io::Result<bool> {
        let (stream, _): (TcpStream, _) = match self.doors[door].listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.doors[door].knocked = false;
                return Ok(false);
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(true),
            Err(error) if is_out_of_files(&error) && self.links.make_room() => return Ok(true),
            Err(error) => return Err(error),
        };
        stream.set_nodelay(true)?;
        self.links.admit(stream, frame::hello(&self.incarnation, &random()?))?;
        Ok(true)
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

#[cfg(test)]
mod tests;
