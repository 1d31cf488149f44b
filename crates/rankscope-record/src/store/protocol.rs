//! How one thread writes words while others read them: what is stored first, what last, and what a reader may believe.
//!
//! A record's head is stored last and with release: who sees it sees its payload, and who sees none stops there. A chunk that
//! gets a new owner loses its first word before anything else changes, and readers look at that word before and after they
//! copy. Where the words lie does not matter here, so a model checker can run the same code over its own.
//!
//! The hot path of a lane stores its records in the same order, but through a raw pointer.

use std::sync::atomic::Ordering;

#[cfg(test)]
mod model;

/// Words that several threads reach.
pub(super) trait Words {
    /// How many there are.
    fn count(&self) -> usize;
    /// Reads one.
    fn load(&self, index: usize, order: Ordering) -> u64;
    /// Writes one.
    fn store(&self, index: usize, word: u64, order: Ordering);
    /// Keeps accesses before it from being seen behind those after it.
    fn fence(order: Ordering);
}

/// Writes a record at `at`, its head last. A chunk's header is one too.
pub(super) fn publish(words: &impl Words, at: usize, head: u64, payload: impl IntoIterator<Item = u64>) {
    for (index, word) in (at + 1..).zip(payload) {
        words.store(index, word, Ordering::Relaxed);
    }
    words.store(at, head, Ordering::Release);
}

/// Copies all words; false where they got another owner meanwhile.
pub(super) fn copy(words: &impl Words, into: &mut [u64]) -> bool {
    let before = owner(words.load(0, Ordering::Acquire));
    for (index, word) in into.iter_mut().enumerate().take(words.count()) {
        // Each of these keeps the last look at the first word behind it.
        *word = words.load(index, Ordering::Acquire);
    }
    owner(words.load(0, Ordering::Relaxed)) == before
}

/// Makes them empty, the first word first, so that no reader takes the old words for the next owner's.
pub(super) fn clear<W: Words>(words: &W) {
    words.store(0, 0, Ordering::Relaxed);
    W::fence(Ordering::Release);
    for index in 1..words.count() {
        words.store(index, 0, Ordering::Relaxed);
    }
}

/// Who has the words: the generation in the upper half of the first, nobody where that is zero.
fn owner(first: u64) -> Option<u64> {
    (first != 0).then_some(first >> 32)
}
