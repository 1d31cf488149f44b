//! What is done to a store beside recording: chunks made ready, full ones checked, old ones of a ring let go, pages given back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Chunk, Inner, Overflow, READY_CHUNKS, Store};
use crate::quiet;
use crate::ticks::ticks;

/// Full chunks that may wait to be checked.
const SEALED_CHUNKS_MAX: usize = 64;

impl Store {
    /// Empties a chunk of a ring, and counts what is lost with it.
    pub(super) fn recycle(&self, chunk: Chunk) {
        self.overwritten.fetch_add(chunk.count_events(), Ordering::Relaxed);
        chunk.take_back();
    }

    /// No recording wants these chunks any more: all pages but those of chunks that `is_owned` are given back. The addresses go
    /// when the last thread has let go of the store.
    pub(crate) fn retire(&self, is_owned: impl Fn(u32) -> bool) {
        self.closing.store(true, Ordering::Relaxed);
        let mut inner = quiet::lock(&self.inner);
        inner.retired = true;
        for index in (0..self.chunk_count()).filter(|index| !is_owned(*index)) {
            if let Some(chunk) = self.chunk(index) {
                chunk.let_go();
            }
        }
        self.wake.notify_all();
    }

    /// Tells the keeper that it is not needed after what is left to do, and others that the file is free to be put aside.
    pub(crate) fn close(&self) {
        // Under the lock, as a keeper that is about to wait would sleep through it.
        let inner = quiet::lock(&self.inner);
        self.closing.store(true, Ordering::Relaxed);
        drop(inner);
        self.unlock();
        self.wake.notify_all();
    }

    /// Whether no more events come.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Whether the keeper has chunks left to check.
    pub(crate) fn has_sealed(&self) -> bool {
        let inner = quiet::lock(&self.inner);
        !inner.retired && !inner.sealed.is_empty()
    }

    /// Brings a file's pages to its disk, for the day the power fails.
    pub(crate) fn flush(&self) {
        self.backing.flush();
    }

    /// The keeper's work: chunks made ready, full ones checked, old ones of a ring let go. Returns after `wait` at the latest,
    /// and at once when there is work.
    pub(crate) fn keep(&self, wait: Duration, ticks_per_second: u64) {
        let mut inner = quiet::lock(&self.inner);
        if inner.sealed.is_empty() && (inner.ready.len() >= READY_CHUNKS || inner.fresh.is_empty()) && !self.is_closing() {
            inner = inner.wait(&self.wake, wait);
        }
        if inner.retired {
            return;
        }
        // A chunk that is wanted goes before one that was, but these may not pile up: of a file they hold memory until checked.
        let is_wanted = inner.ready.len() < READY_CHUNKS / 2 && !inner.fresh.is_empty();
        let is_urgent = is_wanted && inner.sealed.len() < SEALED_CHUNKS_MAX;
        let to_check = if is_urgent { None } else { inner.sealed.pop_front() };
        let to_touch = if inner.ready.len() < READY_CHUNKS { inner.fresh.pop_front() } else { None };
        drop(inner);
        if let Some(chunk) = to_touch.and_then(|index| self.chunk(index)) {
            chunk.prefault();
        }
        if let Some(chunk) = to_check.and_then(|index| self.chunk(index)) {
            chunk.check();
            if self.path().is_some() {
                chunk.let_go();
            }
        }
        let mut inner = quiet::lock(&self.inner);
        inner.ready.extend(to_touch);
        inner.aged.extend(to_check);
        self.let_age(&mut inner, ticks_per_second);
    }

    fn let_age(&self, inner: &mut Inner, ticks_per_second: u64) {
        let Overflow::Ring { keep, .. } = self.overflow else { return };
        if self.is_closing() {
            // Time stands still for a recording that is over.
            return;
        }
        let keep_ticks = (u128::from(ticks_per_second) * keep.as_nanos() / 1_000_000_000) as u64;
        let oldest = ticks().saturating_sub(keep_ticks);
        while let Some(chunk) = inner.aged.front().and_then(|index| self.chunk(*index)) {
            if chunk.header().is_some_and(|header| header.last_tick >= oldest) {
                break;
            }
            self.recycle(chunk);
            let index = inner.aged.pop_front();
            inner.ready.extend(index);
            inner.event_chunks -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_recording::{ChunkKind, ChunkState};

    use super::super::{Storage, new_header};
    use super::*;

    /// A ring that keeps nothing, with one full chunk, looked after until there is nothing to do; what became of the chunk.
    fn looked_after(prepare: impl FnOnce(&Store)) -> Option<ChunkState> {
        let overflow = Overflow::Ring { max_bytes: 4 << 20, keep: Duration::ZERO };
        let store = Store::create(1, &Storage::Memory, 0, overflow, None).unwrap();
        let piece = store.take_piece(new_header(ChunkKind::Events, 1, 0, 0), false).unwrap();
        store.seal(piece, 1);
        prepare(&store);
        (0..2 * READY_CHUNKS).for_each(|_| store.keep(Duration::ZERO, 1_000_000_000));
        piece.chunk.header().map(|header| header.state)
    }

    #[test]
    fn a_keeper_that_waits_is_woken_by_a_full_chunk_and_by_the_end() {
        let store = Store::create(1, &Storage::Memory, 0, Overflow::Stop { max_bytes: 4 << 20 }, None).unwrap();
        let piece = store.take_piece(new_header(ChunkKind::Events, 1, 0, 0), false).unwrap();
        std::thread::scope(|scope| {
            let keeper = scope.spawn(|| {
                while !store.is_closing() {
                    store.keep(Duration::from_secs(3_600), 1_000_000_000);
                }
            });
            let state = || piece.chunk.header().map(|header| header.state);
            store.seal(piece, 1);
            while state() != Some(ChunkState::Checked) {
                std::thread::sleep(Duration::from_millis(1));
            }
            store.close();
            keeper.join().unwrap();
        });
    }

    #[test]
    fn a_ring_lets_go_of_what_is_old_until_it_is_over() {
        assert_eq!(looked_after(|_| {}), None);
        assert_eq!(looked_after(Store::close), Some(ChunkState::Checked));
    }
}
