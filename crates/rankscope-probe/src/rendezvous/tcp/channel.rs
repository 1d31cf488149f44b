//! One connection of a client: requests go out sealed and numbered, answers are told by their numbers.
//!
//! It knows nothing of trying again: what breaks is broken.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use super::auth::{Direction, Session};
use super::frame::{self, Answer, Front, Request};
use crate::rendezvous::StoreError;

/// A connection whose ends have proved who they are.
pub(super) struct Channel {
    pub(super) stream: TcpStream,
    pub(super) session: Session,
    /// What came of an answer.
    pub(super) input: Vec<u8>,
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// Why a request has no answer yet.
pub(super) enum Broken {
    /// Try again.
    Io(io::Error),
    /// Trying again is of no use.
    For(StoreError),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Channel {
    /// Sends a request and waits for its answer, passing over answers to requests that were given up.
    pub(super) fn ask(
        &mut self,
        number: u32,
        key: &str,
        request: Request<'_>,
        deadline: Instant,
    ) -> Result<Option<Answer>, Broken> {
        let bytes = frame::encode_request(&mut self.session, number, key, request);
        self.stream.write_all(&bytes)?;
        self.answer_to(number, deadline)
    }

    /// The answer to the request `number`; none where it does not come before `deadline`.
    pub(super) fn answer_to(&mut self, number: u32, deadline: Instant) -> Result<Option<Answer>, Broken> {
        let mut buffer = [0; 16 * 1024];
        loop {
            match frame::front(&mut self.session, Direction::ToClient, &self.input) {
                Front::Bad(_) => return Err(Broken::Io(io::ErrorKind::InvalidData.into())),
                Front::Whole { body, frame } => {
                    let answer = frame::decode_answer(&self.input[body]);
                    self.input.drain(..frame);
                    match answer {
                        Some((of, answer)) if of == number => return Ok(Some(answer)),
                        Some(_) => {}
                        None => return Err(Broken::Io(io::ErrorKind::InvalidData.into())),
                    }
                }
                Front::Partial => match read_some(&mut self.stream, &mut buffer, deadline)? {
                    Some(got) => self.input.extend_from_slice(&buffer[..got]),
                    None => return Ok(None),
                },
            }
        }
    }
}

/// Reads what comes before `deadline`; none where nothing does.
fn read_some(stream: &mut TcpStream, buffer: &mut [u8], deadline: Instant) -> io::Result<Option<usize>> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(got) => return Ok(Some(got)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn read_exactly(stream: &mut TcpStream, mut buffer: &mut [u8], deadline: Instant) -> io::Result<()> {
    while !buffer.is_empty() {
        let got = read_some(stream, buffer, deadline)?.ok_or(io::ErrorKind::TimedOut)?;
        buffer = &mut buffer[got..];
    }
    Ok(())
}
