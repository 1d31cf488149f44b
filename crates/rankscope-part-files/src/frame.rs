//! What stands around the columns: the head of the file and those of blocks.

/// The layout that this version writes, and the newest that it reads.
pub const SCHEMA: u16 = 2;

/// What a block may inflate to.
pub const BLOCK_BYTES_MAX: usize = 64 << 20;

/// What a part may have.
pub const PART_BYTES_MAX: u64 = 1 << 30;

/// What a string may have. Only XSpace and Perfetto could hold longer ones, and no profiler writes such names.
pub const STRING_BYTES_MAX: usize = 8 << 20;

/// How many times its size a block may inflate to, so that a small file cannot take much memory.
const INFLATION_MAX: usize = 64;

/// What may be compressed as far as it goes.
const SMALL_BYTES: usize = 4 << 10;

/// What a block is about. 0 is the end of the file; the others are the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

/// The kind of the last block.
pub(crate) const END: Kind = Kind(0);

/// Not text, not UTF-8, and changed by whatever changes line ends.
pub(crate) const MAGIC: [u8; 8] = *b"\x93RKPART\n";

pub(crate) const FILE_HEAD_BYTES: usize = 16;
pub(crate) const BLOCK_HEAD_BYTES: usize = 16;

/// How a block's columns are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Encoding {
    Plain = 0,
    Zstd = 1,
}

/// What a block says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockHead {
    pub(crate) kind: Kind,
    /// A number that may be no [`Encoding`].
    pub(crate) encoding: u16,
    pub(crate) stored: u32,
    pub(crate) inflated: u32,
    pub(crate) checksum: u32,
}

impl BlockHead {
    pub(crate) fn bytes(&self) -> [u8; BLOCK_HEAD_BYTES] {
        let mut bytes = [0; BLOCK_HEAD_BYTES];
        bytes[..2].copy_from_slice(&self.kind.0.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.encoding.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.stored.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.inflated.to_le_bytes());
        bytes[12..].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn of(bytes: &[u8; BLOCK_HEAD_BYTES]) -> Self {
        let [a, b, c, d, rest @ ..] = *bytes;
        let [s0, s1, s2, s3, i0, i1, i2, i3, c0, c1, c2, c3] = rest;
        Self {
            kind: Kind(u16::from_le_bytes([a, b])),
            encoding: u16::from_le_bytes([c, d]),
            stored: u32::from_le_bytes([s0, s1, s2, s3]),
            inflated: u32::from_le_bytes([i0, i1, i2, i3]),
            checksum: u32::from_le_bytes([c0, c1, c2, c3]),
        }
    }

    /// The checksum there has to be.
    pub(crate) fn sum(&self, stored: &[u8]) -> u32 {
        crc32c::crc32c_append(crc32c::crc32c(&self.bytes()[..12]), stored)
    }
}

/// The head of a file of `schema`.
pub(crate) fn file_head(schema: u16) -> [u8; FILE_HEAD_BYTES] {
    let mut head = [0; FILE_HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..10].copy_from_slice(&schema.to_le_bytes());
    let sum = crc32c::crc32c(&head[..12]);
    head[12..].copy_from_slice(&sum.to_le_bytes());
    head
}

/// Whether a block of `plain` bytes may be stored as `packed`.
pub(crate) fn may_inflate(packed: usize, plain: usize) -> bool {
    plain <= SMALL_BYTES.max(packed.saturating_mul(INFLATION_MAX))
}

/// The least that a block of `plain` bytes, more than a few, may be stored as.
pub(crate) fn least_packed(plain: usize) -> usize {
    plain.div_ceil(INFLATION_MAX)
}

/// Whether `bytes` begin like a part, as far as they go.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    let known = bytes.len().min(MAGIC.len());
    known > 0 && bytes[..known] == MAGIC[..known]
}
