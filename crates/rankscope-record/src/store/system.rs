//! System chunks: names, threads, sessions, losses, anchors. Written under the store's lock, and seldom.
//!
//! What is said here must be there before any event that needs it, so a name is written before its number is given out.

use std::sync::atomic::Ordering;

use rankscope_recording::{Anchor, CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkKind, DropReason, Kind, NameId, Remark, Word};

use super::{Chunk, Inner, Store, new_header};
use crate::ticks::ticks;

/// Texts are cut here: a record has to fit a chunk many times over.
const TEXT_BYTES_MAX: usize = 60 << 10;

/// More anchors than this are thinned out in memory (not in the recording): the fit of a long session does not need them all.
const ANCHORS_MAX: usize = 8192;

/// Where the next system record goes.
#[derive(Debug, Default)]
pub(super) struct SystemWriter {
    system: Cursor,
    anchors: Cursor,
}

#[derive(Debug, Default)]
struct Cursor {
    chunk: Option<(u32, Chunk)>,
    at: usize,
    sequence: u32,
}

/// The store with its lock taken.
pub(crate) struct Access<'a> {
    pub(super) store: &'a Store,
    pub(super) inner: &'a mut Inner,
}

impl Access<'_> {
    /// A text and its number, with its category and scope.
    pub(crate) fn name(&mut self, id: NameId, text: &str, category: u8, scope: u8) {
        if text.len() > TEXT_BYTES_MAX {
            self.store.names_cut.fetch_add(1, Ordering::Relaxed);
        }
        let about = u64::from(category) | u64::from(scope) << 8;
        self.text(Kind::Name, id, &[about], text.as_bytes());
    }

    /// A thread and what it is called now.
    pub(crate) fn thread(&mut self, stream: u32, tid: u64, name: &str) {
        self.text(Kind::Thread, NameId(0), &[u64::from(stream), tid], name.as_bytes());
    }

    /// Something to know about the recording; `key` is an interned name, `json` JSON text.
    pub(crate) fn meta(&mut self, key: NameId, json: &str) {
        self.text(Kind::Meta, key, &[], json.as_bytes());
    }

    /// A session begins, or has other categories from now on.
    pub(crate) fn session_start(&mut self, id: u64, tick: u64, categories: u32) {
        self.words(Kind::SessionStart, 0, 0, &[id, tick, u64::from(categories)], &[]);
    }

    /// A session ends.
    pub(crate) fn session_stop(&mut self, id: u64, tick: u64) {
        self.words(Kind::SessionStop, 0, 0, &[id, tick], &[]);
    }

    /// So many events of a stream were lost so far.
    pub(crate) fn drops(&mut self, reason: DropReason, stream: u32, count: u64) {
        self.words(Kind::Drops, reason as u32, 0, &[u64::from(stream), count], &[]);
    }

    /// So many of what `remark` says on a stream so far; nothing is written of none.
    pub(crate) fn remark(&mut self, remark: Remark, stream: u32, count: u64) {
        if count > 0 {
            self.words(Kind::Drops, remark as u32, 0, &[u64::from(stream), count], &[]);
        }
    }

    /// Ticks and clocks.
    pub(crate) fn anchors(&mut self, anchors: &[Anchor]) {
        for anchor in anchors {
            let payload = [anchor.tick, anchor.ns as u64, anchor.width_ticks];
            self.words(Kind::Anchor, anchor.clock.0, 0, &payload, &[]);
        }
        self.inner.anchors.extend_from_slice(anchors);
        if self.inner.anchors.len() > ANCHORS_MAX {
            let mut group = 0;
            // Anchors come four at a time; every other group of four goes, but never the first.
            self.inner.anchors.retain(|_| {
                group += 1;
                (group - 1) / 4 % 2 == 0
            });
        }
    }

    fn text(&mut self, kind: Kind, name: NameId, payload: &[u64], text: &[u8]) {
        let text = &text[..text.len().min(TEXT_BYTES_MAX)];
        self.words(kind, name.0, text.len() as u64, payload, text);
    }

    /// Writes one record. One that finds no room is not written: readers name what they do not know by its number.
    fn words(&mut self, kind: Kind, name: u32, value: u64, payload: &[u64], text: &[u8]) {
        let total = 1 + payload.len() + text.len().div_ceil(8);
        let of = if kind == Kind::Anchor { ChunkKind::Anchors } else { ChunkKind::System };
        let Some((chunk, at)) = self.room(of, total) else { return };
        let text = text.chunks(8).map(|bytes| {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(padded)
        });
        chunk.publish(at, Word::new(kind, name, value), payload.iter().copied().chain(text));
    }

    fn room(&mut self, kind: ChunkKind, words: usize) -> Option<(Chunk, usize)> {
        let cursor = self.cursor(kind);
        if let Some((_, chunk)) = cursor.chunk
            && cursor.at + words <= CHUNK_WORDS
        {
            let at = cursor.at;
            cursor.at += words;
            return Some((chunk, at));
        }
        // The full one is let go of only when there is another: a chunk must not grow old twice.
        let (index, chunk) = self.new_chunk()?;
        let cursor = self.cursor(kind);
        chunk.hand_out(new_header(kind, 0, cursor.sequence, 0));
        let next = Cursor { chunk: Some((index, chunk)), at: CHUNK_HEADER_WORDS + words, sequence: cursor.sequence + 1 };
        let full = std::mem::replace(cursor, next);
        if let Some((index, chunk)) = full.chunk {
            chunk.seal(full.at, ticks());
            chunk.check();
            if kind == ChunkKind::Anchors {
                // Anchors age with the events they time; the rest must stay.
                self.inner.aged.push_back(index);
                self.inner.event_chunks += 1;
            }
        }
        Some((chunk, CHUNK_HEADER_WORDS))
    }

    fn cursor(&mut self, kind: ChunkKind) -> &mut Cursor {
        let writer = &mut self.inner.system;
        if kind == ChunkKind::Anchors { &mut writer.anchors } else { &mut writer.system }
    }

    fn new_chunk(&mut self) -> Option<(u32, Chunk)> {
        if self.inner.is_empty() {
            self.store.grow(self.inner).ok()?;
        }
        let index = self.inner.fresh.pop_front().or_else(|| self.inner.ready.pop())?;
        Some((index, self.store.chunk(index)?))
    }
}
