//! An object as bytes that one reads and seeks in, over connections that break.
//!
//! Reading from the start is one request however long the object is, because compressed bytes are good for nothing from the middle on.
//! Where the stream breaks, the rest is asked for from the byte that is missing, of the same object: the store is told which one it was,
//! and if that is gone, reading fails for good. Reading elsewhere, as archives are read, asks for pieces that grow while one reads on.
//! Who knows which bytes it needs asks for them alone.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use object_store::{Error, GetOptions, GetRange, GetResult, ObjectStore, ObjectStoreExt};
use rankscope_run::{ObjectFault, ObjectIdentity, Piece, Scheme, StoreFault, StoredObject, count_fetched};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::AbortHandle;

use crate::faults::fault;
use crate::{Place, identity};

/// Chunks that wait for the reader; the network waits when there are so many.
const CHUNKS: usize = 8;
/// How often in a row a stream may break without a byte of progress.
const BREAKS_MAX: u32 = 6;
/// Waited after the first break, and twice as long after each that follows at once.
const WAIT_FIRST: Duration = Duration::from_millis(100);
/// Bytes that are read and forgotten rather than asked for past.
const SKIP_BYTES: u64 = 1 << 20;
/// The first piece of an object that is read from elsewhere than its start, and the largest.
const PIECE_BYTES: Range<u64> = (256 << 10)..(8 << 20);

/// An object that is open.
pub(crate) struct Object {
    place: Place,
    /// What its bytes come by, which lives as long as the object.
    runtime: Arc<Runtime>,
    identity: ObjectIdentity,
    fault: ObjectFault,
    /// Where the reader is.
    position: u64,
    chunk: Bytes,
    /// Where the chunk begins.
    chunk_at: u64,
    body: Option<Body>,
    asks_for: AsksFor,
}

/// What the next request asks for, from the reader's place on.
#[derive(Clone, Copy, Debug)]
enum AsksFor {
    /// All there is.
    TheRest,
    /// So many bytes.
    Bytes(u64),
    /// All up to there.
    Until(u64),
}

/// Bytes on their way.
struct Body {
    chunks: Receiver<Result<Bytes, Error>>,
    /// Where the next chunk begins.
    next_at: u64,
    /// Where the last one ends.
    end: u64,
    /// Whether the server gave everything where a part was asked for.
    from_start: bool,
    task: AbortHandle,
}

impl Body {
    /// Whether the byte at `position` is among what comes, and not too far.
    fn leads_to(&self, position: u64) -> bool {
        let is_ahead = self.next_at <= position && position < self.end;
        is_ahead && (self.from_start || position - self.next_at <= SKIP_BYTES)
    }

