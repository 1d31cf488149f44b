//! [`Lane`]: what a thread needs at hand to record, and the few instructions that do it.
//!
//! The common case is: the thread's epoch is the recording's, the piece has room. Then the lane is marked busy (by taking its
//! epoch away, so that a signal handler or an allocator's hook that comes in between finds no lane), words are stored, the head
//! last, and the lane is handed back. Everything else is cold and lives in [`attach`].
//!
//! An end looks whether its span is the innermost; one that is not takes the cold way too, and says which span it ends.
//!
//! Room is reserved for the end of every span that is open, so that a recording that is full drops whole spans and never the
//! end of one.
#![expect(unsafe_code, reason = "words are stored through a raw pointer into the thread's own piece")]

pub(crate) mod arguments;
mod attach;
pub(crate) mod busy;
mod memory;
mod open;
pub(crate) mod registry;
pub(crate) mod tally;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use rankscope_recording::{Category, DELTA_BITS, Kind, NameId, Remark, Word};

pub(crate) use memory::{Lane, with};
use tally::Sort;

use crate::names;
use crate::ticks::ticks;
use crate::value::Value;

/// Kept for each open span: its end, which may have to say whose it is, the new base of ticks that a long silence before it may
/// need, and a word that says how many arguments found no room.
const END_WORDS: usize = 5;

/// A record may need a new base of ticks in front of it.
const REBASE_WORDS: usize = 2;

impl Lane {
    /// Begins a span. Its end is then sure to find room. Returns its correlation id; none where it was dropped, which is counted.
    #[inline(always)]
    pub(crate) fn begin(&self, epoch: u32, name: NameId) -> Option<u64> {
        if !self.is_ready_to_begin(epoch, 1) && !self.make_ready_to_begin(epoch, 1) {
            return None;
        }
        let id = self.next_id.get();
        self.while_busy(epoch, || {
            let tick = ticks();
            let delta = self.delta(tick);
            self.store(0, Word::new(Kind::Begin, name.0, delta));
            self.opened(id, tick, name, None);
        });
        Some(id)
    }

