//! [`Store`]: the chunks of one recording, who has them, and what happens when there are no more.
//!
//! A thread takes a whole chunk and then writes it alone, so the lock here is taken once in some ten thousand events. Nothing
//! under it allocates once the store is made: the lock may be wanted inside an allocator's hook. Chunks are never given back to
//! the system while somebody may still write them; a thread holds the store it writes to.

mod chunk;
mod mapping;
mod options;
pub(crate) mod pattern;
mod place;
mod protocol;
mod system;
mod upkeep;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};

use rankscope_recording::{
    Anchor, CHUNK_BYTES, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState, DropReason, FILE_HEADER_BYTES,
};

pub(crate) use chunk::Chunk;
pub use mapping::map_file;
use mapping::{Backing, Run};
pub use options::{Overflow, Storage};
pub use place::InTheWay;
pub(crate) use place::Refused;
#[cfg(feature = "export")]
pub(crate) use place::suffixed;
use system::SystemWriter;

use crate::lane::tally::Tally;
use crate::quiet;
use crate::test_clock::TestClock;
use crate::ticks::ticks;

/// Chunks for names, anchors and marks, beyond those for events.
const SYSTEM_CHUNKS_MAX: u32 = 1024;

/// So many are mapped at once at most: 16 MiB.
const GROW_CHUNKS_MAX: usize = 64;

/// So many are kept ready to be written without a page fault.
const READY_CHUNKS: usize = 8;

/// A piece of a chunk that a thread may write: the chunk's number, the first free word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub(crate) index: u32,
    pub(crate) chunk: Chunk,
    /// First word that may be written.
    pub(crate) from: usize,
}

/// The chunks of one recording.
#[derive(Debug)]
pub(crate) struct Store {
    /// Which recording of this process it is; never zero.
    pub(crate) epoch: u32,
    pub(crate) overflow: Overflow,
    /// What the host's clocks are taken to show, in tests.
    pub(crate) test_clock: Option<TestClock>,
    backing: Backing,
    /// First word of every chunk there may be; null until mapped.
    chunks: Box<[AtomicPtr<AtomicU64>]>,
    mapped: AtomicU32,
    inner: Mutex<Inner>,
    /// A [`DropReason`] once no chunk can be had, so that threads need not ask again and again.
    exhausted: AtomicU8,
    overwritten: AtomicU64,
    names_cut: AtomicU64,
    /// What threads had counted before this recording.
    pub(crate) before: OnceLock<Vec<Tally>>,
    closing: AtomicBool,
    wake: Condvar,
}

#[derive(Debug)]
struct Inner {
    runs: Vec<Run>,
    /// Mapped and never touched.
    fresh: VecDeque<u32>,
    /// Touched, so that writing faults no more.
    ready: Vec<u32>,
    /// Left behind by threads that ended, with their first free word.
    partial: Vec<(u32, usize)>,
    /// Full, and not yet looked after by the keeper.
    sealed: VecDeque<u32>,
    /// Full and looked after, oldest first: what a ring takes from.
    aged: VecDeque<u32>,
    event_chunks: u32,
    system: SystemWriter,
    anchors: Vec<Anchor>,
    retired: bool,
}

impl Store {
    /// A store with its first chunks mapped. Of earlier files in the place of its own, up to `keep` are put aside.
    ///
    /// # Errors
    /// What the file system or the kernel refuses, and who or what has the file's place; then nothing was moved.
    pub(crate) fn create(
        epoch: u32,
        storage: &Storage,
        keep: u32,
        overflow: Overflow,
        test_clock: Option<TestClock>,
    ) -> Result<Self, Refused> {
        let (backing, waiting) = match storage {
            Storage::Memory => (Backing::Memory, None),
            Storage::File(path) => {
                let (placed, waiting) = place::prepare(path)?;
                (Backing::File(placed), Some(waiting))
            }
        };
        let chunks_max = overflow.chunks() as usize + SYSTEM_CHUNKS_MAX as usize;
        let store = Self {
            epoch,
            overflow,
            test_clock,
            backing,
            chunks: (0..chunks_max).map(|_| AtomicPtr::default()).collect(),
            mapped: AtomicU32::new(0),
            inner: Mutex::new(Inner::with_room(chunks_max)),
            exhausted: AtomicU8::new(0),
            overwritten: AtomicU64::new(0),
            names_cut: AtomicU64::new(0),
            before: OnceLock::new(),
            closing: AtomicBool::new(false),
            wake: Condvar::new(),
        };
        store.grow(&mut quiet::lock(&store.inner))?;
        // Only now that it has room: a recording that cannot begin takes nobody's place.
        waiting.map_or(Ok(()), |waiting| waiting.take_place(keep))?;
        Ok(store)
    }