    /// The next chunk, and where it begins; none where the connection ends.
    fn receive(&mut self) -> Option<Result<(u64, Bytes), Error>> {
        let chunk = match self.chunks.blocking_recv()? {
            Ok(chunk) => chunk,
            Err(error) => return Some(Err(error)),
        };
        let at = self.next_at;
        self.next_at += chunk.len() as u64;
        Some(Ok((at, chunk)))
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Object {
    /// Opens the object at `place`: its bytes are on their way when this returns.
    pub(crate) fn open(place: Place, runtime: Arc<Runtime>) -> Result<Self, StoreFault> {
        let answer = runtime.block_on(place.store.get_opts(&place.path, GetOptions::default()));
        let answer = answer.map_err(|error| fault(&error, &place.url))?;
        let identity = identity(answer.meta.clone());
        let body = Some(receive(&runtime, answer, false));
        Ok(Self { body, ..Self::of(place, runtime, identity, 0, AsksFor::TheRest) })
    }

    /// The bytes in `range` of the object at `place`, as far as it goes; of the object `of`, where that is said.
    pub(crate) fn piece(
        place: Place,
        runtime: Arc<Runtime>,
        range: Range<u64>,
        of: Option<&ObjectIdentity>,
    ) -> Result<Piece, StoreFault> {
        let (of, body) = match of {
            Some(of) => (of.clone(), None),
            None => first_piece(&place, &runtime, &range)?,
        };
        let mut object = Self { body, ..Self::of(place, runtime, of, range.start, AsksFor::Until(range.end)) };
        let mut bytes = Vec::new();
        // Memory follows what comes, and not what somebody asks for.
        let read = (&mut object).take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes);
        match (read, object.fault.left()) {
            (Ok(_), _) => Ok(Piece { bytes, of: object.identity }),
            (Err(_), Some(fault)) => Err(fault.clone()),
            (Err(error), None) => Err(StoreFault::Failed { reason: error.to_string() }),
        }
    }

    /// A known object, of which nothing is on its way.
    fn of(place: Place, runtime: Arc<Runtime>, identity: ObjectIdentity, position: u64, asks_for: AsksFor) -> Self {
        let (fault, chunk) = (ObjectFault::default(), Bytes::new());
        Self { place, runtime, identity, fault, position, chunk, chunk_at: 0, body: None, asks_for }
    }

    /// Makes `chunk` hold the byte at `position`, which is one of the object's.
    fn fill(&mut self) -> Result<(), StoreFault> {
        let mut breaks = 0;
        loop {
            self.body.take_if(|body| !body.leads_to(self.position));
            let received = match &mut self.body {
                Some(body) => body.receive(),
                None => match self.request() {
                    Ok(body) => {
                        self.body = Some(body);
                        continue;
                    }
                    Err(error) => Some(Err(error)),
                },
            };
            match received {
                Some(Ok((at, chunk))) => {
                    let bytes = chunk.len() as u64;
                    count_fetched(bytes);
                    if at + bytes > self.position {
                        (self.chunk, self.chunk_at) = (chunk, at);
                        return Ok(());
                    }
                }
                broken => {
                    self.body = None;
                    breaks += 1;
                    self.wait_after(breaks, broken.and_then(Result::err))?;
                }
            }
        }
    }

    /// Waits before the next try, if the `breaks`th one in a row may be followed by another.
    fn wait_after(&self, breaks: u32, error: Option<Error>) -> Result<(), StoreFault> {
        let fault = match error {
            Some(error) => fault(&error, &self.place.url),
            None => StoreFault::Unreachable {
                reason: format!("the connection ends after {} bytes, again and again", self.position),
            },
        };
        let is_passing = matches!(fault, StoreFault::Unreachable { .. } | StoreFault::Failed { .. });
        if !is_passing || breaks > BREAKS_MAX {
            return Err(fault);
        }
        std::thread::sleep(WAIT_FIRST * 2_u32.pow(breaks - 1));
        Ok(())
    }

    /// Asks for the bytes from `position` on.
    fn request(&mut self) -> Result<Body, Error> {
        let (from, bytes) = (self.position, self.identity.bytes);
        let range = match &mut self.asks_for {
            AsksFor::Bytes(piece) => {
                let end = bytes.min(from + *piece);
                *piece = (*piece * 2).min(PIECE_BYTES.end);
                Some(GetRange::Bounded(from..end))
            }
            AsksFor::Until(end) => Some(GetRange::Bounded(from..bytes.min(*end))),
            AsksFor::TheRest if from > 0 => Some(GetRange::Offset(from)),
            AsksFor::TheRest => None,
        };
        let asks_for_part = range.is_some();
        // A weak word does not stand for the same bytes.
        let if_match = self.identity.etag.clone().filter(|etag| !etag.starts_with("W/"));
        let get = |range| {
            let options = GetOptions { range, if_match: if_match.clone(), ..GetOptions::default() };
            self.runtime.block_on(self.place.store.get_opts(&self.place.path, options))
        };
        let is_web = self.place.url.scheme() == Scheme::Http;
        let (answer, from_start) = match get(range) {
            // Some web servers give everything or nothing.
            Err(Error::Generic { .. } | Error::NotSupported { .. }) if is_web && asks_for_part => (get(None)?, true),
            other => (other?, false),
        };
        let now = identity(answer.meta.clone());
        if now.bytes != bytes
            || now.etag != self.identity.etag
            || (now.etag.is_none() && now.modified_ns != self.identity.modified_ns)
        {
            let (path, source) = (self.place.path.to_string(), "another object of this name".into());
            return Err(Error::Precondition { path, source });
        }
        Ok(receive(&self.runtime, answer, from_start))
    }

    /// What is at hand at the reader's place.
    fn at_hand(&self) -> &[u8] {
        let skipped = self.position.checked_sub(self.chunk_at).and_then(|skipped| usize::try_from(skipped).ok());
        skipped.and_then(|skipped| self.chunk.get(skipped..)).unwrap_or_default()
    }
}

/// Asks for `range` of an object of which nothing is known yet: which one it is, and its bytes, if they come so.
fn first_piece(place: &Place, runtime: &Runtime, range: &Range<u64>) -> Result<(ObjectIdentity, Option<Body>), StoreFault> {
    let of = |error: &Error| fault(error, &place.url);
    let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
    match runtime.block_on(place.store.get_opts(&place.path, options)) {
        Ok(answer) => Ok((identity(answer.meta.clone()), Some(receive(runtime, answer, false)))),
        Err(error) => match of(&error) {
            // The object ends before, or the server gives no parts. How long it is tells which.
            StoreFault::Failed { .. } => {
                let about = runtime.block_on(place.store.head(&place.path));
                Ok((identity(about.map_err(|error| of(&error))?), None))
            }
            other => Err(other),
        },
    }
}

/// Lets the bytes of `answer` come.
fn receive(runtime: &Runtime, answer: GetResult, from_start: bool) -> Body {
    let Range { start, end } = answer.range;
    let (sender, chunks) = channel(CHUNKS);
    let task = runtime.spawn(async move {
        let mut stream = answer.into_stream();
        while let Some(chunk) = stream.next().await {
            let is_last = chunk.is_err();
            // Nobody waits any more once the receiver is gone.
            if sender.send(chunk).await.is_err() || is_last {
                return;
            }
        }
    });
    Body { chunks, next_at: start, end, from_start, task: task.abort_handle() }
}

impl Read for Object {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.position >= self.identity.bytes {
            return Ok(0);
        }
        if self.at_hand().is_empty() {
            self.fill().map_err(|fault| {
                self.fault.leave(fault.clone());
                io::Error::other(fault)
            })?;
        }
        let at_hand = self.at_hand();
        let length = at_hand.len().min(buffer.len());
        buffer[..length].copy_from_slice(&at_hand[..length]);
        self.position += length as u64;
        Ok(length)
    }
}

impl Seek for Object {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(target) => Some(target),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.identity.bytes.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        let is_near = self.body.as_ref().is_some_and(|body| body.leads_to(self.position));
        if self.at_hand().is_empty() && !is_near {
            self.asks_for = if self.position > 0 { AsksFor::Bytes(PIECE_BYTES.start) } else { AsksFor::TheRest };
        }
        Ok(self.position)
    }
}

impl StoredObject for Object {
    fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    fn fault(&self) -> ObjectFault {
        self.fault.clone()
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Object").field("url", &self.place.url).field("position", &self.position).finish_non_exhaustive()
    }
}
