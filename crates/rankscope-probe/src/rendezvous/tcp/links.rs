//! The connections of a store, and the limits on all of them together.
//!
//! Who may be a stranger goes first: the oldest that has not proved itself makes room for a new one, then the one that was silent
//! for the longest time, and where memory runs out the one that holds most. A client of ours that is closed so comes again by
//! itself, and knows what it had asked.
//!
//! A turn costs what there is to do in it, however many others are silent: who can go on, who waits for which key, who is still a
//! stranger and who has left something half done are looked up. Only to make room for one more are all of them gone through.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use super::board::Board;
use super::connection::{Connection, Store};
use super::frame::HELLO;
use super::refusal::{Refusal, Refusals};
use crate::key::SharedKey;

/// What all connections of a store may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// For the hello and the proof.
    pub(super) greeting: Duration,
    /// For a request or an answer, from its first byte to its last.
    pub(super) exchange: Duration,
    /// Connections that have not proved themselves yet.
    pub(super) half_open: usize,
    /// Connections.
    pub(super) links: usize,
    /// Bytes in the buffers of all connections.
    pub(super) held_bytes: usize,
}

impl Limits {
    /// Those of every store: room for a connection of each of ten thousand nodes.
    pub(super) const USUAL: Self = Self {
        greeting: Duration::from_secs(10),
        exchange: Duration::from_secs(30),
        half_open: 256,
        links: 12_288,
        held_bytes: 64 << 20,
    };
}

/// The connections of a store, by the order in which they came.
pub(super) struct Links {
    links: BTreeMap<u64, Link>,
    next: u64,
    /// Those that can go on without anything happening.
    runnable: BTreeSet<u64>,
    /// Who waits for a key.
    waiting: HashMap<String, BTreeSet<u64>>,
    /// Strangers, so the oldest first.
    half_open: BTreeSet<u64>,
    /// Those in which something is half done, by when it began.
    unsettled: BTreeSet<(Instant, u64)>,
    held_bytes: usize,
    limits: Limits,
    refusals: Refusals,
    registry: Registry,
}

struct Link {
    stream: TcpStream,
    connection: Connection,
    /// Bytes may be there to be read, and there may be room to send: so until the kernel says that it would block.
    readable: bool,
    writable: bool,
    /// The key under which [`Links::waiting`] has it.
    waits_for: Option<String>,
    hello: [u8; HELLO],
    since: Instant,
    heard: Instant,
    /// From when on something is half done.
    unsettled: Option<Instant>,
    /// To be closed when the output is sent.
    refused: bool,
    was_open: bool,
    held_bytes: usize,
}

/// A connection is over.
struct Over;

impl Links {
    /// No connections, of which `registry` is to tell what happens to them.
    pub(super) fn new(limits: Limits, refusals: Refusals, registry: Registry) -> Self {
        Self {
            links: BTreeMap::new(),
            next: 0,
            runnable: BTreeSet::new(),
            waiting: HashMap::new(),
            half_open: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            held_bytes: 0,
            limits,
            refusals,
            registry,
        }
    }