    /// The live file, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.backing.path()
    }

    /// Takes the place of a live file that was closed once more, to write something else there: false where somebody else has it.
    #[cfg(feature = "export")]
    pub(crate) fn lock_again(&self) -> bool {
        self.backing.file().is_some_and(place::Placed::lock_again)
    }

    /// Lets others have the place of the live file.
    pub(crate) fn unlock(&self) {
        if let Some(placed) = self.backing.file() {
            placed.unlock();
        }
    }

    /// In the child of a fork.
    pub(crate) fn leave_to_parent(&self) {
        if let Some(placed) = self.backing.file() {
            placed.leave_to_parent();
        }
    }

    /// How many chunks are mapped.
    pub(crate) fn chunk_count(&self) -> u32 {
        self.mapped.load(Ordering::Acquire)
    }

    /// A chunk that is mapped.
    pub(crate) fn chunk(&self, index: u32) -> Option<Chunk> {
        Chunk::at(self.chunks.get(index as usize)?.load(Ordering::Acquire))
    }

    /// Bytes mapped, or of the file.
    pub(crate) fn bytes(&self) -> u64 {
        let header = if self.path().is_some() { FILE_HEADER_BYTES } else { 0 };
        header as u64 + u64::from(self.chunk_count()) * CHUNK_BYTES as u64
    }

    /// Names that were too long to be written whole.
    pub(crate) fn names_cut(&self) -> u64 {
        self.names_cut.load(Ordering::Relaxed)
    }

    /// Events a ring has let go of.
    pub(crate) fn overwritten(&self) -> u64 {
        self.overwritten.load(Ordering::Relaxed)
    }

    /// Why no chunk can be had, if that is so.
    pub(crate) fn exhausted(&self) -> Option<DropReason> {
        DropReason::of(self.exhausted.load(Ordering::Relaxed).into())
    }

    /// A piece for a thread's events. `header` is what a new chunk's header shall say; where the piece is the rest of another
    /// thread's chunk, the caller writes a switch first.
    pub(crate) fn take_piece(&self, header: ChunkHeader, may_share: bool) -> Result<Piece, DropReason> {
        if let Some(reason) = self.exhausted() {
            return Err(reason);
        }
        let mut inner = quiet::lock(&self.inner);
        if inner.retired {
            return Err(DropReason::Storage);
        }
        if may_share && let Some((index, from)) = inner.partial.pop() {
            let chunk = self.chunk(index).ok_or(DropReason::Storage)?;
            chunk.update_header(|header| header.shared = true);
            return Ok(Piece { index, chunk, from });
        }
        let (index, chunk) = match self.take_chunk(&mut inner) {
            Ok(taken) => taken,
            Err(reason) => {
                // A ring gets chunks back; nobody else does.
                if !self.is_ring() {
                    self.exhausted.store(reason as u8, Ordering::Relaxed);
                }
                return Err(reason);
            }
        };
        if inner.ready.len() < READY_CHUNKS / 2 {
            self.wake.notify_one();
        }
        chunk.hand_out(header);
        Ok(Piece { index, chunk, from: CHUNK_HEADER_WORDS })
    }

    /// An empty chunk for events: ready, fresh, new, or the oldest of the ring. A ring whose chunks are all being written, or
    /// checked, takes one more than it was given: it never stops, whatever the number of threads.
    fn take_chunk(&self, inner: &mut Inner) -> Result<(u32, Chunk), DropReason> {
        if inner.event_chunks >= self.overflow.chunks() {
            if let Some(stolen) = self.steal(inner) {
                return Ok(stolen);
            }
            if !self.is_ring() {
                return Err(DropReason::Full);
            }
        }
        if inner.is_empty() && self.grow(inner).is_err() {
            return self.steal(inner).ok_or(DropReason::Storage);
        }
        let index = inner.ready.pop().or_else(|| inner.fresh.pop_front()).ok_or(DropReason::Storage)?;
        inner.event_chunks += 1;
        Ok((index, self.chunk(index).ok_or(DropReason::Storage)?))
    }

    fn is_ring(&self) -> bool {
        matches!(self.overflow, Overflow::Ring { .. })
    }

    /// The oldest full chunk, emptied; only of a ring.
    fn steal(&self, inner: &mut Inner) -> Option<(u32, Chunk)> {
        if !self.is_ring() {
            return None;
        }
        let index = inner.aged.pop_front().or_else(|| inner.sealed.pop_front())?;
        let chunk = self.chunk(index)?;
        self.recycle(chunk);
        Some((index, chunk))
    }

    /// Maps more chunks: twice as many as last time, fewer where the system will not have it.
    fn grow(&self, inner: &mut Inner) -> io::Result<()> {
        let first = self.mapped.load(Ordering::Relaxed) as usize;
        // Beyond what events may take, and a chunk for names and one for anchors, only what is asked for.
        let planned = (self.overflow.chunks() as usize + 2).saturating_sub(first).max(1);
        let room = self.chunks.len() - first;
        let mut wanted = first.clamp(READY_CHUNKS, GROW_CHUNKS_MAX).min(planned).min(room);
        let run = loop {
            match self.backing.grow(first, wanted) {
                Ok(run) if wanted > 0 => break run,
                Ok(_) => return Err(io::ErrorKind::OutOfMemory.into()),
                Err(error) if wanted <= 1 => return Err(error),
                Err(_) => wanted /= 2,
            }
        };
        for (index, chunk) in (first..).zip(run.chunks()) {
            self.chunks[index].store(chunk, Ordering::Release);
            inner.fresh.push_back(index as u32);
        }
        inner.runs.push(run);
        self.mapped.store((first + wanted) as u32, Ordering::Release);
        Ok(())
    }

    /// A thread has filled its piece, up to where it says that it starts.
    pub(crate) fn seal(&self, piece: Piece, last_tick: u64) {
        let mut inner = quiet::lock(&self.inner);
        piece.chunk.seal(piece.from, last_tick);
        inner.sealed.push_back(piece.index);
        self.wake.notify_one();
    }

    /// A thread ends and leaves the rest of its chunk to the next.
    pub(crate) fn leave(&self, piece: Piece, last_tick: u64) {
        if CHUNK_WORDS - piece.from < CHUNK_WORDS / 16 {
            return self.seal(piece, last_tick);
        }
        quiet::lock(&self.inner).partial.push((piece.index, piece.from));
    }

    /// Writes to the system chunks.
    pub(crate) fn system<T>(&self, write: impl FnOnce(&mut system::Access<'_>) -> T) -> T {
        let mut inner = quiet::lock(&self.inner);
        write(&mut system::Access { store: self, inner: &mut inner })
    }

    /// All anchors so far.
    pub(crate) fn anchors(&self) -> Vec<Anchor> {
        quiet::lock(&self.inner).anchors.clone()
    }
}

impl Inner {
    /// Empty, with room for every chunk in every list, so that nothing here ever allocates again.
    fn with_room(chunks: usize) -> Self {
        Self {
            runs: Vec::with_capacity(chunks / GROW_CHUNKS_MAX + 64),
            fresh: VecDeque::with_capacity(chunks),
            ready: Vec::with_capacity(chunks),
            partial: Vec::with_capacity(chunks),
            sealed: VecDeque::with_capacity(chunks),
            aged: VecDeque::with_capacity(chunks),
            event_chunks: 0,
            system: SystemWriter::default(),
            anchors: Vec::new(),
            retired: false,
        }
    }

    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.fresh.is_empty()
    }
}

/// The header of a chunk that starts now.
pub(crate) fn new_header(kind: ChunkKind, stream: u32, sequence: u32, first_id: u64) -> ChunkHeader {
    ChunkHeader {
        kind,
        state: ChunkState::Open,
        shared: false,
        generation: 0,
        stream,
        sequence,
        base_tick: ticks(),
        first_id,
        used_words: 0,
        crc: 0,
        last_tick: 0,
    }
}
