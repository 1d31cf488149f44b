//! Handles of events: a number that counts up, tagged with the process, over a ring of slots.
//!
//! A handle is never a pointer, so that one that is stopped twice, comes from another process, or whose slot has gone to a later event is
//! found out and ignored. Slots are taken back by age: events that start and never stop cost nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::event::Sort;

/// Events that may be open at a time; older ones are forgotten.
pub(crate) const HANDLES: usize = 1 << 16;

/// The handles of a process.
pub(crate) struct Handles {
    process: u32,
    next: AtomicU64,
    slots: Box<[AtomicU64]>,
}

/// An open event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Its number.
    pub(crate) number: u32,
    /// The slot of its communicator.
    pub(crate) comm: u16,
    /// Its sort.
    pub(crate) sort: Sort,
}

const OPEN: u64 = 1 << 63;

impl Handles {
    /// Those of the process with this number.
    pub(crate) fn new(process: u32) -> Self {
        Self { process, next: AtomicU64::new(1), slots: (0..HANDLES).map(|_| AtomicU64::new(0)).collect() }
    }

    /// A handle for an event that starts, and its number, which is never zero.
    #[inline]
    pub(crate) fn open(&self, comm: u16, sort: Sort) -> (u64, u32) {
        let mut number = self.next.fetch_add(1, Ordering::Relaxed) as u32;
        if number == 0 {
            number = self.next.fetch_add(1, Ordering::Relaxed) as u32;
        }
        let word = u64::from(number) | u64::from(comm) << 32 | u64::from(sort as u8) << 48 | OPEN;
        self.slot(number).store(word, Ordering::Relaxed);
        (u64::from(self.process) << 32 | u64::from(number), number)
    }

    #[inline]
    fn slot(&self, number: u32) -> &AtomicU64 {
        &self.slots[number as usize % HANDLES]
    }

    /// The number in a handle of this process; zero for none and for those of others.
    #[inline]
    pub(crate) fn number(&self, handle: u64) -> u32 {
        if handle >> 32 == u64::from(self.process) { handle as u32 } else { 0 }
    }

    /// The number in a handle whose slot no later event has: it is open, or was the last that was. Zero for all others.
    #[inline]
    pub(crate) fn remembered(&self, handle: u64) -> u32 {
        let number = self.number(handle);
        if number != 0 && self.slot(number).load(Ordering::Relaxed) as u32 == number { number } else { 0 }
    }

    /// The event that is open under that handle; none where it was stopped, forgotten, or never here.
    #[inline]
    pub(crate) fn look_up(&self, handle: u64) -> Option<Opened> {
        let number = self.number(handle);
        if number == 0 {
            return None;
        }
        opened(self.slot(number).load(Ordering::Relaxed), number)
    }

    /// The same, and it is open no longer.
    #[inline]
    pub(crate) fn close(&self, handle: u64) -> Option<Opened> {
        let number = self.number(handle);
        if number == 0 {
            return None;
        }
        let slot = self.slot(number);
        let word = slot.load(Ordering::Relaxed);
        let found = opened(word, number)?;
        slot.compare_exchange(word, word & !OPEN, Ordering::Relaxed, Ordering::Relaxed).is_ok().then_some(found)
    }
}

#[inline]
fn opened(word: u64, number: u32) -> Option<Opened> {
    if word & OPEN == 0 || word as u32 != number {
        return None;
    }
    Some(Opened { number, comm: (word >> 32) as u16, sort: Sort::of_number((word >> 48) as u8 & 0x7f)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stops_once() {
        let handles = Handles::new(77);
        let (handle, number) = handles.open(3, Sort::KernelCh);
        let opened = Opened { number, comm: 3, sort: Sort::KernelCh };
        assert_eq!((handles.look_up(handle), handles.close(handle)), (Some(opened), Some(opened)));
        assert_eq!((handles.look_up(handle), handles.close(handle)), (None, None));
        assert_eq!(handles.remembered(handle), number, "it may be a parent yet");
    }

    #[test]
    fn handles_of_others_and_of_events_long_gone_are_none() {
        let handles = Handles::new(77);
        let (old, _) = handles.open(0, Sort::Coll);
        for _ in 0..HANDLES {
            handles.open(0, Sort::Coll);
        }
        let foreign = Handles::new(78).open(0, Sort::Coll).0;
        for handle in [0, 1, old, foreign, u64::MAX, 77 << 32] {
            assert_eq!((handles.look_up(handle), handles.close(handle)), (None, None), "{handle:x}");
            assert_eq!(handles.remembered(handle), 0, "{handle:x}");
        }
    }

    #[test]
    fn numbers_go_around_without_being_zero() {
        let handles = Handles::new(1);
        handles.next.store(u64::from(u32::MAX), Ordering::Relaxed);
        let numbers: Vec<u32> = (0..3).map(|_| handles.open(0, Sort::Coll).1).collect();
        assert_eq!(numbers, [u32::MAX, 1, 2]);
    }
}
