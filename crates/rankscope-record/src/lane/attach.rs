//! The cold half of a lane: joining a recording, getting a new piece, counting what cannot be kept.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rankscope_recording::{CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkKind, DropReason, Kind, NameId, Remark, Word};

use super::busy::Busy;
use super::{END_WORDS, Lane, REBASE_WORDS, bump, registry};
use crate::store::{Chunk, Piece, Store, new_header};
use crate::ticks::ticks;
use crate::value::Value;
use crate::{control, state};

/// No chunk.
const NONE: u32 = u32::MAX;

/// Spans, the outermost first, that a piece says were open before it. Of those further in it says how many there are: with the room
/// kept for all their ends, thousands would leave none for events.
const CARRIED_MAX: usize = 1024;

impl Lane {
    /// Makes room for `words` more words of the recording `epoch`, joining it if need be. False where the event is lost; then it
    /// has been counted, unless the recording is over.
    #[cold]
    #[inline(never)]
    pub(super) fn make_ready(&self, epoch: u32, words: usize) -> bool {
        self.try_ready(epoch, words).unwrap_or_else(|reason| self.drop_for(reason))
    }

    /// As [`Lane::make_ready`], for a span that begins: its end must find room too.
    #[cold]
    #[inline(never)]
    pub(super) fn make_ready_to_begin(&self, epoch: u32, words: usize) -> bool {
        self.make_ready(epoch, words + END_WORDS) && (self.deepen() || self.drop_for(DropReason::TooDeep))
    }

    /// As [`Lane::make_ready`], but nothing is counted: the reason is returned.
    pub(super) fn try_ready(&self, epoch: u32, words: usize) -> Result<bool, DropReason> {
        let recording = self.epoch.load(Ordering::Relaxed) == 0 && self.attached.get() != 0;
        if recording || self.busy.load(Ordering::Relaxed) > 0 {
            return Err(DropReason::Reentrant);
        }
        let busy = Busy::mark();
        let ready = self.prepare(epoch, words);
        drop(busy);
        if self.attached.get() != 0 {
            self.epoch.store(self.attached.get(), Ordering::Relaxed);
        }
        ready
    }

    /// Makes room for one more open span.
    fn deepen(&self) -> bool {
        let _busy = Busy::mark();
        self.open.deepen()
    }

    fn drop_for(&self, reason: DropReason) -> bool {
        bump(&self.drops[reason as usize]);
        false
    }

    fn prepare(&self, epoch: u32, words: usize) -> Result<bool, DropReason> {
        if self.attached.get() != epoch && !self.attach(epoch) {
            return Ok(false);
        }
        // The rest of somebody's chunk may be too small; a chunk of one's own is not.
        for _ in 0..2 {
            if self.room() >= words + REBASE_WORDS {
                return Ok(true);
            }
            self.next_piece()?;
        }
        Ok(self.room() >= words + REBASE_WORDS)
    }

    fn room(&self) -> usize {
        (self.limit.get() as usize).saturating_sub(self.next.get() as usize) / 8
    }

    /// Joins the recording `epoch`; false where it is over. Then the one this lane is in, which may be a later one, is not left:
    /// the end of an asynchronous span may come long after its recording.
    fn attach(&self, epoch: u32) -> bool {
        let Some(store) = control::current_store(epoch) else { return false };
        self.detach();
        let thread = registry::enter(self);
        store.system(|system| system.thread(thread.stream, thread.tid, &thread.name));
        self.store.set(hold(store));
        self.sequence.set(0);
        self.attached.set(epoch);
        true
    }

    /// Leaves whatever recording this lane was in, without touching its piece: it is readable as it is.
    pub(super) fn detach(&self) {
        self.attached.set(0);
        self.epoch.store(0, Ordering::Relaxed);
        self.open.clear();
        self.next.set(std::ptr::null_mut());
        self.limit.set(std::ptr::null_mut());
        self.chunk.store(NONE, Ordering::Relaxed);
        let_go(self.store.replace(std::ptr::null()));
    }

    /// As [`Lane::detach`], in the child of a fork: what the parent holds is not this process's to let go of.
    pub(crate) fn forget_after_fork(&self) {
        self.store.set(std::ptr::null());
        self.detach();
        self.busy.store(0, Ordering::Relaxed);
    }

    #[expect(unsafe_code, reason = "the lane holds its store by raw pointer")]
    fn held(&self) -> Option<&Store> {
        // SAFETY: the pointer is null or came from `hold`, and is let go of only in `detach`.
        unsafe { self.store.get().cast::<Store>().as_ref() }
    }

    /// What is left of the piece being written.
    fn piece(&self) -> Option<Piece> {
        let index = self.chunk.load(Ordering::Relaxed);
        let chunk = self.held()?.chunk(index)?;
        let from = (self.next.get() as usize - chunk.base() as usize) / 8;
        Some(Piece { index, chunk, from })
    }

