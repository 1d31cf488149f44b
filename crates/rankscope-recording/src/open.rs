//! [`Recording`]: what a recorder left, found its way around in, and not yet read.
//!
//! Opening looks at the header of every chunk and reads the few that are not events. Events stay where they are until a
//! [`Replay`] walks them. A damaged chunk is counted and stepped over; it leaves a hole in its stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use super::Error;
use super::chunk::{CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState};
use super::device::{DEVICE_STREAM, DeviceTally, Shown, SourceId, show};
use super::event::{DropReason, Remark};
use super::live::Chunks;
use super::records::record;
use super::replay::Replay;
use super::session::{Cut, SessionMark};
use super::system::{Anchor, Name, System};
use super::ticks::TickMap;
use super::word::Kind;

/// A thread of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The number of its stream; no two threads share one, in whatever order they lived.
    pub stream: u32,
    /// The operating system's number for it, which a later thread may get again. Zero if the recording does not say.
    pub tid: u64,
    /// Its name; may be empty.
    pub name: String,
    /// Its pieces, in order.
    pub(super) pieces: Vec<Piece>,
}

/// A stretch of one chunk that one thread filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) chunk: u32,
    /// Its first word.
    pub(super) at: usize,
    /// Its place in the stream.
    pub(super) sequence: u32,
    pub(super) base_tick: u64,
    pub(super) first_id: u64,
}

/// A recording, of one process.
pub struct Recording<C> {
    chunks: C,
    threads: Vec<Thread>,
    names: Vec<Name>,
    meta: Vec<(String, String)>,
    sessions: Vec<SessionMark>,
    drops: Vec<(DropReason, u32, u64)>,
    remarks: Vec<(Remark, u32, u64)>,
    anchors: Vec<Anchor>,
    ticks: TickMap,
    last_tick: u64,
    damage: Mutex<Damage>,
    /// Device work, where sources handed any over.
    shown: Shown,
}

/// Chunks by what is wrong with them.
#[derive(Debug, Default)]
struct Damage {
    lost: BTreeSet<u32>,
    cut: BTreeSet<u32>,
}

impl<C: Chunks> Recording<C> {
    /// Looks through `chunks`.
    ///
    /// # Errors
    /// [`Error::NoEvents`] where chunks are there and none of them has a header that can be read.
    pub fn open(chunks: C) -> Result<Self, Error> {
        let mut index = Index::default();
        let mut words = vec![0; CHUNK_WORDS];
        for chunk in 0..chunks.count() {
            index.visit(&chunks, chunk, &mut words);
        }
        index.read_system(&chunks, &mut words);
        if index.readable == 0 && !index.damage.lost.is_empty() {
            return Err(Error::NoEvents { offset: super::FILE_HEADER_BYTES as u64 });
        }
        let mut recording = index.into_recording(chunks);
        if let Some(shown) = show(&recording) {
            recording.add(shown);
        }
        Ok(recording)
    }

    /// Adds device work, as a thread that comes behind all others.
    fn add(&mut self, mut shown: Shown) {
        self.names.append(&mut shown.names);
        let pieces = (0..).zip(&shown.chunks).map(|(at, chunk)| Piece {
            chunk: u32::MAX - at,
            at: 0,
            sequence: at,
            base_tick: chunk.base_tick,
            first_id: 0,
        });
        let pieces = pieces.collect();
        self.threads.retain(|thread| thread.stream < DEVICE_STREAM);
        self.threads.push(Thread { stream: DEVICE_STREAM, tid: 0, name: String::new(), pieces });
        self.shown = shown;
    }

    /// The threads that recorded, by stream; behind them [`DEVICE_STREAM`], where sources handed over what devices did.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The table of names, by [`super::NameId`]. The first is empty.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    /// Ticks to time.
    pub fn ticks(&self) -> &TickMap {
        &self.ticks
    }

    /// Ticks against other clocks, in order of their ticks.
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// The sessions, by their number.
    pub fn sessions(&self) -> &[SessionMark] {
        &self.sessions
    }

    /// What else is known: key, and value as JSON text.
    pub fn meta(&self) -> &[(String, String)] {
        &self.meta
    }

