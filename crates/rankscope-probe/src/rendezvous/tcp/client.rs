//! A node's end: one connection to the store that node 0 hosts, made anew whenever it breaks.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::auth::{Direction, PROOF_BYTES, Session};
use super::channel::{Broken, Channel, read_exactly};
use super::frame::{self, Answer, BadHello, HELLO, Identity, Request};
use super::server::random;
use crate::key::SharedKey;
use crate::rendezvous::{KeyValueStore, StoreError, check_size};

/// A client of the store that node 0 hosts.
#[derive(Debug)]
pub struct TcpStore {
    host: String,
    port: u16,
    place: String,
    key: Option<SharedKey>,
    patience: Duration,
    me: Identity,
    number: u32,
    link: Option<Channel>,
    /// The store that was last talked to.
    incarnation: Option<Identity>,
    /// What this client wrote, for a store that forgot.
    texts: BTreeMap<String, String>,
    additions: BTreeMap<String, i64>,
}

/// Between two tries to connect.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// For one try to connect, to one address.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// How long a wait trusts that the store is still there.
const ALIVE_EVERY: Duration = Duration::from_secs(5);

/// For one question at the end of a wait, however short that was.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// Texts that are written before their answers are read.
const SET_AT_ONCE: usize = 64;

impl TcpStore {
    /// A client of the store at `host`, a name or an address, for nodes that have `key`, or for nodes that have none. Each call
    /// tries for `patience` at most to reach it, so the store may start after its clients; nothing is tried yet.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`] where this host has no random numbers.
    pub fn new(host: &str, port: u16, key: Option<SharedKey>, patience: Duration) -> Result<Self, StoreError> {
        let place = if host.contains(':') { format!("tcp://[{host}]:{port}") } else { format!("tcp://{host}:{port}") };
        let me = random().map_err(|source| StoreError::Unreachable { place: place.clone(), after: Duration::ZERO, source })?;
        Ok(Self {
            host: host.to_owned(),
            port,
            place,
            key,
            patience,
            me,
            number: 0,
            link: None,
            incarnation: None,
            texts: BTreeMap::new(),
            additions: BTreeMap::new(),
        })
    }

    /// The answer to a request, asked for again over a new connection where the old one breaks. None where `deadline` passes
    /// while the store is there but does not answer, which is what it does to a wait.
    fn request(&mut self, key: &str, request: Request<'_>, deadline: Instant) -> Result<Option<Answer>, StoreError> {
        check_size(key, if let Request::Set(value) = request { value } else { "" })?;
        // One number for all tries: that is how the store knows an addition it has made.
        self.number = self.number.wrapping_add(1);
        let number = self.number;
        self.persist(deadline, |store| store.attempt(number, key, request, deadline))
    }

