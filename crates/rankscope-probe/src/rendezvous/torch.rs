//! The TCPStore of torch.distributed, over its own protocol: a job that has one needs no other place to meet.
//!
//! Integers are little-endian, a string is a `u64` length and its bytes, and a request begins with one byte that says which it is:
//!
//! | request | | answer |
//! |---|---|---|
//! | 0 validate | `u32` magic, the first thing on a connection | none; to a wrong one never |
//! | 1 set | key, value | none |
//! | 3 get | key | value |
//! | 4 add | key, `i64` | `i64` |
//! | 5 check | `u64` count, keys | one byte, 0 where all are there |
//! | 13 ping | `u32` | the same |
//!
//! That is all that is sent: nothing is deleted, and the store's own waits and barriers, which hold a connection, are left to torch. Its
//! client puts `/` before each key, and so does this one, so that Python sees the same names. Texts lie under `t/<key>`, with one byte
//! before them, since an empty value and none are the same to some versions; counters lie under `c/<key>`. The store knows no key and no
//! permissions: it is as open as the job's own.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::{KeyValueStore, StoreError, VALUE_BYTES_MAX, check_size, poll_for};

/// A store that torch.distributed hosts.
#[derive(Debug)]
pub struct TorchStore {
    host: String,
    port: u16,
    place: String,
    patience: Duration,
    link: Option<TcpStream>,
}

/// Between two looks at a key.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));
/// Between two tries of a store that does not answer.
const RETRY: Duration = Duration::from_millis(100);
/// For one answer, and for one try to connect.
const ANSWER_MAX: Duration = Duration::from_secs(5);

const MAGIC: u32 = 0x3C85_F7CE;
const PING: u32 = 0x0072_6B73;
/// Before each text.
const MARK: u8 = b'=';

/// First bytes of requests.
mod op {
    pub(super) const VALIDATE: u8 = 0;
    pub(super) const SET: u8 = 1;
    pub(super) const GET: u8 = 3;
    pub(super) const ADD: u8 = 4;
    pub(super) const CHECK: u8 = 5;
    pub(super) const PING: u8 = 13;
}

/// Why a request has no answer.
enum Broken {
    /// Nobody answered; `unheard` where nobody can have heard it.
    Io { error: io::Error, unheard: bool },
    /// Something came that is no answer.
    Malformed(&'static str),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Self::Io { error, unheard: false }
    }
}

impl TorchStore {
    /// The store at `host`, a name or an address. Each call tries for `patience` at most to reach it; nothing is tried yet.
    pub fn new(host: &str, port: u16, patience: Duration) -> Self {
        let place = if host.contains(':') { format!("torch://[{host}]:{port}") } else { format!("torch://{host}:{port}") };
        Self { host: host.to_owned(), port, place, patience, link: None }
    }

    /// Sends `request` and reads its answer. `again` says whether a request that may have been heard may be sent again.
    fn ask<T>(
        &mut self,
        request: &[u8],
        again: bool,
        answer: impl Fn(&mut TcpStream) -> Result<T, Broken>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        loop {
            let (error, unheard) = match self.ask_once(request, &answer) {
                Ok(answer) => return Ok(answer),
                Err(Broken::Malformed(what)) => {
                    self.link = None;
                    return Err(StoreError::Malformed { place: self.place.clone(), what: what.to_owned() });
                }
                Err(Broken::Io { error, unheard }) => (error, unheard),
            };
            self.link = None;
            let after = start.elapsed();
            if after + RETRY > self.patience || !(again || unheard) {
                return Err(StoreError::Unreachable { place: self.place.clone(), after, source: error });
            }
            std::thread::sleep(RETRY);
        }
    }

    fn ask_once<T>(&mut self, request: &[u8], answer: impl Fn(&mut TcpStream) -> Result<T, Broken>) -> Result<T, Broken> {
        let link = match &mut self.link {
            Some(link) => link,
            none => none.insert(connect(&self.host, self.port, self.patience)?),
        };
        link.write_all(request)?;
        answer(link)
    }

