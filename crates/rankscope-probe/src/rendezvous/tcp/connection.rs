//! The store's end of one connection, as a state machine over bytes.
//!
//! It answers no faster than its answers are taken: while more than [`OUTPUT_MAX`] of them wait, requests stay where they are and
//! no more are to be read. So a connection holds two of the longest frames at most, whatever the other end does.

use super::auth::{Direction, PROOF_BYTES, Session};
use super::board::Board;
use super::frame::{self, BadHello, Front, HELLO, Identity};
use super::refusal::Refusal;
use crate::key::SharedKey;

/// Where a connection stands.
enum State {
    Greeting,
    Proving { client: Identity, session: Session },
    Open { client: Identity, session: Session },
}

/// The store's end of one connection.
pub(super) struct Connection {
    state: State,
    input: Vec<u8>,
    /// What is to be sent.
    pub(super) output: Vec<u8>,
    /// A wait that has no answer yet: its number and key.
    parked: Option<(u32, String)>,
    /// Requests may wait in the input until there is room for their answers.
    held_up: bool,
}

/// Bytes of answers that wait before no more are made.
const OUTPUT_MAX: usize = 64 << 10;

/// Room that an empty buffer keeps.
const SPARE_MAX: usize = 4 << 10;

impl Connection {
    pub(super) fn new() -> Self {
        Self { state: State::Greeting, input: Vec::new(), output: Vec::new(), parked: None, held_up: false }
    }

    /// The client has proved to have the key.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    /// The key that the client waits for.
    pub(super) fn waits_for(&self) -> Option<&str> {
        self.parked.as_ref().map(|(_, key)| key.as_str())
    }

    /// There is room for answers, so bytes may be read.
    pub(super) fn has_room(&self) -> bool {
        self.output.len() < OUTPUT_MAX
    }

    /// There is something to do without another byte being read.
    pub(super) fn can_go_on(&self) -> bool {
        self.held_up && self.has_room()
    }

    /// Nothing is half done in either direction.
    pub(super) fn is_settled(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }

    /// Memory of its buffers.
    pub(super) fn held_bytes(&self) -> usize {
        self.input.capacity() + self.output.capacity()
    }

    /// Bytes came; they are looked at by [`Self::advance`].
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Does what was asked for, as long as there is room for answers.
    ///
    /// # Errors
    /// Why the connection is to be closed, once the output is sent.
    pub(super) fn advance(&mut self, board: &mut Board, store: &Store<'_>) -> Result<(), Refusal> {
        self.held_up = false;
        while self.has_room() {
            if !self.step(board, store)? {
                return Ok(());
            }
        }
        self.held_up = true;
        Ok(())
    }

    /// Gives back the room that buffers took for something large.
    pub(super) fn release(&mut self) {
        for buffer in [&mut self.input, &mut self.output] {
            if buffer.is_empty() && buffer.capacity() > SPARE_MAX {
                *buffer = Vec::new();
            }
        }
    }

    /// Answers a wait, if the client still waits for `key`.
    pub(super) fn wake(&mut self, key: &str, board: &Board) {
        let State::Open { session, .. } = &mut self.state else { return };
        if let Some((number, _)) = self.parked.take_if(|(_, parked)| parked == key)
            && let Some(answer) = board.text(key)
        {
            self.output.extend(frame::encode_answer(session, number, &answer));
        }
    }

    /// Does one thing with the input, and says whether it did.
    fn step(&mut self, board: &mut Board, store: &Store<'_>) -> Result<bool, Refusal> {
        match &mut self.state {
            State::Greeting => {
                let Some(hello) = self.input.first_chunk::<HELLO>() else { return Ok(false) };
                let client = frame::identity(hello);
                // A client of another version sees ours in the hello.
                self.output.extend(store.hello);
                let client = client.map_err(|bad| match bad {
                    BadHello::Foreign => Refusal::Foreign,
                    BadHello::Version(_) => Refusal::Version,
                })?;
                let session = Session::new(store.key, hello, store.hello);
                self.state = State::Proving { client, session };
                self.input.drain(..HELLO);
            }
            State::Proving { client, session } => {
                let Some(proof) = self.input.first_chunk::<PROOF_BYTES>() else { return Ok(false) };
                let proved = session.proves(Direction::ToServer, proof);
                self.output.push(u8::from(!proved));
                if !proved {
                    return Err(Refusal::Key);
                }
                self.output.extend(session.proof(Direction::ToClient));
                self.state = State::Open { client: *client, session: session.clone() };
                self.input.drain(..PROOF_BYTES);
            }
            State::Open { client, session } => match frame::front(session, Direction::ToServer, &self.input) {
                Front::Partial => return Ok(false),
                Front::Bad(refusal) => return Err(refusal),
                Front::Whole { body, frame } => {
                    let (number, key, request) = frame::decode_request(&self.input[body]).ok_or(Refusal::Request)?;
                    // One thing at a time: a new request takes back the wait before it.
                    self.parked = None;
                    match board.answer(client, number, key, request) {
                        Some(answer) => self.output.extend(frame::encode_answer(session, number, &answer)),
                        None => self.parked = Some((number, key.to_owned())),
                    }
                    self.input.drain(..frame);
                }
            },
        }
        Ok(true)
    }
}

/// What all connections of a store share. The nonce in the hello is one connection's own.
pub(super) struct Store<'a> {
    pub(super) key: Option<&'a SharedKey>,
    pub(super) hello: &'a [u8; HELLO],
}

#[cfg(test)]
mod tests;
