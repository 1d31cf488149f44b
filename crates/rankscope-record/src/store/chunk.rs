//! [`Chunk`]: one mapped chunk, reached word by word.
//!
//! Every access is an atomic one, because whoever takes a snapshot reads while the owner writes. A record is published by its
//! head: payload first, head last and with release, so that a reader who sees the head sees the payload.
#![expect(unsafe_code, reason = "words of mapped memory are reached by address")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rankscope_formats::recording::{CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkState, Word};

use super::mapping;

/// A chunk of a store. Valid for as long as its store is; whoever holds one holds the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk(NonNull<AtomicU64>);

// SAFETY: all access is atomic.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// The chunk that starts at `base`, unless that is null.
    pub(crate) fn at(base: *mut AtomicU64) -> Option<Self> {
        NonNull::new(base).map(Self)
    }

    /// Its first word.
    pub(crate) fn base(self) -> *mut AtomicU64 {
        self.0.as_ptr()
    }

    /// One word.
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < CHUNK_WORDS, "a chunk has {CHUNK_WORDS} words");
        // SAFETY: the chunk is mapped for as long as its store, and the index was checked.
        unsafe { &*self.0.as_ptr().add(index) }
    }

    /// The header, as words; read so that two equal readings around a copy mean the same owner.
    pub(crate) fn header_words(&self) -> [u64; CHUNK_HEADER_WORDS] {
        std::array::from_fn(|index| self.word(index).load(Ordering::Acquire))
    }

    /// The header, if the chunk is in use.
    pub(crate) fn header(&self) -> Option<ChunkHeader> {
        ChunkHeader::from_words(&self.header_words())
    }

    /// Writes the header, its first word last.
    pub(crate) fn set_header(&self, header: ChunkHeader) {
        let words = header.to_words();
        for (index, word) in words.iter().enumerate().skip(1) {
            self.word(index).store(*word, Ordering::Relaxed);
        }
        self.word(0).store(words[0], Ordering::Release);
    }

    /// Changes the header, if there is one.
    pub(crate) fn update_header(&self, change: impl FnOnce(&mut ChunkHeader)) {
        if let Some(mut header) = self.header() {
            change(&mut header);
            self.set_header(header);
        }
    }

    /// Nobody will write this chunk any more. `used_words` are in use, the last of them at `last_tick`.
    pub(crate) fn seal(&self, used_words: usize, last_tick: u64) {
        self.update_header(|header| {
            header.state = ChunkState::Sealed;
            header.used_words = used_words as u32;
            header.last_tick = last_tick;
        });
    }

    /// Adds the checksum to a sealed chunk.
    pub(crate) fn check(&self) {
        let Some(header) = self.header().filter(|header| header.state == ChunkState::Sealed) else { return };
        let mut crc = 0;
        for index in CHUNK_HEADER_WORDS..header.used_words as usize {
            crc = crc32c::crc32c_append(crc, &self.word(index).load(Ordering::Relaxed).to_le_bytes());
        }
        self.set_header(ChunkHeader { state: ChunkState::Checked, crc, ..header });
    }

    /// Copies all words; false where the chunk got another owner meanwhile.
    pub(crate) fn copy(&self, words: &mut [u64]) -> bool {
        let before = self.header().map(|header| header.generation);
        for (index, word) in words.iter_mut().enumerate().take(CHUNK_WORDS) {
            *word = self.word(index).load(Ordering::Acquire);
        }
        fence(Ordering::Acquire);
        self.header().map(|header| header.generation) == before
    }

    /// How many events lie in it: heads that are neither arguments nor bookkeeping.
    pub(crate) fn count_events(&self) -> u64 {
        let (mut index, mut events) = (CHUNK_HEADER_WORDS, 0);
        while index < CHUNK_WORDS {
            let head = Word(self.word(index).load(Ordering::Acquire));
            let (Some(kind), Some(payload)) = (head.kind(), head.payload_words()) else { break };
            events += u64::from(kind.has_ticks());
            index += 1 + payload as usize;
        }
        events
    }

    /// Makes it empty, the header first so that no reader takes the old words for the new owner's.
    pub(crate) fn clear(&self) {
        self.word(0).store(0, Ordering::Relaxed);
        fence(Ordering::Release);
        for index in 1..CHUNK_WORDS {
            self.word(index).store(0, Ordering::Relaxed);
        }
        fence(Ordering::Release);
    }

    /// See [`mapping::prefault`].
    pub(crate) fn prefault(self) {
        mapping::prefault(self.base());
    }

    /// See [`mapping::let_go`].
    pub(crate) fn let_go(self) {
        mapping::let_go(self.base());
    }
}