    /// Events that were lost: why, of which stream, how many.
    pub fn drops(&self) -> &[(DropReason, u32, u64)] {
        &self.drops
    }

    /// What the recorder counted beside events: what, of which stream, how many.
    pub fn remarks(&self) -> &[(Remark, u32, u64)] {
        &self.remarks
    }

    /// Chunks that hold events nobody can read: no header, a false checksum, or gone while they were read. The checksums of
    /// event chunks are checked as they are replayed, so the number is final after that.
    pub fn lost_chunks(&self) -> u32 {
        self.damage().lost.len() as u32
    }

    /// Chunks of which only the first part can be read, because a record of a later version or a false length follows. As
    /// [`Self::lost_chunks`], final once everything is replayed.
    pub fn cut_chunks(&self) -> u32 {
        self.damage().cut.len() as u32
    }

    /// What became of what `source` handed over; none if it handed over nothing.
    pub fn device_tally(&self, source: SourceId) -> Option<&DeviceTally> {
        self.shown.tallies.get(&source)
    }

    /// Things that sources handed over and that nobody can read.
    pub fn unreadable_device_work(&self) -> u64 {
        self.shown.unreadable
    }

    /// Whether instants called `name` are a source's, and told as device work.
    #[inline]
    pub(super) fn is_hidden(&self, name: super::NameId) -> bool {
        self.shown.hidden.contains(&name)
    }

    /// The last tick the recording knows of before its events are read: of anchors, sessions and sealed chunks.
    pub fn last_tick(&self) -> u64 {
        self.last_tick
    }

    /// Walks the events of `thread` that are in `cut`.
    pub fn replay<'r>(&'r self, thread: &Thread, cut: &Cut) -> Replay<'r, C> {
        let known = self.threads.binary_search_by_key(&thread.stream, |thread| thread.stream);
        let pieces = match known {
            Ok(at) if cut.has_stream(thread.stream) => &self.threads[at].pieces[..],
            _ => &[],
        };
        Replay::new(self, pieces, cut.clone())
    }

    /// The category of what is called `name`.
    #[inline]
    pub(super) fn category(&self, name: super::NameId) -> u8 {
        self.names.get(name.0 as usize).map_or(0, |name| name.category)
    }

    /// Loads the chunk that `piece` lies in. Returns where its words end; `None` and counted if it cannot be read.
    pub(super) fn load(&self, piece: &Piece, words: &mut [u64]) -> Option<usize> {
        if let Some(shown) = self.shown.chunks.get((u32::MAX - piece.chunk) as usize) {
            words[..shown.words.len()].copy_from_slice(&shown.words);
            return Some(shown.words.len());
        }
        let loaded = load(&self.chunks, piece.chunk, words);
        // A ring may have given the chunk to another stream since it was found.
        let whole = loaded.filter(|(header, _)| piece.at > CHUNK_HEADER_WORDS || header.sequence == piece.sequence);
        if whole.is_none() {
            self.damage().lost.insert(piece.chunk);
        }
        whole.map(|(_, end)| end)
    }

    /// Notes that the rest of `chunk` cannot be read.
    pub(super) fn note_cut(&self, chunk: u32) {
        self.damage().cut.insert(chunk);
    }

    fn damage(&self) -> std::sync::MutexGuard<'_, Damage> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A recording while it is being opened.
#[derive(Default)]
struct Index {
    pieces: BTreeMap<u32, Vec<Piece>>,
    system: System,
    /// Chunks of the system and of anchors: kind, stream, place in it, index.
    aside: Vec<(bool, u32, u32, u32)>,
    damage: Damage,
    readable: u32,
    last_tick: u64,
}

impl Index {
    fn visit(&mut self, chunks: &impl Chunks, chunk: u32, words: &mut [u64]) {
        let Some(head) = chunks.header(chunk) else {
            self.damage.lost.insert(chunk);
            return;
        };
        if head[0] == 0 {
            return;
        }
        let Some(header) = ChunkHeader::from_words(&head) else {
            self.damage.lost.insert(chunk);
            return;
        };
        self.readable += 1;
        self.last_tick = self.last_tick.max(header.last_tick);
        match header.kind {
            ChunkKind::System => self.aside.push((false, header.stream, header.sequence, chunk)),
            ChunkKind::Anchors => self.aside.push((true, header.stream, header.sequence, chunk)),
            ChunkKind::Events => {
                let ChunkHeader { stream, sequence, base_tick, first_id, .. } = header;
                self.add(stream, Piece { chunk, at: CHUNK_HEADER_WORDS, sequence, base_tick, first_id });
                if header.shared {
                    self.add_shared(chunks, chunk, words);
                }
            }
        }
    }

