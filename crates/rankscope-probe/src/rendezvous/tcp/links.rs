//! The connections of a store, and the limits on all of them together.
//!
//! Who may be a stranger goes first: the oldest that has not proved itself makes room for a new one, then the one that was silent
//! for the longest time, and where memory runs out the one that holds most. A client of ours that is closed so comes again by
//! itself, and knows what it had asked.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

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
    half_open: usize,
    held_bytes: usize,
    limits: Limits,
    refusals: Refusals,
}

pub(super) struct Link {
    pub(super) stream: TcpStream,
    pub(super) connection: Connection,
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
    pub(super) fn new(limits: Limits, refusals: Refusals) -> Self {
        Self { links: BTreeMap::new(), next: 0, half_open: 0, held_bytes: 0, limits, refusals }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Link)> {
        self.links.iter().map(|(id, link)| (*id, link))
    }

    /// Takes in a connection, for which another may have to go.
    pub(super) fn admit(&mut self, stream: TcpStream, hello: [u8; HELLO]) {
        if self.half_open >= self.limits.half_open || self.links.len() >= self.limits.links {
            self.make_room();
        }
        let now = Instant::now();
        let connection = Connection::new();
        let link = Link {
            stream,
            connection,
            hello,
            since: now,
            heard: now,
            unsettled: None,
            refused: false,
            was_open: false,
            held_bytes: 0,
        };
        self.links.insert(self.next, link);
        self.next += 1;
        self.half_open += 1;
    }

    /// Closes the connection that is missed least; false where there is none.
    pub(super) fn make_room(&mut self) -> bool {
        let stranger = self.links.iter().find(|(_, link)| !link.was_open);
        let silent = || self.links.iter().min_by_key(|(_, link)| link.heard);
        let Some(id) = stranger.or_else(silent).map(|(id, _)| *id) else { return false };
        self.refuse(id, Refusal::Crowded);
        true
    }

    /// Gives a connection its turn: reads a little, does what was asked, sends what can be sent.
    pub(super) fn serve(&mut self, id: u64, board: &mut Board, key: Option<&SharedKey>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let ended = link.receive(board, key, &self.refusals).and_then(|()| link.send());
        self.account(id, ended);
    }

    /// Answers those that wait for what was written.
    pub(super) fn wake(&mut self, written: &[String], board: &Board) {
        let waiting = |link: &Link| link.connection.waits_for().is_some_and(|key| written.iter().any(|it| it == key));
        let ids: Vec<u64> = self.links.iter().filter(|(_, link)| waiting(link)).map(|(id, _)| *id).collect();
        for id in ids {
            let Some(link) = self.links.get_mut(&id) else { continue };
            written.iter().for_each(|key| link.connection.wake(key, board));
            let ended = link.send();
            self.account(id, ended);
        }
    }

    /// Closes those that let time pass.
    pub(super) fn sweep(&mut self) {
        let Limits { greeting, exchange, .. } = self.limits;
        let late = |link: &Link| match link.unsettled {
            _ if !link.was_open => (link.since.elapsed() >= greeting).then_some(Refusal::Late),
            Some(unsettled) => (unsettled.elapsed() >= exchange).then_some(Refusal::Stalled),
            None => None,
        };
        let late: Vec<_> = self.links.iter().filter_map(|(id, link)| Some((*id, late(link)?))).collect();
        late.into_iter().for_each(|(id, refusal)| self.refuse(id, refusal));
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
            self.half_open -= 1;
        }
        link.unsettled = if link.connection.is_settled() { None } else { link.unsettled.or_else(|| Some(Instant::now())) };
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
            self.half_open -= usize::from(!link.was_open);
        }
    }
}

impl Link {
    /// Reads what is there, a little at a time so that others have their turn, and does what it asks for.
    fn receive(&mut self, board: &mut Board, key: Option<&SharedKey>, refusals: &Refusals) -> Result<(), Over> {
        let mut buffer = [0; 16 * 1024];
        if self.refused {
            return Ok(());
        }
        if self.connection.has_room() {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(Over),
                Ok(got) => {
                    self.heard = Instant::now();
                    self.connection.feed(&buffer[..got]);
                }
                Err(error) if is_for_later(&error) => {}
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
        while !self.connection.output.is_empty() {
            match self.stream.write(&self.connection.output) {
                Ok(0) => return Err(Over),
                Ok(sent) => {
                    self.connection.output.drain(..sent);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(_) => return Err(Over),
            }
        }
        if self.refused { Err(Over) } else { Ok(()) }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