    fn next_piece(&self) -> Result<(), DropReason> {
        let store = self.held().ok_or(DropReason::Storage)?;
        let full = self.piece();
        let stream = self.stream.load(Ordering::Relaxed);
        let header = new_header(ChunkKind::Events, stream, self.sequence.get(), self.next_id.get());
        let piece = store.take_piece(header, full.is_none())?;
        if let Some(full) = full {
            store.seal(full, self.last_tick.get());
        }
        self.sequence.set(self.sequence.get() + 1);
        self.base_tick.set(header.base_tick);
        self.last_tick.set(header.base_tick);
        let mut from = piece.from;
        if from > CHUNK_HEADER_WORDS {
            let place = u64::from(stream) << 32 | u64::from(header.sequence);
            let payload = [place, header.base_tick, header.first_id];
            piece.chunk.publish(from, Word::new(Kind::Switch, 0, 0), payload);
            from += 1 + payload.len();
        }
        from = self.carry(piece.chunk, from);
        self.chunk.store(piece.index, Ordering::Relaxed);
        self.next.set(piece.chunk.base().wrapping_add(from));
        let reserved = END_WORDS * self.open.len();
        self.limit.set(piece.chunk.base().wrapping_add(CHUNK_WORDS - reserved));
        Ok(())
    }

    /// Says which spans are open where a piece begins, so that it can be read without those before it. Returns where it goes on.
    fn carry(&self, chunk: Chunk, mut at: usize) -> usize {
        let open = self.open.all();
        let mut publish = |kind, name: NameId, value, payload: &[u64]| {
            chunk.publish(at, Word::new(kind, name.0, value), payload.iter().copied());
            at += 1 + payload.len();
        };
        for span in open.iter().take(CARRIED_MAX) {
            match span.number() {
                None => publish(Kind::Opened, span.name(), 0, &[span.tick, span.id]),
                Some(number) => publish(Kind::OpenedNumbered, span.name(), 0, &[span.tick, span.id, number as u64]),
            }
        }
        if open.len() > CARRIED_MAX {
            publish(Kind::OpenedDeeper, NameId::default(), (open.len() - CARRIED_MAX) as u64, &[]);
        }
        at
    }

    /// The thread ends: its piece is left to others.
    pub(super) fn leave(&self) {
        if let (Some(piece), Some(store)) = (self.piece(), self.held()) {
            store.leave(piece, self.last_tick.get());
        }
        self.detach();
        self.open.give_back();
    }

    /// Ends a span that is not the innermost of this thread, or not in the recording that it is ready for.
    #[cold]
    #[inline(never)]
    pub(super) fn end_out_of_order(&self, epoch: u32, id: u64, args: &[(NameId, Value<'_>)]) {
        let tick = ticks();
        if self.epoch.load(Ordering::Relaxed) != epoch {
            return self.end_elsewhere(epoch);
        }
        if !self.open.all().iter().any(|open| open.id == id) {
            return self.remark(Remark::Misuse, 1);
        }
        self.remark(Remark::Misnested, 1);
        self.write_end(epoch, tick, Some(id), args, || {
            self.open.take_out(id);
            self.limit.set(self.limit.get().wrapping_add(END_WORDS));
        });
    }

    /// Ends a span of a recording that this lane is not in, or is in the middle of a record of.
    fn end_elsewhere(&self, epoch: u32) {
        if self.attached.get() == epoch {
            self.drop_for(DropReason::Reentrant);
        } else if state::epoch() == epoch {
            // That recording runs, and this thread has no part in it: the span began on another. What began in one that is over
            // has been ended with it.
            registry::own_stream();
            self.remark(Remark::Misuse, 1);
        }
    }

    /// Writes a new base of ticks in front of a record of `words` words whose payload is stored already; returns the ticks since
    /// that base, which are none.
    #[cold]
    #[inline(never)]
    pub(super) fn rebase(&self, words: usize, tick: u64) -> u64 {
        let Some(Piece { chunk, from, .. }) = self.piece() else { return 0 };
        for at in (from + 1..from + words).rev() {
            let word = chunk.word(at).load(Ordering::Relaxed);
            chunk.word(at + REBASE_WORDS).store(word, Ordering::Relaxed);
        }
        // What is behind the new base must look like space until the record's own head is there.
        chunk.word(from + REBASE_WORDS).store(0, Ordering::Relaxed);
        chunk.publish(from, Word::new(Kind::Rebase, 0, 0), [tick]);
        self.next.set(chunk.base().wrapping_add(from + REBASE_WORDS));
        self.base_tick.set(tick);
        0
    }

    /// The store this lane writes to, and its chunk, if they are `store`'s.
    pub(super) fn owns(&self, store: &Arc<Store>) -> Option<u32> {
        std::ptr::eq(self.store.get(), Arc::as_ptr(store).cast()).then(|| self.chunk.load(Ordering::Relaxed))
    }
}

/// Holds a store by raw pointer, as the lane does.
fn hold(store: Arc<Store>) -> *const () {
    Arc::into_raw(store).cast()
}

/// Lets go of a store held by [`hold`].
fn let_go(store: *const ()) {
    if !store.is_null() {
        // SAFETY: the pointer came from `hold`, and the lane forgets it in the same step.
        drop(unsafe { Arc::from_raw(store.cast::<Store>()) });
    }
}
