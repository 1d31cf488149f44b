//! A connection with a deadline and a bound.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::error::Error;

/// The largest answer that is taken.
pub(crate) const BYTES_MAX: usize = 64 << 20;

/// The longest line.
const LINE_MAX: usize = 64 << 10;

/// A connection to somebody who may not answer.
pub(crate) struct Wire {
    stream: TcpStream,
    address: String,
    deadline: Instant,
    /// What came and was not asked for yet.
    left: Vec<u8>,
}

impl Wire {
    /// Connects to `address`, `HOST:PORT`, all of it before `deadline`.
    pub(crate) fn connect(address: &str, deadline: Instant) -> Result<Self, Error> {
        let no_address = || Error::NoAddress { address: address.to_owned() };
        let places: Vec<_> = address.to_socket_addrs().map_err(|_| no_address())?.collect();
        let mut last = None;
        for place in &places {
            let left = deadline.saturating_duration_since(Instant::now()).max(SHORTEST);
            match TcpStream::connect_timeout(place, left) {
                Ok(stream) => return Ok(Self { stream, address: address.to_owned(), deadline, left: Vec::new() }),
                Err(error) => last = Some(error),
            }
        }
        last.map_or_else(|| Err(no_address()), |source| Err(Error::Unreachable { address: address.to_owned(), source }))
    }

    /// From now on all of it is before `deadline`.
    pub(crate) fn wait_until(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// Sends `bytes`, which are of `question`.
    pub(crate) fn send(&mut self, bytes: &[u8], question: &str) -> Result<(), Error> {
        let sent = self.stream.set_write_timeout(Some(self.time_left())).and_then(|()| self.stream.write_all(bytes));
        sent.map_err(|error| self.failed(&error, question, 0))
    }

    /// One line of the answer to `question`, without its end.
    pub(crate) fn line(&mut self, question: &str) -> Result<String, Error> {
        loop {
            if let Some(end) = self.left.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.left.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.left.len() > LINE_MAX {
                return Err(self.too_large(question, LINE_MAX));
            }
            if self.more(question)? == 0 {
                return Err(self.hung_up(question, self.left.len()));
            }
        }
    }

    /// Some of what comes; nothing where the other side ended.
    pub(crate) fn some(&mut self, question: &str) -> Result<Vec<u8>, Error> {
        if self.left.is_empty() {
            self.more(question)?;
        }
        Ok(std::mem::take(&mut self.left))
    }

    /// All that still comes, until the other side ends or there are `enough` bytes.
    pub(crate) fn rest(&mut self, question: &str, enough: Option<usize>) -> Result<Vec<u8>, Error> {
        while enough.is_none_or(|enough| self.left.len() < enough) {
            if self.left.len() > BYTES_MAX {
                return Err(self.too_large(question, BYTES_MAX));
            }
            if self.more(question)? == 0 {
                break;
            }
        }
        Ok(std::mem::take(&mut self.left))
    }

    /// That the other side ended after so many bytes, before its answer did.
    pub(crate) fn hung_up(&self, question: &str, bytes: usize) -> Error {
        Error::HungUp { address: self.address.clone(), question: question.to_owned(), bytes }
    }

    pub(crate) fn too_large(&self, question: &str, bytes_max: usize) -> Error {
        Error::TooLarge { address: self.address.clone(), question: question.to_owned(), bytes_max }
    }

    /// Waits for more; 0 where the other side ended.
    fn more(&mut self, question: &str) -> Result<usize, Error> {
        let mut buffer = [0; 16 << 10];
        loop {
            let limit = self.stream.set_read_timeout(Some(self.time_left()));
            match limit.and_then(|()| self.stream.read(&mut buffer)) {
                Ok(count) => {
                    self.left.extend_from_slice(&buffer[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(&error, question, self.left.len())),
            }
        }
    }

    /// Never nothing, which would mean for ever.
    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()).max(SHORTEST)
    }

    fn failed(&self, error: &io::Error, question: &str, bytes: usize) -> Error {
        let (address, question) = (self.address.clone(), question.to_owned());
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::TooLate { address, question },
            _ => Error::HungUp { address, question, bytes },
        }
    }
}

const SHORTEST: Duration = Duration::from_millis(1);
