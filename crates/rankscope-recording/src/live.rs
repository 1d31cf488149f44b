//! [`Chunks`]: the one thing a reader needs of a recording. [`LiveFile`] gives it from the bytes a recorder left behind.
//!
//! A file may end in the middle of a chunk (its process was killed while the file grew, or the disk was full): what is missing
//! reads as zeros, which are space that nobody has written. The words of a file are little-endian, as is every machine that
//! writes them.

use std::io::{Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use super::chunk::{CHUNK_BYTES, CHUNK_HEADER_WORDS, FILE_HEADER_BYTES, LIVE_MAGIC, LIVE_VERSION};
use super::{Error, NotLive};

/// Where chunks come from: a live file, or the memory of a running recorder.
pub trait Chunks {
    /// How many chunks there are, handed out or not.
    fn count(&self) -> u32;

    /// The header words of chunk `index`; `None` if it cannot be read.
    fn header(&self, index: u32) -> Option<[u64; CHUNK_HEADER_WORDS]>;

    /// Copies all words of chunk `index`, header included, into `words`; false if it cannot be read or changed its owner
    /// meanwhile.
    fn copy(&self, index: u32, words: &mut [u64]) -> bool;
}

/// A live file.
pub struct LiveFile<R> {
    input: Mutex<R>,
    count: u32,
    process: u64,
}

impl<R: Read + Seek> LiveFile<R> {
    /// Takes `input` if it starts as a live file does.
    ///
    /// # Errors
    /// An empty file, another magic number, a version or a chunk size this build does not know, and what `input` fails with.
    pub fn open(mut input: R) -> Result<Self, Error> {
        let bytes = input.seek(SeekFrom::End(0))?;
        if bytes == 0 {
            return Err(Error::Empty);
        }
        input.seek(SeekFrom::Start(0))?;
        let mut head = [0; LIVE_HEAD_BYTES];
        read_padded(&mut input, &mut head)?;
        let process = check_head(&head)?;
        let chunks = bytes.saturating_sub(FILE_HEADER_BYTES as u64).div_ceil(CHUNK_BYTES as u64);
        Ok(Self { input: Mutex::new(input), count: u32::try_from(chunks).unwrap_or(u32::MAX), process })
    }

    /// Number of the process that wrote it.
    pub fn process(&self) -> u64 {
        self.process
    }

    fn read_at(&self, index: u32, words: &mut [u64]) -> bool {
        // A panic elsewhere cannot leave a position behind: every read seeks first.
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = FILE_HEADER_BYTES as u64 + u64::from(index) * CHUNK_BYTES as u64;
        let read =
            input.seek(SeekFrom::Start(offset)).is_ok() && read_padded(&mut *input, bytemuck::cast_slice_mut(words)).is_ok();
        for word in words {
            *word = u64::from_le(*word);
        }
        read
    }
}

impl<R: Read + Seek> Chunks for LiveFile<R> {
    fn count(&self) -> u32 {
        self.count
    }

    fn header(&self, index: u32) -> Option<[u64; CHUNK_HEADER_WORDS]> {
        let mut words = [0; CHUNK_HEADER_WORDS];
        (index < self.count && self.read_at(index, &mut words)).then_some(words)
    }

    fn copy(&self, index: u32, words: &mut [u64]) -> bool {
        let before = self.header(index).map(|head| head[0] >> 32);
        // A ring that is still written may hand the chunk out again while it is read.
        before.is_some() && self.read_at(index, words) && self.header(index).map(|head| head[0] >> 32) == before
    }
}

/// Bytes of a live file's header that are not zero.
pub const LIVE_HEAD_BYTES: usize = 24;

/// The start of a live file that process `process` writes. Zeros follow, up to the first chunk.
pub fn live_head(process: u64) -> [u8; LIVE_HEAD_BYTES] {
    let mut head = [0; LIVE_HEAD_BYTES];
    head[..8].copy_from_slice(&LIVE_MAGIC);
    head[8..12].copy_from_slice(&LIVE_VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&(CHUNK_BYTES as u32).to_le_bytes());
    head[16..].copy_from_slice(&process.to_le_bytes());
    head
}

/// The process that a live file of whatever version names in its `head`; none if that is no head of one.
pub fn live_process(head: &[u8]) -> Option<u64> {
    let number = head.get(16..LIVE_HEAD_BYTES).filter(|_| head.starts_with(&LIVE_MAGIC))?;
    Some(u64::from_le_bytes(number.try_into().ok()?))
}

/// The number of the process that wrote a file that starts with `head`.
fn check_head(head: &[u8; LIVE_HEAD_BYTES]) -> Result<u64, Error> {
    let refuse = |found| Err(Error::NotARecording { found });
    if head[..8] != LIVE_MAGIC {
        return refuse(NotLive::OtherStart);
    }
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if number(8) != LIVE_VERSION {
        return refuse(NotLive::Version { version: number(8) });
    }
    if number(12) as usize != CHUNK_BYTES {
        return refuse(NotLive::ChunkSize { bytes: number(12) });
    }
    Ok(u64::from(number(16)) | u64::from(number(20)) << 32)
}

/// Fills `buffer`, with zeros beyond the end of `input`.
fn read_padded(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<()> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    buffer[got..].fill(0);
    Ok(())
}
