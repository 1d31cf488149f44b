//! [`Chunk`]: one mapped chunk, reached word by word.
//!
//! Every access is an atomic one, because whoever takes a snapshot reads while the owner writes; in which order is what
//! [`protocol`] says.
#![expect(unsafe_code, reason = "words of mapped memory are reached by address")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rankscope_recording::{CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkState, Word};

use super::mapping;
use super::protocol::{self, Words};

/// The last word of a header is spare in a chunk that is in use; in an empty one it keeps the generation for the next owner.
const GENERATION: usize = CHUNK_HEADER_WORDS - 1;

/// A chunk of a store. Valid for as long as its store is; whoever holds one holds the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk(NonNull<AtomicU64>);

// SAFETY: all access is atomic.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Words for Chunk {
    fn count(&self) -> usize {
        CHUNK_WORDS
    }

    fn load(&self, index: usize, order: Ordering) -> u64 {
        self.word(index).load(order)
    }

    fn store(&self, index: usize, word: u64, order: Ordering) {
        self.word(index).store(word, order);
    }

    fn fence(order: Ordering) {
        fence(order);
    }
}

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
        let [first, rest @ ..] = header.to_words();
        protocol::publish(self, 0, first, rest);
    }

    /// Gives an empty chunk to whom `header` names. The generation goes on from the last owner's.
    pub(crate) fn hand_out(&self, header: ChunkHeader) {
        let generation = self.word(GENERATION).load(Ordering::Relaxed) as u32;
        self.set_header(ChunkHeader { generation, ..header });
    }

    /// Empties a chunk, for its next owner.
    pub(crate) fn take_back(&self) {
        let generation = self.header().map_or(0, |header| header.generation);
        protocol::clear(self);
        self.word(GENERATION).store(u64::from(generation) + 1, Ordering::Relaxed);
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
        // By the page: word by word, calling the checksum would take longer than computing it.
        let (mut crc, mut page) = (0, [0_u64; 512]);
        let used = CHUNK_HEADER_WORDS..header.used_words as usize;
        for from in used.clone().step_by(page.len()) {
            let words = &mut page[..(used.end - from).min(512)];
            for (index, word) in (from..).zip(words.iter_mut()) {
                *word = self.word(index).load(Ordering::Relaxed).to_le();
            }
            crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(words));
        }
        self.set_header(ChunkHeader { state: ChunkState::Checked, crc, ..header });
    }

    /// Copies all words; false where the chunk got another owner meanwhile.
    pub(crate) fn copy(&self, words: &mut [u64]) -> bool {
        protocol::copy(self, words)
    }

    /// How many events are lost with it. A span is lost with its end: one that ends later is known from the chunk after this one.
    pub(crate) fn count_events(&self) -> u64 {
        let (mut index, mut events) = (CHUNK_HEADER_WORDS, 0);
        while index < CHUNK_WORDS {
            let head = Word(self.word(index).load(Ordering::Acquire));
            let (Some(kind), Some(payload)) = (head.kind(), head.payload_words()) else { break };
            events += u64::from(kind.has_ticks() && !kind.begins_span());
            index += 1 + payload as usize;
        }
        events
    }

    /// Writes a record at word `at`.
    pub(crate) fn publish(&self, at: usize, head: Word, payload: impl IntoIterator<Item = u64>) {
        protocol::publish(self, at, head.0, payload);
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
