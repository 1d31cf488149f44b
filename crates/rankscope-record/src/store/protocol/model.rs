//! The protocol under loom, which runs every order of steps and every stale value the memory model allows.
//!
//! Few words, because the number of runs grows with the power of them: a first word that says the owner, and two records of
//! two words.

use std::sync::atomic::Ordering;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, fence};
use loom::thread;

use super::{Words, clear, copy, publish};

/// A chunk of a few words.
struct Small<const N: usize>([AtomicU64; N]);

impl<const N: usize> Small<N> {
    fn new(words: [u64; N]) -> Arc<Self> {
        Arc::new(Self(words.map(AtomicU64::new)))
    }
}

impl<const N: usize> Words for Small<N> {
    fn count(&self) -> usize {
        N
    }

    fn load(&self, index: usize, order: Ordering) -> u64 {
        self.0[index].load(order)
    }

    fn store(&self, index: usize, word: u64, order: Ordering) {
        self.0[index].store(word, order);
    }

    fn fence(order: Ordering) {
        fence(order);
    }
}

/// The first word of an owner.
const fn first(generation: u64) -> u64 {
    generation << 32 | 1
}

#[test]
fn a_reader_sees_whole_records_from_the_first_on() {
    loom::model(|| {
        let chunk = Small::new([first(1), 0, 0, 0, 0]);
        let writer = thread::spawn({
            let chunk = chunk.clone();
            move || {
                publish(&*chunk, 1, 10, [11]);
                publish(&*chunk, 3, 20, [21]);
            }
        });
        let mut words = [0; 5];
        assert!(copy(&*chunk, &mut words));
        // As a reader walks: up to the first head that is not there.
        match words {
            [_, 0, ..] | [_, 10, 11, 0, _] | [_, 10, 11, 20, 21] => {}
            torn => panic!("{torn:?}"),
        }
        writer.join().unwrap();
        assert!(copy(&*chunk, &mut words));
        assert_eq!(words, [first(1), 10, 11, 20, 21]);
    });
}

#[test]
fn a_copy_that_is_believed_is_of_one_owner() {
    loom::model(|| {
        // Full and sealed by its first owner; a ring takes it away and gives it to the next.
        let chunk = Small::new([first(1), 10, 11]);
        let ring = thread::spawn({
            let chunk = chunk.clone();
            move || {
                clear(&*chunk);
                publish(&*chunk, 0, first(2), []);
                publish(&*chunk, 1, 20, [21]);
            }
        });
        let mut words = [0; 3];
        if copy(&*chunk, &mut words) {
            match words {
                // Nobody's: whatever is behind, nobody looks at it.
                [0, ..] => {}
                [owner, 10, 11] => assert_eq!(owner, first(1)),
                [owner, 20, 21] | [owner, 0, _] => assert_eq!(owner, first(2)),
                mixed => panic!("{mixed:?}"),
            }
        }
        ring.join().unwrap();
    });
}

#[test]
fn a_header_that_says_sealed_says_how_much() {
    const SEALED: u64 = first(1) | 2;
    loom::model(|| {
        let chunk = Small::new([first(1), 0, 10]);
        let owner = thread::spawn({
            let chunk = chunk.clone();
            move || publish(&*chunk, 0, SEALED, [3])
        });
        let mut words = [0; 3];
        assert!(copy(&*chunk, &mut words), "the owner is the same");
        if words[0] == SEALED {
            assert_eq!(words[1], 3);
        }
        assert_eq!(words[2], 10);
        owner.join().unwrap();
    });
}
