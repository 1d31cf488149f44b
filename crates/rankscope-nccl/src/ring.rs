//! [`Ring`]: the last 65,536 records, always, in memory that survives the process where a file can be had for it.
//!
//! ```text
//! words 0..512     head: magic, records, process, rank, ticks of the start, wall clock then, records written so far
//! words 512..      communicators, 16 words each (see `comms`)
//! then             records, 4 words each
//! ```
//!
//! A writer takes the next number, writes the words and the one with the lap last. Nobody waits for anybody, and a thread that is
//! stopped in the middle costs its own record. One reader follows; what it is too late for, it counts.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::comms::{COMM_WORDS, COMMS};
use crate::mapping::Mapping;
use crate::record::{RECORD_WORDS, Record};

/// Records of a ring.
pub(crate) const RECORDS: usize = 1 << 16;
/// First word of a ring's file.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"RKSNCCL1");
const HEAD_WORDS: usize = 512;
const RECORDS_AT: usize = HEAD_WORDS + COMMS * COMM_WORDS;
/// Words in all.
pub(crate) const RING_WORDS: usize = RECORDS_AT + RECORDS * RECORD_WORDS;

/// Places in the head.
const NEXT: usize = 8;

/// The ring of a process.
#[derive(Debug)]
pub(crate) struct Ring {
    mapping: Mapping,
}

impl Ring {
    /// A new one, in a file at `path` if one can be had there.
    ///
    /// # Errors
    /// What the system says where there is no memory.
    pub(crate) fn new(path: Option<&Path>, about: [u64; 4]) -> io::Result<Self> {
        let mapping = Mapping::new(path, RING_WORDS)?;
        let words = mapping.words();
        let [process, rank, tick, wall_ns] = about;
        for (at, value) in [(1, RECORDS as u64), (2, process), (3, rank), (4, tick), (5, wall_ns), (0, MAGIC)] {
            words[at].store(value, Ordering::Release);
        }
        Ok(Self { mapping })
    }

    /// Adds a record.
    #[inline]
    pub(crate) fn push(&self, record: Record) {
        let words = self.mapping.words();
        let number = words[NEXT].fetch_add(1, Ordering::Relaxed);
        let slot = slot(words, number);
        let [tick, about, ends, value] = record.to_words(lap(number));
        // What was there must not look whole while it is replaced.
        slot[1].store(0, Ordering::Relaxed);
        std::sync::atomic::fence(Ordering::Release);
        slot[0].store(tick, Ordering::Relaxed);
        slot[2].store(ends, Ordering::Relaxed);
        slot[3].store(value, Ordering::Relaxed);
        slot[1].store(about, Ordering::Release);
    }

    /// Records written so far.
    pub(crate) fn written(&self) -> u64 {
        self.mapping.words()[NEXT].load(Ordering::Acquire)
    }

    /// The words of the communicators.
    pub(crate) fn comms(&self) -> &'static [AtomicU64] {
        &self.mapping.words()[HEAD_WORDS..RECORDS_AT]
    }

    /// Takes its file away.
    pub(crate) fn remove_file(&self) {
        self.mapping.remove_file();
    }
}

fn slot(words: &[AtomicU64], number: u64) -> &[AtomicU64] {
    let at = RECORDS_AT + (number as usize % RECORDS) * RECORD_WORDS;
    &words[at..at + RECORD_WORDS]
}

/// The lap of the record with that number, from 1 to 255 so that what was never written is of none.
fn lap(number: u64) -> u8 {
    ((number / RECORDS as u64) % 255) as u8 + 1
}

/// Follows a ring.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    next: u64,
    /// Records that were gone before they were read.
    pub(crate) lost: u64,
}

impl Follower {
    /// The next record that is whole; none where everything is read that was written in full.
    pub(crate) fn next(&mut self, ring: &Ring) -> Option<Record> {
        loop {
            let written = ring.written();
            let oldest = written.saturating_sub(RECORDS as u64);
            if self.next < oldest {
                self.lost += oldest - self.next;
                self.next = oldest;
            }
            if self.next >= written {
                return None;
            }
            let slot = slot(ring.mapping.words(), self.next);
            let read = || std::array::from_fn(|at| slot[at].load(Ordering::Acquire));
            let (words, again): ([u64; RECORD_WORDS], u64) = (read(), slot[1].load(Ordering::Acquire));
            let record = Record::of_words(words, lap(self.next)).filter(|_| again == words[1]);
            if record.is_some() {
                self.next += 1;
                return record;
            }
            // Of this lap and still being written: what comes after it waits, unless its writer has died or is asleep.
            if written - self.next < PATIENCE {
                return None;
            }
            (self.next, self.lost) = (self.next + 1, self.lost + 1);
        }
    }
}

/// So many newer records are there before one that is not whole is given up.
const PATIENCE: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Sort;
    use crate::record::Phase;

    fn record(number: u64) -> Record {
        Record {
            tick: number,
            sort: Sort::Coll,
            phase: Phase::Start,
            comm: 0,
            function: 1,
            element: 0,
            channel: 0,
            handle: number as u32,
            link: 0,
            value: number,
        }
    }

    #[test]
    fn a_follower_sees_every_record_in_order() {
        let ring = Ring::new(None, [0; 4]).unwrap();
        let mut follower = Follower::default();
        for number in 0..3 * RECORDS as u64 {
            ring.push(record(number));
            if number % 1000 == 999 {
                while let Some(seen) = follower.next(&ring) {
                    assert_eq!(seen, record(seen.tick));
                }
            }
        }
        while follower.next(&ring).is_some() {}
        assert_eq!((follower.next, follower.lost), (3 * RECORDS as u64, 0));
    }

    #[test]
    fn what_was_overwritten_is_counted() {
        let ring = Ring::new(None, [0; 4]).unwrap();
        (0..RECORDS as u64 + 10).for_each(|number| ring.push(record(number)));
        let mut follower = Follower::default();
        assert_eq!(follower.next(&ring), Some(record(10)));
        assert_eq!(follower.lost, 10);
    }

    #[test]
    fn writers_on_several_threads_lose_nothing() {
        let ring = Ring::new(None, [0; 4]).unwrap();
        let mut follower = Follower::default();
        let mut seen = vec![false; 40_000];
        std::thread::scope(|scope| {
            for part in 0..4_u64 {
                let ring = &ring;
                scope.spawn(move || (0..10_000).for_each(|number| ring.push(record(part * 10_000 + number))));
            }
        });
        while let Some(record) = follower.next(&ring) {
            assert!(!std::mem::replace(&mut seen[record.value as usize], true));
        }
        assert!(seen.into_iter().all(|seen| seen) && follower.lost == 0);
    }
}