    /// Something happened to a connection.
    pub(super) fn note(&mut self, id: u64, readable: bool, writable: bool) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.readable |= readable;
        link.writable |= writable;
        self.runnable.insert(id);
    }

    /// Whether one of them can go on without anything happening.
    pub(super) fn has_work(&self) -> bool {
        !self.runnable.is_empty()
    }

    /// Takes in a connection, for which another may have to go.
    pub(super) fn admit(&mut self, mut stream: TcpStream, hello: [u8; HELLO]) -> io::Result<()> {
        if self.half_open.len() >= self.limits.half_open || self.links.len() >= self.limits.links {
            self.make_room();
        }
        self.registry.register(&mut stream, Token(self.next as usize), Interest::READABLE | Interest::WRITABLE)?;
        let now = Instant::now();
        let connection = Connection::new();
        let link = Link {
            stream,
            connection,
            readable: true,
            writable: true,
            waits_for: None,
            hello,
            since: now,
            heard: now,
            unsettled: None,
            refused: false,
            was_open: false,
            held_bytes: 0,
        };
        self.links.insert(self.next, link);
        self.half_open.insert(self.next);
        self.runnable.insert(self.next);
        self.next += 1;
        Ok(())
    }

    /// Closes the connection that is missed least; false where there is none.
    pub(super) fn make_room(&mut self) -> bool {
        let silent = || self.links.iter().min_by_key(|(_, link)| link.heard).map(|(id, _)| *id);
        let Some(id) = self.half_open.first().copied().or_else(silent) else { return false };
        self.refuse(id, Refusal::Crowded);
        true
    }

    /// Gives each that can go on its turn.
    pub(super) fn serve_all(&mut self, board: &mut Board, key: Option<&SharedKey>) {
        for id in std::mem::take(&mut self.runnable) {
            self.serve(id, board, key);
        }
    }

    /// Gives a connection its turn: reads a little, does what was asked, sends what can be sent.
    fn serve(&mut self, id: u64, board: &mut Board, key: Option<&SharedKey>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let ended = link.receive(board, key, &self.refusals).and_then(|()| link.send());
        self.account(id, ended);
    }

    /// Answers those that wait for what was written.
    pub(super) fn wake(&mut self, written: &[String], board: &Board) {
        for key in written {
            for id in self.waiting.get(key).cloned().unwrap_or_default() {
                let Some(link) = self.links.get_mut(&id) else { continue };
                link.connection.wake(key, board);
                let ended = link.send();
                self.account(id, ended);
            }
        }
    }

    /// Closes those that let time pass.
    pub(super) fn sweep(&mut self) {
        let Limits { greeting, exchange, .. } = self.limits;
        let is_late = |id: &u64| self.links.get(id).is_some_and(|link| link.since.elapsed() >= greeting);
        let late: Vec<u64> = self.half_open.iter().copied().take_while(is_late).collect();
        late.into_iter().for_each(|id| self.refuse(id, Refusal::Late));
        let is_stalled = |(since, _): &&(Instant, u64)| since.elapsed() >= exchange;
        let stalled: Vec<u64> = self.unsettled.iter().take_while(is_stalled).map(|(_, id)| *id).collect();
        stalled.into_iter().for_each(|id| self.refuse(id, Refusal::Stalled));
    }

    /// Notes what a connection has become after its turn.
    fn account(&mut self, id: u64, ended: Result<(), Over>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.connection.release();
        let held_bytes = link.connection.held_bytes();
        self.held_bytes = self.held_bytes - link.held_bytes + held_bytes;
        link.held_bytes = held_bytes;
        if link.connection.is_open() && !link.was_open {
            link.was_open = true;
            self.half_open.remove(&id);
        }
        let unsettled = match link.connection.is_settled() || !link.was_open {
            true => None,
            false => link.unsettled.or_else(|| Some(Instant::now())),
        };
        if unsettled != link.unsettled {
            let before = std::mem::replace(&mut link.unsettled, unsettled);
            before.map(|since| self.unsettled.remove(&(since, id)));
            self.unsettled.extend(unsettled.map(|since| (since, id)));
        }
        if link.waits_for.as_deref() != link.connection.waits_for() {
            let now = link.connection.waits_for().map(str::to_owned);
            let before = std::mem::replace(&mut link.waits_for, now.clone());
            forget_wait(&mut self.waiting, before, id);
            now.map(|key| self.waiting.entry(key).or_default().insert(id));
        }
        if link.can_go_on() {
            self.runnable.insert(id);
        }
        if ended.is_err() {
            self.remove(id);
        }
        while self.held_bytes > self.limits.held_bytes {
            let Some(greedy) = self.links.iter().max_by_key(|(_, link)| link.held_bytes).map(|(id, _)| *id) else { return };
            self.refuse(greedy, Refusal::Greedy);
        }
    }

    fn refuse(&mut self, id: u64, refusal: Refusal) {
        self.refusals.count(refusal);
        self.remove(id);
    }

    fn remove(&mut self, id: u64) {
        if let Some(link) = self.links.remove(&id) {
            self.held_bytes -= link.held_bytes;
            self.half_open.remove(&id);
            self.runnable.remove(&id);
            link.unsettled.map(|since| self.unsettled.remove(&(since, id)));
            forget_wait(&mut self.waiting, link.waits_for, id);
        }
    }
}

fn forget_wait(waiting: &mut HashMap<String, BTreeSet<u64>>, key: Option<String>, id: u64) {
    let Some(key) = key else { return };
    if let Some(those) = waiting.get_mut(&key) {
        those.remove(&id);
        if those.is_empty() {
            waiting.remove(&key);
        }
    }
}

impl Link {
    /// Whether another turn is of use before anything happens: whoever leaves answers lying is not listened to.
    fn can_go_on(&self) -> bool {
        let reads = self.readable && self.connection.has_room() || self.connection.can_go_on();
        !self.refused && reads || self.writable && !self.connection.output.is_empty()
    }

    /// Reads what is there, a little at a time so that others have their turn, and does what it asks for.
    fn receive(&mut self, board: &mut Board, key: Option<&SharedKey>, refusals: &Refusals) -> Result<(), Over> {
        let mut buffer = [0; 16 * 1024];
        if self.refused {
            return Ok(());
        }
        if self.readable && self.connection.has_room() {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Over),
                Ok(got) => {
                    self.heard = Instant::now();
                    self.connection.feed(&buffer[..got]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Over),
            }
        }
        if let Err(refusal) = self.connection.advance(board, &Store { key, hello: &self.hello }) {
            refusals.count(refusal);
            self.refused = true;
        }
        Ok(())
    }

    /// Writes what the socket takes.
    fn send(&mut self) -> Result<(), Over> {
        while self.writable && !self.connection.output.is_empty() {
            match self.stream.write(&self.connection.output) {
                Ok(0) => return Err(Over),
                Ok(sent) => {
                    self.connection.output.drain(..sent);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(_) => return Err(Over),
            }
        }
        if self.refused && self.connection.output.is_empty() { Err(Over) } else { Ok(()) }
    }
}
