//! Blocks: how they are framed, and how the next good one is found behind damage.

use std::io::{self, Read, Write};

use memchr::memmem;

use crate::{Error, Foreign};

/// First eight bytes of a packed recording.
pub const MAGIC: [u8; 8] = crate::recording::PACKED_MAGIC;
/// Version of the packed layout.
pub const VERSION: u32 = 1;

/// What a block holds. Numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum BlockKind {
    Meta = 1,
    Sessions = 2,
    Anchors = 3,
    Names = 4,
    Thread = 5,
    Events = 6,
    Drops = 7,
    End = 8,
}

impl BlockKind {
    pub(super) fn of(number: u8) -> Option<Self> {
        const ALL: [BlockKind; 8] = [
            BlockKind::Meta,
            BlockKind::Sessions,
            BlockKind::Anchors,
            BlockKind::Names,
            BlockKind::Thread,
            BlockKind::Events,
            BlockKind::Drops,
            BlockKind::End,
        ];
        ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

const BLOCK_MAGIC: [u8; 4] = *b"RKBK";
const FILE_HEAD_BYTES: usize = 16;
const HEAD_BYTES: usize = 20;
const FOOT_BYTES: usize = 4;

/// No block is longer, stored or plain. An event and its arguments fit a chunk of a live file, and blocks are closed long before.
pub(super) const MAX_BLOCK_BYTES: usize = 8 << 20;

/// What shrinks further is stored plain. A few bytes can then never turn into megabytes.
const MAX_RATIO: usize = 64;

/// Writes framed blocks.
pub(super) struct Blocks<'a, W> {
    output: &'a mut W,
    compressor: zstd::bulk::Compressor<'static>,
    stored: Vec<u8>,
    pub(super) bytes: u64,
}

impl<'a, W: Write> Blocks<'a, W> {
    /// Starts a file.
    pub(super) fn new(output: &'a mut W) -> Result<Self, Error> {
        let compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        let mut blocks = Self { output, compressor, stored: Vec::new(), bytes: 0 };
        blocks.put(&MAGIC)?;
        blocks.put(&VERSION.to_le_bytes())?;
        blocks.put(&[0; 4])?;
        Ok(blocks)
    }

    /// Writes one block.
    pub(super) fn write(&mut self, kind: BlockKind, plain: &[u8]) -> Result<(), Error> {
        self.stored.clear();
        self.stored.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        let len = self.compressor.compress_to_buffer(plain, &mut self.stored)?;
        let shrinks = len < plain.len() && plain.len() / len <= MAX_RATIO;
        let stored = std::mem::take(&mut self.stored);
        let bytes = if shrinks { &stored[..] } else { plain };
        self.put(&head_of(kind as u8, shrinks, bytes, plain.len()))?;
        self.put(bytes)?;
        self.put(&crc32c::crc32c(bytes).to_le_bytes())?;
        self.stored = stored;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        Ok(self.output.flush()?)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        self.output.write_all(bytes)
    }
}

/// The head of a block of this number of kind, which is `stored`, and so long when plain.
fn head_of(kind: u8, is_packed: bool, stored: &[u8], plain_bytes: usize) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..4].copy_from_slice(&BLOCK_MAGIC);
    head[4] = kind;
    head[5] = u8::from(is_packed);
    head[8..12].copy_from_slice(&(stored.len() as u32).to_le_bytes());
    head[12..16].copy_from_slice(&(plain_bytes as u32).to_le_bytes());
    let crc = crc32c::crc32c(&head[..16]);
    head[16..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// The file in `bytes` with every block stored as it is and every checksum right, whatever was changed in it: for tests and fuzzers, which
/// want to get past both.
pub fn laid_bare(bytes: &[u8]) -> Vec<u8> {
    let (head, mut rest) = bytes.split_at(FILE_HEAD_BYTES.min(bytes.len()));
    let mut bare = head.to_vec();
    while let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let stored_bytes = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let (stored, behind) = behind.split_at(stored_bytes.min(behind.len()));
        rest = behind.get(FOOT_BYTES..).unwrap_or_default();
        let unpacked = (head[5] == 1).then(|| zstd::bulk::decompress(stored, MAX_BLOCK_BYTES));
        let Ok(plain) = unpacked.unwrap_or_else(|| Ok(stored.to_vec())) else { continue };
        bare.extend(head_of(head[4], false, &plain, plain.len()));
        bare.extend(&plain);
        bare.extend(crc32c::crc32c(&plain).to_le_bytes());
    }
    bare
}

/// The fastest level that packs.
const ZSTD_LEVEL: i32 = 1;

/// What comes next in a file.
pub(super) enum Found {
    /// A sound block: its number of kind, and where it starts. Its bytes are lent beside.
    Block(u8, u64),
    /// Bytes that are no sound block start at this offset.
    Damage(u64),
    /// The file ends here; whether in the middle of a block.
    End { offset: u64, torn: bool },
}