    fn has(&mut self, key: &str) -> Result<bool, StoreError> {
        let mut request = vec![op::CHECK];
        request.extend(1u64.to_le_bytes());
        put(&mut request, key.as_bytes());
        self.ask(&request, true, |link| match read::<1>(link)?[0] {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(Broken::Malformed("a byte that neither says that a key is there nor that it is not")),
        })
    }
}

impl KeyValueStore for TorchStore {
    fn place(&self) -> &str {
        &self.place
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        check_size(key, value)?;
        let mut request = vec![op::SET];
        put(&mut request, text(key).as_bytes());
        put(&mut request, &[&[MARK], value.as_bytes()].concat());
        // It has no answer; that of a ping tells that it was heard.
        request.push(op::PING);
        request.extend(PING.to_le_bytes());
        self.ask(&request, true, pong)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        check_size(key, "")?;
        // Some versions end the connection of who asks for what is not there.
        if !self.has(&text(key))? {
            return Ok(None);
        }
        let mut request = vec![op::GET];
        put(&mut request, text(key).as_bytes());
        self.ask(&request, true, |link| {
            let length = u64::from_le_bytes(read(link)?);
            if length > VALUE_BYTES_MAX as u64 + 1 {
                return Err(Broken::Malformed("a text that is longer than any that was written"));
            }
            // Bounded above.
            let mut value = vec![0; length as usize];
            link.read_exact(&mut value)?;
            match value.split_first() {
                None => Ok(None),
                Some((&MARK, text)) => match String::from_utf8(text.to_vec()) {
                    Ok(text) => Ok(Some(text)),
                    Err(_) => Err(Broken::Malformed("bytes that are no text")),
                },
                Some(_) => Err(Broken::Malformed("a text that somebody else wrote")),
            }
        })
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        poll_for(self, key, timeout, PAUSES)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        check_size(key, "")?;
        let mut request = vec![op::ADD];
        put(&mut request, format!("/c/{key}").as_bytes());
        request.extend(delta.to_le_bytes());
        // Whether an unanswered addition was made cannot be told, so that it is not made again.
        self.ask(&request, delta == 0, |link| Ok(i64::from_le_bytes(read(link)?)))
    }
}

/// A connection on which somebody answered as a store of torch does.
fn connect(host: &str, port: u16, patience: Duration) -> Result<TcpStream, Broken> {
    let unheard = |error| Broken::Io { error, unheard: true };
    let mut refused = io::Error::new(io::ErrorKind::NotFound, "the name leads nowhere");
    for address in (host, port).to_socket_addrs().map_err(unheard)? {
        match TcpStream::connect_timeout(&address, ANSWER_MAX.min(patience)) {
            Ok(mut link) => {
                link.set_nodelay(true).map_err(unheard)?;
                link.set_read_timeout(Some(ANSWER_MAX)).map_err(unheard)?;
                link.set_write_timeout(Some(ANSWER_MAX)).map_err(unheard)?;
                let mut hello = vec![op::VALIDATE];
                hello.extend(MAGIC.to_le_bytes());
                hello.push(op::PING);
                hello.extend(PING.to_le_bytes());
                link.write_all(&hello).map_err(unheard)?;
                return match pong(&mut link) {
                    Ok(()) => Ok(link),
                    Err(Broken::Io { error, .. }) => Err(unheard(error)),
                    malformed => malformed.map(|()| link),
                };
            }
            Err(error) => refused = error,
        }
    }
    Err(unheard(refused))
}

fn pong(link: &mut TcpStream) -> Result<(), Broken> {
    if u32::from_le_bytes(read(link)?) == PING {
        Ok(())
    } else {
        Err(Broken::Malformed("something else than the number it was sent"))
    }
}

fn read<const BYTES: usize>(link: &mut TcpStream) -> Result<[u8; BYTES], Broken> {
    let mut bytes = [0; BYTES];
    link.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn put(request: &mut Vec<u8>, bytes: &[u8]) {
    request.extend((bytes.len() as u64).to_le_bytes());
    request.extend(bytes);
}

fn text(key: &str) -> String {
    format!("/t/{key}")
}