    fn add(&mut self, stream: u32, piece: Piece) {
        self.pieces.entry(stream).or_default().push(piece);
    }

    /// Finds the pieces behind the first one.
    fn add_shared(&mut self, chunks: &impl Chunks, chunk: u32, words: &mut [u64]) {
        // What cannot be read here is counted when the first piece is replayed.
        let Some((_, end)) = load(chunks, chunk, words) else { return };
        let mut at = CHUNK_HEADER_WORDS;
        while let Ok((record, next)) = record(&words[..end], at) {
            if record.kind == Kind::Switch {
                let [place, base_tick, first_id] = record.payload else { return };
                let (stream, sequence) = ((place >> 32) as u32, *place as u32);
                self.add(stream, Piece { chunk, at: next, sequence, base_tick: *base_tick, first_id: *first_id });
            }
            at = next;
        }
    }

    fn read_system(&mut self, chunks: &impl Chunks, words: &mut [u64]) {
        self.aside.sort_unstable();
        for (_, _, _, chunk) in std::mem::take(&mut self.aside) {
            match load(chunks, chunk, words) {
                None => {
                    self.damage.lost.insert(chunk);
                }
                Some((_, end)) => {
                    if !self.system.read(&words[..end], CHUNK_HEADER_WORDS) {
                        self.damage.cut.insert(chunk);
                    }
                }
            }
        }
    }

    fn into_recording<C>(mut self, chunks: C) -> Recording<C> {
        let mut system = self.system;
        for stream in system.threads.keys() {
            self.pieces.entry(*stream).or_default();
        }
        let threads = self.pieces.into_iter().map(|(stream, mut pieces)| {
            pieces.sort_by_key(|piece| (piece.sequence, piece.chunk, piece.at));
            let (tid, name) = system.threads.remove(&stream).unwrap_or_default();
            Thread { stream, tid, name, pieces }
        });
        let threads = threads.collect();
        system.anchors.sort_by_key(|anchor| (anchor.tick, anchor.clock));
        let said = system.sessions.values().flat_map(|session| [session.stop_tick.unwrap_or(0), session.start_tick]);
        let last_tick = said.chain(system.anchors.last().map(|anchor| anchor.tick)).fold(self.last_tick, u64::max);
        let key = |id: super::NameId| system.names.get(id.0 as usize).map_or_else(String::new, |name| name.text.to_string());
        Recording {
            chunks,
            threads,
            meta: system.meta.into_iter().map(|(id, json)| (key(id), json)).collect(),
            names: system.names,
            sessions: system.sessions.into_values().collect(),
            drops: system.drops.into_iter().map(|((stream, reason), count)| (reason, stream, count)).collect(),
            remarks: system.remarks.into_iter().map(|((stream, remark), count)| (remark, stream, count)).collect(),
            ticks: TickMap::new(&system.anchors),
            anchors: system.anchors,
            last_tick,
            damage: Mutex::new(self.damage),
            shown: Shown::default(),
        }
    }
}

/// Reads a whole chunk. Returns its header and where its words end; `None` if it is not what its header says.
fn load(chunks: &impl Chunks, chunk: u32, words: &mut [u64]) -> Option<(ChunkHeader, usize)> {
    if !chunks.copy(chunk, words) {
        return None;
    }
    let header = ChunkHeader::from_words(words.first_chunk()?)?;
    let used = header.used_words as usize;
    // A writer that is killed while it seals may leave a sealed chunk without a length.
    let end = if header.state == ChunkState::Open || used < CHUNK_HEADER_WORDS { CHUNK_WORDS } else { used };
    let sound = header.state != ChunkState::Checked
        || crc32c::crc32c(bytemuck::cast_slice(&words[CHUNK_HEADER_WORDS..end])) == header.crc;
    sound.then_some((header, end))
}