/// Reads framed blocks.
pub(super) struct Frames<R> {
    input: R,
    /// Bytes that were read; those before `start`, which lies `offset` bytes into the file, are used.
    buffer: Vec<u8>,
    start: usize,
    offset: u64,
    /// Bytes at the front that the last block took.
    used: usize,
    plain: Vec<u8>,
    /// Damage was reported, and the next sound block not yet found.
    lost: bool,
}

impl<R: Read> Frames<R> {
    /// Checks the start of the file.
    pub(super) fn open(input: R) -> Result<Self, Error> {
        let mut frames = Self { input, buffer: Vec::new(), start: 0, offset: 0, used: 0, plain: Vec::new(), lost: false };
        frames.fill(FILE_HEAD_BYTES)?;
        let refuse = |found| Err(Error::NotATrace { found });
        match frames.buffer.get(..FILE_HEAD_BYTES) {
            Some(head) if head[..8] == MAGIC => {
                let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
                if version != VERSION {
                    return refuse(Foreign::PackedVersion { version, reads: VERSION });
                }
            }
            None if frames.buffer.is_empty() => return Err(Error::Empty),
            _ => return refuse(Foreign::NotPacked),
        }
        frames.used = FILE_HEAD_BYTES;
        Ok(frames)
    }

    /// The next block, and its plain bytes.
    pub(super) fn next(&mut self) -> Result<(Found, &[u8]), Error> {
        self.skip(self.used);
        self.used = 0;
        loop {
            self.fill(HEAD_BYTES)?;
            let rest = self.rest().len();
            if rest < HEAD_BYTES {
                return Ok((Found::End { offset: self.offset + rest as u64, torn: rest > 0 && !self.lost }, &[]));
            }
            let Some(head) = Head::of(self.rest()) else {
                let at = self.offset;
                self.seek_magic();
                if !std::mem::replace(&mut self.lost, true) {
                    return Ok((Found::Damage(at), &[]));
                }
                continue;
            };
            let whole = HEAD_BYTES + head.stored + FOOT_BYTES;
            self.fill(whole)?;
            let rest = self.rest().len();
            if rest < whole {
                return Ok((Found::End { offset: self.offset + rest as u64, torn: true }, &[]));
            }
            self.used = whole;
            if !self.unpack(&head) {
                return Ok((Found::Damage(self.offset), &[]));
            }
            self.lost = false;
            return Ok((Found::Block(head.kind, self.offset), &self.plain));
        }
    }

    /// Checks and unpacks the block at the front.
    fn unpack(&mut self, head: &Head) -> bool {
        let (stored, foot) = self.buffer[self.start..][HEAD_BYTES..HEAD_BYTES + head.stored + FOOT_BYTES].split_at(head.stored);
        if crc32c::crc32c(stored).to_le_bytes() != *foot {
            return false;
        }
        self.plain.clear();
        if !head.packed {
            self.plain.extend_from_slice(stored);
            return head.stored == head.plain;
        }
        self.plain.resize(head.plain, 0);
        zstd::bulk::decompress_to_buffer(stored, &mut self.plain[..]).is_ok_and(|len| len == head.plain)
    }

    /// Drops bytes up to the next place that may start a block.
    fn seek_magic(&mut self) {
        let rest = &self.rest()[1..];
        // The start of a magic number may stand at the end.
        let skip = 1 + memmem::find(rest, &BLOCK_MAGIC).unwrap_or(rest.len().saturating_sub(BLOCK_MAGIC.len() - 1));
        self.skip(skip);
    }

    fn skip(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Reads until the buffer holds `bytes`, or the input ends.
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        if self.rest().len() < bytes {
            self.buffer.drain(..std::mem::take(&mut self.start));
            let missing = bytes.max(FILL_BYTES) - self.buffer.len();
            (&mut self.input).take(missing as u64).read_to_end(&mut self.buffer)?;
        }
        Ok(())
    }
}

/// Read at once.
const FILL_BYTES: usize = 256 << 10;

struct Head {
    kind: u8,
    packed: bool,
    stored: usize,
    plain: usize,
}

impl Head {
    /// The head at the front of `bytes`, if its checksum holds and its lengths are in bounds.
    fn of(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (stored, plain) = (number(8) as usize, number(12) as usize);
        let sound = head[..4] == BLOCK_MAGIC && crc32c::crc32c(&head[..16]) == number(16);
        let bounded = stored <= MAX_BLOCK_BYTES && plain <= MAX_BLOCK_BYTES && plain / MAX_RATIO <= stored;
        (sound && bounded && head[5] < 2).then_some(Self { kind: head[4], packed: head[5] == 1, stored, plain })
    }
}