    /// What comes of `attempt`, made again over a new connection for as long as the old one breaks.
    fn persist<T>(
        &mut self,
        deadline: Instant,
        mut attempt: impl FnMut(&mut Self) -> Result<T, Broken>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let mut pause = BACKOFF.0;
        loop {
            let failure = match attempt(self) {
                Ok(done) => return Ok(done),
                Err(Broken::For(error)) => return Err(error),
                Err(Broken::Io(failure)) => failure,
            };
            self.link = None;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StoreError::Unreachable { place: self.place.clone(), after: start.elapsed(), source: failure });
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(BACKOFF.1);
        }
    }

    fn attempt(&mut self, number: u32, key: &str, request: Request<'_>, deadline: Instant) -> Result<Option<Answer>, Broken> {
        let mut link = self.linked(deadline)?;
        let answer = link.ask(number, key, request, deadline)?;
        // Only a wait may stay without an answer; anything else that does has nobody at the other end.
        if answer.is_some() || request == Request::Wait {
            self.link = Some(link);
        }
        match answer {
            Some(Answer::Full) => Err(self.full()),
            other => Ok(other),
        }
    }

    /// Writes `texts`, of which the first one has the number `first`, without waiting for an answer to each.
    fn attempt_all(&mut self, first: u32, texts: &[(String, String)], deadline: Instant) -> Result<(), Broken> {
        let mut link = self.linked(deadline)?;
        let numbered = || texts.iter().enumerate().map(|(at, text)| (first.wrapping_add(at as u32), text));
        let encode = |(number, (key, value)): (u32, &(String, String))| {
            frame::encode_request(&mut link.session, number, key, Request::Set(value))
        };
        let bytes: Vec<u8> = numbered().flat_map(encode).collect();
        link.stream.write_all(&bytes)?;
        for (number, _) in numbered() {
            match link.answer_to(number, deadline)? {
                Some(Answer::Done) => {}
                Some(Answer::Full) => return Err(self.full()),
                other => return self.unexpected(other).map_err(Broken::For),
            }
        }
        self.link = Some(link);
        Ok(())
    }

    fn full(&self) -> Broken {
        let reason = "it is full; something writes far more keys than a job needs".to_owned();
        Broken::For(StoreError::Refused { place: self.place.clone(), reason })
    }

    fn linked(&mut self, deadline: Instant) -> Result<Channel, Broken> {
        match self.link.take() {
            Some(link) => Ok(link),
            None => self.connect(deadline),
        }
    }

    fn connect(&mut self, deadline: Instant) -> Result<Channel, Broken> {
        let addresses = (self.host.as_str(), self.port).to_socket_addrs()?;
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name cannot be resolved");
        for address in addresses {
            let left = deadline.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(1), CONNECT_MAX);
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => return self.greet(stream, deadline),
                Err(error) => last = error,
            }
        }
        Err(Broken::Io(last))
    }

    fn greet(&mut self, mut stream: TcpStream, deadline: Instant) -> Result<Channel, Broken> {
        let deadline = deadline.min(Instant::now() + CONNECT_MAX);
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(CONNECT_MAX))?;
        let ours = frame::hello(&self.me, &random()?);
        stream.write_all(&ours)?;
        let mut theirs = [0; HELLO];
        read_exactly(&mut stream, &mut theirs, deadline)?;
        let incarnation = frame::identity(&theirs).map_err(|bad| Broken::For(self.foreign(bad)))?;
        let session = Session::new(self.key.as_ref(), &ours, &theirs);
        stream.write_all(&session.proof(Direction::ToServer))?;
        let mut verdict = [0; 1];
        read_exactly(&mut stream, &mut verdict, deadline)?;
        let mut proof = [0; PROOF_BYTES];
        if verdict == [0] {
            read_exactly(&mut stream, &mut proof, deadline)?;
        }
        if !session.proves(Direction::ToClient, &proof) {
            let reason = "the shared keys differ. Give all nodes of the job the same key, or none".to_owned();
            return Err(Broken::For(StoreError::Refused { place: self.place.clone(), reason }));
        }
        let mut link = Channel { stream, session, input: Vec::new() };
        if self.incarnation.is_some_and(|known| known != incarnation) {
            self.restore(&mut link, deadline)?;
        }
        self.incarnation = Some(incarnation);
        Ok(link)
    }

    /// Tells a store that was restarted what this client had written to it.
    fn restore(&mut self, link: &mut Channel, deadline: Instant) -> Result<(), Broken> {
        let texts = self.texts.iter().map(|(key, value)| (key, Request::Restore(value)));
        let additions = self.additions.iter().map(|(key, sum)| (key, Request::Contribute(*sum)));
        for (key, request) in texts.chain(additions) {
            // The number of the request that waits for all this: it is asked after it, so answers cannot be mistaken.
            let number = self.number;
            if link.ask(number, key, request, deadline)?.is_none() {
                return Err(Broken::Io(io::ErrorKind::TimedOut.into()));
            }
        }
        Ok(())
    }

    fn foreign(&self, bad: BadHello) -> StoreError {
        let place = self.place.clone();
        match bad {
            BadHello::Foreign => StoreError::Malformed { place, what: "an unknown greeting".to_owned() },
            BadHello::Version(theirs) => {
                let ours = frame::VERSION;
                let reason =
                    format!("it has version {theirs} and this node has version {ours}. Install the same version on all nodes");
                StoreError::Refused { place, reason }
            }
        }
    }

    fn unexpected<T>(&self, answer: Option<Answer>) -> Result<T, StoreError> {
        match answer {
            Some(other) => Err(StoreError::Malformed { place: self.place.clone(), what: format!("{other:?}") }),
            None => Err(StoreError::Unreachable {
                place: self.place.clone(),
                after: self.patience,
                source: io::ErrorKind::TimedOut.into(),
            }),
        }
    }

    fn get_before(&mut self, key: &str, deadline: Instant) -> Result<Option<String>, StoreError> {
        match self.request(key, Request::Get, deadline)? {
            Some(Answer::Text(text)) => Ok(Some(text)),
            Some(Answer::Absent) => Ok(None),
            other => self.unexpected(other),
        }
    }

    fn soon(&self) -> Instant {
        Instant::now() + self.patience
    }
}

impl KeyValueStore for TcpStore {
    fn place(&self) -> &str {
        &self.place
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        match self.request(key, Request::Set(value), self.soon())? {
            Some(Answer::Done) => {
                self.texts.insert(key.to_owned(), value.to_owned());
                Ok(())
            }
            other => self.unexpected(other),
        }
    }

    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        texts.iter().try_for_each(|(key, value)| check_size(key, value))?;
        for some in texts.chunks(SET_AT_ONCE) {
            let (first, deadline) = (self.number.wrapping_add(1), self.soon());
            self.number = self.number.wrapping_add(some.len() as u32);
            self.persist(deadline, |store| store.attempt_all(first, some, deadline))?;
            self.texts.extend(some.iter().cloned());
        }
        Ok(())
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        self.get_before(key, self.soon())
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        let deadline = Instant::now() + timeout;
        loop {
            // First a question that is always answered: it tells a store that is silent from one that is gone.
            let left = deadline.saturating_duration_since(Instant::now());
            if let Some(text) = self.get_before(key, Instant::now() + left.max(LAST_LOOK))? {
                return Ok(text);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(StoreError::TimedOut { key: key.to_owned(), place: self.place.clone(), after: timeout });
            }
            match self.request(key, Request::Wait, Instant::now() + left.min(ALIVE_EVERY)) {
                Ok(Some(Answer::Text(text))) => return Ok(text),
                // A store that broke off in the middle is looked for by the next question.
                Ok(None) | Err(StoreError::Unreachable { .. }) => {}
                Ok(other) => return self.unexpected(other),
                Err(other) => return Err(other),
            }
        }
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        match self.request(key, Request::Add(delta), self.soon())? {
            Some(Answer::Number(total)) => {
                let sum = self.additions.entry(key.to_owned()).or_default();
                *sum = sum.saturating_add(delta);
                Ok(total)
            }
            other => self.unexpected(other),
        }
    }
}
