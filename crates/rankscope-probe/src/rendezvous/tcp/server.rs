//! The store that node 0 hosts: one thread that waits for all connections at once.
//!
//! It decides nothing; it moves bytes between sockets and [`Connection`]s. A connection that stays silent before it has proved
//! itself, or that does not take its answers, is closed.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::auth::SharedKey;
use super::board::Board;
use super::connection::{Connection, Store};
use super::frame::{self, Identity};
use crate::rendezvous::StoreError;

/// A store on this host, for as long as it lives.
#[derive(Debug)]
pub struct StoreServer {
    address: SocketAddr,
    /// Closing it ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

/// For the hello and the proof.
const GREETING_MAX: Duration = Duration::from_secs(10);

/// Bytes that a client may leave lying: two of the longest answers.
const OUTPUT_MAX: usize = 3 << 20;

/// How long no connection is accepted after the kernel had no room for one.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// How often silent connections are looked at.
const SWEEP: Duration = Duration::from_secs(1);

impl StoreServer {
    /// Hosts a store on `port`, on all addresses; port 0 lets the kernel choose.
    ///
    /// # Errors
    /// [`StoreError::Host`] where somebody else has the port.
    pub fn start(port: u16, key: SharedKey) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Host { port, source };
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
            .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        let incarnation = random().map_err(failed)?;
        let host = Host { listener, stopped, key, incarnation, board: Board::default(), links: BTreeMap::new(), next: 0 };
        let spawned = std::thread::Builder::new().name("rankscope-store".to_owned()).spawn(move || host.run());
        Ok(Self { address, stop: Some(stop), thread: Some(spawned.map_err(failed)?) })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
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
    listener: TcpListener,
    stopped: UnixStream,
    key: SharedKey,
    incarnation: Identity,
    board: Board,
    links: BTreeMap<u64, Link>,
    next: u64,
}

struct Link {
    stream: TcpStream,
    connection: Connection,
    hello: [u8; frame::HELLO],
    since: Instant,
    /// To be closed when the output is sent.
    refused: bool,
}

impl Host {
    fn run(mut self) {
        let mut full_until = None;
        loop {
            let accepting = full_until.is_none_or(|until| Instant::now() >= until);
            let Some((new, ready)) = self.ready(accepting) else { return };
            if new {
                full_until = self.accept().is_err().then(|| Instant::now() + FULL_PAUSE);
            }
            let mut set = Vec::new();
            for id in ready {
                self.serve(id, &mut set);
            }
            self.wake(&set);
            self.links.retain(|_, link| link.connection.is_open() || link.since.elapsed() < GREETING_MAX);
        }
    }

    /// Waits until something happens: whether somebody knocks, and which connections have something. None at the end.
    fn ready(&self, accepting: bool) -> Option<(bool, Vec<u64>)> {
        let knock = if accepting { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut polled = vec![PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN), PollFd::new(self.listener.as_fd(), knock)];
        polled.extend(self.links.values().map(|link| {
            let sends = if link.connection.output.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
            PollFd::new(link.stream.as_fd(), PollFlags::POLLIN | sends)
        }));
        let pause = if accepting { SWEEP } else { FULL_PAUSE };
        let timeout = PollTimeout::try_from(pause).unwrap_or(PollTimeout::MAX);
        if poll(&mut polled, timeout).is_err() {
            // Interrupted, or no memory for a moment; looking at everybody is right in either case.
            return Some((accepting, self.links.keys().copied().collect()));
        }
        let any = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
        if any(&polled[0]) {
            return None;
        }
        let links = self.links.keys().zip(&polled[2..]).filter(|(_, fd)| any(fd)).map(|(id, _)| *id);
        Some((any(&polled[1]), links.collect()))
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let (stream, _) = match self.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let hello = frame::hello(&self.incarnation, &random()?);
            let link = Link { stream, connection: Connection::new(), hello, since: Instant::now(), refused: false };
            self.links.insert(self.next, link);
            self.next += 1;
        }
    }

    fn serve(&mut self, id: u64, set: &mut Vec<String>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let alive = link.receive(&mut self.board, &self.key, set) && link.send();
        if !alive {
            self.links.remove(&id);
        }
    }

    fn wake(&mut self, set: &[String]) {
        if set.is_empty() {
            return;
        }
        let board = &self.board;
        self.links.retain(|_, link| {
            let Some(key) = link.connection.waits_for() else { return true };
            match set.iter().find(|set| *set == key) {
                Some(key) => {
                    link.connection.wake(key, board);
                    link.send()
                }
                None => true,
            }
        });
    }
}

impl Link {
    /// Reads what is there; false where the connection is over.
    fn receive(&mut self, board: &mut Board, key: &SharedKey, set: &mut Vec<String>) -> bool {
        let mut buffer = [0; 16 * 1024];
        let store = Store { key, hello: &self.hello };
        while !self.refused {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(got) => self.refused = self.connection.feed(&buffer[..got], board, &store, set).is_err(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }

    /// Writes what the socket takes; false where the connection is over.
    fn send(&mut self) -> bool {
        while !self.connection.output.is_empty() {
            match self.stream.write(&self.connection.output) {
                Ok(sent) => {
                    self.connection.output.drain(..sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return self.connection.output.len() <= OUTPUT_MAX;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        !self.refused
    }
}
