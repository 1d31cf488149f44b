//! Where an export's bytes go, and what is counted on the way.

use std::io::Write;

use crate::Error;
use crate::recording::{Thread, What};
use crate::wire::Encoder;

/// What an export holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events of all threads: a span counts once, whether it ended or not, and everything else once.
    pub events: u64,
    /// Bytes, before any compression.
    pub bytes: u64,
    /// By thread, in the order of their streams.
    pub threads: Vec<ThreadWritten>,
}

/// What an export holds of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadWritten {
    /// The number of its stream.
    pub stream: u32,
    /// Its name.
    pub name: String,
    /// Its events: a span counts once, whether it ended or not, and everything else once.
    pub events: u64,
    /// Spans among them that did not end.
    pub open_spans: u64,
}

impl ThreadWritten {
    /// Nothing yet of `thread`.
    pub(in crate::recording) fn of(thread: &Thread) -> Self {
        Self { stream: thread.stream, name: thread.name.clone(), ..Self::default() }
    }

    /// Counts one event.
    pub(in crate::recording) fn count(&mut self, what: &What) {
        match what {
            What::End { unfinished, .. } => self.open_spans += u64::from(*unfinished),
            _ => self.events += 1,
        }
    }
}

/// Bytes are handed on at this size.
const FLUSH_BYTES: usize = 1 << 16;

/// Where bytes gather before they are handed on.
pub(super) trait Buffer: Default {
    /// What has gathered.
    fn bytes(&self) -> &[u8];
    /// Forgets it and keeps the memory.
    fn clear(&mut self);
}

impl Buffer for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl Buffer for Encoder {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// One buffer in front of an output.
pub(super) struct Output<'a, B, W> {
    pub(super) buffer: B,
    inner: &'a mut W,
    bytes: u64,
}

impl<'a, B: Buffer, W: Write> Output<'a, B, W> {
    /// In front of `inner`.
    pub(super) fn new(inner: &'a mut W) -> Self {
        Self { buffer: B::default(), inner, bytes: 0 }
    }

    /// Hands on what has gathered, if it is much.
    #[inline]
    pub(super) fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.buffer.bytes().len() < FLUSH_BYTES { Ok(()) } else { self.flush() }
    }

    /// Hands on the rest and adds up.
    pub(super) fn finish(mut self, threads: Vec<ThreadWritten>) -> Result<Written, Error> {
        self.flush()?;
        self.inner.flush()?;
        Ok(Written { events: threads.iter().map(|thread| thread.events).sum(), bytes: self.bytes, threads })
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.inner.write_all(self.buffer.bytes())?;
        self.bytes += self.buffer.bytes().len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