    /// Begins a span that has arguments or a number. The clock is read last, so that writing them is not measured.
    #[inline]
    pub(crate) fn begin_with(
        &self,
        epoch: u32,
        name: NameId,
        number: Option<i64>,
        args: &[(NameId, Value<'_>)],
    ) -> Option<u64> {
        let payload = usize::from(number.is_some());
        let words = 1 + payload + arguments::words(args);
        if !self.is_ready_to_begin(epoch, words) && !self.make_ready_to_begin(epoch, words) {
            return None;
        }
        let id = self.next_id.get();
        self.while_busy(epoch, || {
            arguments::write(self, 1 + payload, args);
            let kind = match number {
                Some(number) => {
                    self.payload(1, number as u64);
                    Kind::BeginNumbered
                }
                None => Kind::Begin,
            };
            let tick = ticks();
            let delta = self.delta_before(words, tick);
            self.store(words - 1, Word::new(kind, name.0, delta));
            self.opened(id, tick, name, number);
        });
        Some(id)
    }

    /// Ends the span `id`, whose begin was recorded under `epoch`.
    #[inline(always)]
    pub(crate) fn end(&self, epoch: u32, id: u64) {
        if self.epoch.load(Ordering::Relaxed) != epoch || !self.open.is_innermost(id) {
            return self.end_out_of_order(epoch, id, &[]);
        }
        self.while_busy(epoch, || {
            let tick = ticks();
            self.closed();
            let delta = self.delta(tick);
            self.store(0, Word::new(Kind::End, 0, delta));
        });
    }

    /// Ends the span `id` and begins the next in the same moment: the clock is read once. Returns the next one's correlation id; none
    /// where it was dropped, which is counted.
    #[inline(always)]
    pub(crate) fn end_and_begin(&self, epoch: u32, id: u64, name: NameId) -> Option<u64> {
        if !self.is_ready_to_begin(epoch, 1) || !self.open.is_innermost(id) {
            return self.end_and_begin_apart(epoch, id, name);
        }
        let next_id = self.next_id.get();
        self.while_busy(epoch, || {
            let tick = ticks();
            self.closed();
            let delta = self.delta(tick);
            self.store(0, Word::new(Kind::End, 0, delta));
            // A new base of ticks, if one was written, is that of both.
            let delta = self.delta(tick);
            self.store(0, Word::new(Kind::Begin, name.0, delta));
            self.opened(next_id, tick, name, None);
        });
        Some(next_id)
    }

    #[cold]
    #[inline(never)]
    fn end_and_begin_apart(&self, epoch: u32, id: u64, name: NameId) -> Option<u64> {
        self.end(epoch, id);
        self.begin(epoch, name)
    }

    /// Ends the span `id`, with arguments; where these find no room, with how many there were. The clock is read first.
    #[inline]
    pub(crate) fn end_with(&self, epoch: u32, id: u64, args: &[(NameId, Value<'_>)]) {
        if self.epoch.load(Ordering::Relaxed) != epoch || !self.open.is_innermost(id) {
            return self.end_out_of_order(epoch, id, args);
        }
        if args.is_empty() {
            return self.end(epoch, id);
        }
        let tick = ticks();
        self.write_end(epoch, tick, None, args, || self.closed());
    }

    /// Writes the end of a span that has room for it, of `id` or else of the innermost, and says that it is closed in the same
    /// moment.
    #[inline]
    fn write_end(&self, epoch: u32, tick: u64, id: Option<u64>, args: &[(NameId, Value<'_>)], closed: impl FnOnce()) {
        let kind = if id.is_some() { Kind::EndOf } else { Kind::End };
        let payload = usize::from(id.is_some());
        let mut words = 1 + payload + arguments::words(args);
        let fits = args.is_empty() || self.is_ready(epoch, words) || self.try_ready(epoch, words) == Ok(true);
        if !fits {
            words = 1 + payload + 1;
        }
        self.while_busy(epoch, || {
            closed();
            if let Some(id) = id {
                self.payload(1, id);
            }
            if fits {
                arguments::write(self, 1 + payload, args);
            } else {
                arguments::leave_out(self, 1 + payload, args.len());
            }
            let delta = self.delta_before(words, tick);
            self.store(words - 1, Word::new(kind, 0, delta));
        });
    }

    /// Anything but a span. False where it was dropped.
    #[inline]
    pub(crate) fn event(
        &self,
        epoch: u32,
        sort: Sort,
        head: (Kind, u32),
        payload: &[u64],
        args: &[(NameId, Value<'_>)],
    ) -> bool {
        let words = 1 + payload.len() + arguments::words(args);
        if !self.is_ready(epoch, words) && !self.make_ready(epoch, words) {
            return false;
        }
        self.while_busy(epoch, || {
            for (at, word) in (1..).zip(payload) {
                self.payload(at, *word);
            }
            arguments::write(self, 1 + payload.len(), args);
            let delta = self.delta_before(words, ticks());
            self.store(words - 1, Word::new(head.0, head.1, delta));
            bump(&self.counts[sort as usize]);
        });
        true
    }

    /// The correlation id of the innermost span that is open in the recording `epoch`.
    pub(crate) fn innermost(&self, epoch: u32) -> Option<u64> {
        let is_in = epoch != 0 && self.attached.get() == epoch;
        self.open.all().last().filter(|_| is_in).map(|open| open.id)
    }

    /// The correlation id of the innermost span of this category that is open in the recording `epoch`.
    pub(crate) fn innermost_of(&self, epoch: u32, category: Category) -> Option<u64> {
        let is_in = epoch != 0 && self.attached.get() == epoch;
        let of = |open: &&open::Open| names::category_bit(open.name()) == category.alone().0;
        self.open.all().iter().rev().filter(|_| is_in).find(of).map(|open| open.id)
    }

    /// Whether the span `id` is open in the recording `epoch`.
    pub(crate) fn has_open(&self, epoch: u32, id: u64) -> bool {
        epoch != 0 && self.attached.get() == epoch && self.open.all().iter().any(|open| open.id == id)
    }

    /// The tick of the last event on this thread.
    pub(crate) fn last_tick(&self) -> u64 {
        self.last_tick.get()
    }

    /// Its thread's number in recordings; zero before it is known.
    pub(crate) fn stream(&self) -> u32 {
        self.stream.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn is_ready(&self, epoch: u32, words: usize) -> bool {
        let room = (self.limit.get() as usize).wrapping_sub(self.next.get() as usize) as isize;
        self.epoch.load(Ordering::Relaxed) == epoch && room >= ((words + REBASE_WORDS) * 8) as isize
    }

    /// As [`Lane::is_ready`], for a span that begins.
    #[inline(always)]
    fn is_ready_to_begin(&self, epoch: u32, words: usize) -> bool {
        self.is_ready(epoch, words + END_WORDS) && self.open.has_room()
    }

    #[inline(always)]
    fn while_busy(&self, epoch: u32, record: impl FnOnce()) {
        self.epoch.store(0, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        record();
        compiler_fence(Ordering::SeqCst);
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Ticks since the base, for a record of one word.
    #[inline(always)]
    fn delta(&self, tick: u64) -> u64 {
        self.delta_before(1, tick)
    }

    /// Ticks since the base; a new base is written first if they do not fit. `words` have been stored from `next` on but for the
    /// head, and move behind it.
    #[inline(always)]
    fn delta_before(&self, words: usize, tick: u64) -> u64 {
        let delta = tick.wrapping_sub(self.base_tick.get());
        self.last_tick.set(tick);
        if delta >> DELTA_BITS == 0 { delta } else { self.rebase(words, tick) }
    }

    /// Stores the head at `next` and moves on behind the `more` words that follow it.
    #[inline(always)]
    fn store(&self, more: usize, head: Word) {
        let next = self.next.get();
        // SAFETY: `is_ready` saw room for the record in this thread's own piece, which is mapped while the lane holds its store.
        unsafe { (*next).store(head.0, Ordering::Release) };
        self.next.set(next.wrapping_add(1 + more));
    }

    /// Stores a payload word, `at` words behind the head.
    #[inline(always)]
    fn payload(&self, at: usize, word: u64) {
        // SAFETY: as for the head.
        unsafe { (*self.next.get().wrapping_add(at)).store(word, Ordering::Relaxed) };
    }

    #[inline(always)]
    fn opened(&self, id: u64, tick: u64, name: NameId, number: Option<i64>) {
        self.limit.set(self.limit.get().wrapping_sub(END_WORDS));
        self.open.push(id, tick, name, number);
        self.next_id.set(id + 1);
        bump(&self.counts[Sort::Span as usize]);
    }

    /// The innermost open span is closed.
    #[inline(always)]
    fn closed(&self) {
        self.limit.set(self.limit.get().wrapping_add(END_WORDS));
        self.open.pop();
    }

    /// Counts so many of what `remark` says.
    pub(crate) fn remark(&self, remark: Remark, count: u64) {
        let counter = &self.remarks[remark as usize - Remark::ALL[0] as usize];
        counter.store(counter.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }
}

/// Adds one to a number that only this thread writes.
#[inline(always)]
fn bump(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}
