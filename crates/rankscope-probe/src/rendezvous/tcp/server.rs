//! The store that node 0 hosts: one thread that waits for all connections at once.
//!
//! It decides nothing: it moves bytes between sockets and [`Links`], which keep them within their limits.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::board::Board;
use super::frame::{self, Identity};
use super::links::{Limits, Link, Links};
use super::listen::listeners;
use super::refusal::{Refusal, Refusals};
use crate::key::SharedKey;
use crate::rendezvous::StoreError;

/// A store on this host, for as long as it lives.
#[derive(Debug)]
pub struct StoreServer {
    address: SocketAddr,
    refusals: Refusals,
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
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
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let incarnation = random().map_err(failed)?;
        let refusals = Refusals::default();
        let links = Links::new(limits, refusals.clone());
        let host = Host { listeners, stopped, key, incarnation, board: Board::default(), links };
        let spawned = std::thread::Builder::new().name("rankscope-store".to_owned()).spawn(move || host.run());
        Ok(Self { address, refusals, stop: Some(stop), thread: Some(spawned.map_err(failed)?) })
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
        self.stop = None;
        if let Some(thread) = self.thread.take() {
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
    listeners: Vec<TcpListener>,
    stopped: UnixStream,
    key: Option<SharedKey>,
    incarnation: Identity,
    board: Board,
    links: Links,
}

/// What there is to do.
struct Ready {
    /// Somebody knocks.
    new: bool,
    links: Vec<u64>,
}

impl Host {
    fn run(mut self) {
        let mut full_until = None;
        loop {
            let accepting = full_until.is_none_or(|until| Instant::now() >= until);
            let Some(ready) = self.ready(accepting) else { return };
            if ready.new {
                full_until = self.accept().is_err().then(|| Instant::now() + FULL_PAUSE);
            }
            for id in ready.links {
                self.links.serve(id, &mut self.board, self.key.as_ref());
            }
            let written = self.board.take_written();
            if !written.is_empty() {
                self.links.wake(&written, &self.board);
            }
            self.links.sweep();
        }
    }

    /// Waits until something happens. None at the end.
    fn ready(&self, accepting: bool) -> Option<Ready> {
        let knock = if accepting { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut polled = vec![PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN)];
        polled.extend(self.listeners.iter().map(|listener| PollFd::new(listener.as_fd(), knock)));
        let first = polled.len();
        polled.extend(self.links.iter().map(|(_, link)| PollFd::new(link.stream.as_fd(), interest(link))));
        let goes_on = |link: &Link| link.connection.can_go_on();
        let pause = match accepting {
            _ if self.links.iter().any(|(_, link)| goes_on(link)) => Duration::ZERO,
            true => SWEEP,
            false => FULL_PAUSE,
        };
        if poll(&mut polled, PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX)).is_err() {
            // Interrupted, or no memory for a moment; looking at everybody is right in either case.
            return Some(Ready { new: accepting, links: self.links.iter().map(|(id, _)| id).collect() });
        }
        let any = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        if any(&polled[0]) {
            return None;
        }
        let ready = self.links.iter().zip(&polled[first..]).filter(|((_, link), fd)| any(fd) || goes_on(link));
        Some(Ready { new: polled[1..first].iter().any(any), links: ready.map(|((id, _), _)| id).collect() })
    }

    /// Takes in who knocks, at all addresses.
    fn accept(&mut self) -> io::Result<()> {
        for listener in 0..self.listeners.len() {
            let mut left = ACCEPTED_AT_ONCE;
            while left > 0 && self.accept_one(listener)? {
                left -= 1;
            }
        }
        Ok(())
    }

    /// Takes in one, if there is one.
    fn accept_one(&mut self, listener: usize) -> io::Result<bool> {
        let (stream, _) = match self.listeners[listener].accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => return Ok(true),
            Err(error) if is_out_of_files(&error) && self.links.make_room() => return Ok(true),
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        self.links.admit(stream, frame::hello(&self.incarnation, &random()?));
        Ok(true)
    }
}

/// What a connection is waited for: whoever leaves answers lying is not listened to.
fn interest(link: &Link) -> PollFlags {
    let reads = if link.connection.has_room() { PollFlags::POLLIN } else { PollFlags::empty() };
    let sends = if link.connection.output.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
    reads | sends
}

fn is_out_of_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(nix::libc::EMFILE | nix::libc::ENFILE))
}

#[cfg(test)]
mod tests;
