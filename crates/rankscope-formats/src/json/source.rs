//! The decompressed text of a file, in pieces of about a quarter of a megabyte.

use std::cell::RefCell;
use std::io::{self, Read};

use super::layout::Layout;

/// Text is read in steps of this size. Large enough that a step costs nothing beside its content, small enough for the caches.
const CHUNK_BYTES: usize = 256 << 10;

/// Buffers that have grown beyond this are not used again.
const KEPT_BYTES_MAX: usize = 4 * CHUNK_BYTES;

/// A chunk grows up to this size in search of a place to cut it.
const UNCUT_BYTES_MAX: usize = 32 << 20;

/// So many buffers wait on a thread for its next file.
const WAITING_MAX: usize = 3;

thread_local! {
    /// Buffers of files that were read before: of thousands of small ones, each would have fresh memory touched for it.
    static WAITING: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer with room for a chunk and what is beyond its last event.
fn room() -> Vec<u8> {
    let waiting = WAITING.with_borrow_mut(Vec::pop);
    waiting.unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4))
}

/// Reads ahead of the parser and cuts the text where an event starts.
pub(super) struct Source<R> {
    input: R,
    /// Text read and not yet handed out.
    pub(super) buffer: Vec<u8>,
    /// Where `buffer` starts in the decompressed file.
    offset: u64,
    /// Whether the input has nothing more.
    pub(super) ended: bool,
    /// Buffers to use again: fresh memory costs more than reading into it.
    spare: Vec<Vec<u8>>,
}

/// A stretch of text and where it starts in the decompressed file.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) text: Vec<u8>,
    pub(super) offset: u64,
    /// Whether the file ends with it.
    pub(super) last: bool,
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: room(), offset: 0, ended: false, spare: Vec::new() }
    }

    /// Reads until the buffer holds `len` bytes or the input ends.
    pub(super) fn fill(&mut self, len: usize) -> io::Result<()> {
        if self.ended || self.buffer.len() >= len {
            return Ok(());
        }
        let missing = (len - self.buffer.len()) as u64;
        let got = (&mut self.input).take(missing).read_to_end(&mut self.buffer)?;
        self.ended = (got as u64) < missing;
        Ok(())
    }

    /// Forgets the first `len` bytes of the buffer.
    pub(super) fn consume(&mut self, len: usize) {
        self.buffer.drain(..len);
        self.offset += len as u64;
    }

    /// Where in the decompressed file the buffer ends.
    pub(super) fn position(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    /// The next stretch, cut before an event where `layout` knows how; `None` when all has been handed out.
    pub(super) fn next(&mut self, layout: Option<&Layout>) -> io::Result<Option<Stretch>> {
        self.fill(CHUNK_BYTES)?;
        if self.buffer.is_empty() && self.ended {
            return Ok(None);
        }
        let Some(layout) = layout else { return Ok(Some(self.cut(self.buffer.len()))) };
        loop {
            // A cut at zero would hand out nothing.
            let cut = if self.ended { None } else { layout.last_event(&self.buffer).filter(|cut| *cut > 0) };
            match cut {
                Some(cut) => return Ok(Some(self.cut(cut))),
                None if self.ended || self.buffer.len() >= UNCUT_BYTES_MAX => return Ok(Some(self.cut(self.buffer.len()))),
                None => self.fill(self.buffer.len() * 2)?,
            }
        }
    }

    fn cut(&mut self, at: usize) -> Stretch {
        let mut rest = self.spare.pop().unwrap_or_else(room);
        rest.clear();
        rest.extend_from_slice(&self.buffer[at..]);
        self.buffer.truncate(at);
        let text = std::mem::replace(&mut self.buffer, rest);
        let offset = self.offset;
        self.offset += at as u64;
        Stretch { text, offset, last: self.ended && self.buffer.is_empty() }
    }

    /// Takes buffers back for later stretches.
    pub(super) fn recycle(&mut self, buffers: impl IntoIterator<Item = Vec<u8>>) {
        self.spare.extend(buffers.into_iter().filter(|buffer| buffer.capacity() <= KEPT_BYTES_MAX));
    }
}

impl<R> Drop for Source<R> {
    fn drop(&mut self) {
        let own = self.spare.drain(..).chain([std::mem::take(&mut self.buffer)]);
        let kept = own.filter(|buffer| (1..=KEPT_BYTES_MAX).contains(&buffer.capacity()));
        // A thread that ends has nothing to keep them for.
        let _ = WAITING.try_with(|waiting| {
            let mut waiting = waiting.borrow_mut();
            for mut buffer in kept.take(WAITING_MAX.saturating_sub(waiting.len())) {
                buffer.clear();
                waiting.push(buffer);
            }
        });
    }
}
