//! Where things lie in a live file: one header page, then chunks of equal size, each with a header of eight words.
//!
//! ```text
//! file header (4096 bytes): magic, version, chunk size, process number, zeros
//! chunk 0, chunk 1, ...: header (8 words), records (heads and payloads), zeros
//! ```
//!
//! A chunk whose header is all zero has never been handed out. A thread fills its chunks one after the other; `sequence` puts
//! them in order. When a thread ends, another may take over the rest of its chunk, behind a [`super::Kind::Switch`].

/// First eight bytes of a live file.
pub const LIVE_MAGIC: [u8; 8] = *b"RKSLIVE1";
/// First eight bytes of the packed file that a recording becomes when it is exported.
pub const PACKED_MAGIC: [u8; 8] = *b"RKSPACK1";
/// Version of the live layout.
pub const LIVE_VERSION: u32 = 1;
/// Bytes in front of the first chunk.
pub const FILE_HEADER_BYTES: usize = 4096;
/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Words of a chunk, header included.
pub const CHUNK_WORDS: usize = CHUNK_BYTES / 8;
/// Words of a chunk's header.
pub const CHUNK_HEADER_WORDS: usize = 8;

/// What a chunk holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChunkKind {
    /// Events of threads.
    Events = 1,
    /// Names, threads, sessions, drops, metadata: what must not be lost for the events to make sense.
    System = 2,
    /// Anchors only; these age like events do.
    Anchors = 3,
}

impl ChunkKind {
    /// The kind with this number.
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Events),
            2 => Some(Self::System),
            3 => Some(Self::Anchors),
            _ => None,
        }
    }
}

/// How far a chunk has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChunkState {
    /// Somebody may be writing it: it ends at its first zero head.
    Open = 1,
    /// Nobody writes it any more.
    Sealed = 2,
    /// As sealed, and its checksum is valid.
    Checked = 3,
}

impl ChunkState {
    /// The state with this number.
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Open),
            2 => Some(Self::Sealed),
            3 => Some(Self::Checked),
            _ => None,
        }
    }
}

/// The eight words at the start of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// What the chunk holds.
    pub kind: ChunkKind,
    /// How far it has got.
    pub state: ChunkState,
    /// Whether a [`super::Kind::Switch`] lies in it.
    pub shared: bool,
    /// How many times the chunk has been handed out; grows when a ring uses it again.
    pub generation: u32,
    /// The stream its first records belong to; every thread that records has its own.
    pub stream: u32,
    /// The chunk's place among the pieces of that stream.
    pub sequence: u32,
    /// What the ticks of its first records count from.
    pub base_tick: u64,
    /// Correlation id of the first span that begins in it.
    pub first_id: u64,
    /// Words in use, header included, once sealed; zero before.
    pub used_words: u32,
    /// CRC-32C of the words in use behind the header, in state [`ChunkState::Checked`].
    pub crc: u32,
    /// Tick of the last record, once sealed: by it a ring knows the chunk's age.
    pub last_tick: u64,
}

impl ChunkHeader {
    /// As words of a file. Word 0 is never zero, so an unused chunk can be told.
    pub const fn to_words(self) -> [u64; CHUNK_HEADER_WORDS] {
        let tag = 0x4b52 | (self.kind as u64) << 16 | (self.state as u64) << 24 | (self.generation as u64) << 32;
        [
            tag,
            (self.stream as u64) << 32 | self.sequence as u64,
            self.base_tick,
            self.first_id,
            (self.crc as u64) << 32 | self.used_words as u64,
            self.last_tick,
            self.shared as u64,
            0,
        ]
    }

    /// From words of a file; `None` where they are no header of this version.
    pub const fn from_words(words: &[u64; CHUNK_HEADER_WORDS]) -> Option<Self> {
        let tag = words[0];
        if tag & 0xffff != 0x4b52 {
            return None;
        }
        let (Some(kind), Some(state)) = (ChunkKind::of((tag >> 16) as u8), ChunkState::of((tag >> 24) as u8)) else {
            return None;
        };
        let used_words = words[4] as u32;
        if used_words as usize > CHUNK_WORDS {
            return None;
        }
        Some(Self {
            kind,
            state,
            shared: words[6] & 1 != 0,
            generation: (tag >> 32) as u32,
            stream: (words[1] >> 32) as u32,
            sequence: words[1] as u32,
            base_tick: words[2],
            first_id: words[3],
            used_words,
            crc: (words[4] >> 32) as u32,
            last_tick: words[5],
        })
    }
}
