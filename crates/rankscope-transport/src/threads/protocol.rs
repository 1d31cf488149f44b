//! Put with signal, between ranks that share memory.
//!
//! Every rank owns a receive buffer that all others may write, and beside it a [`Board`] of words. Calls are counted by every
//! rank from 1; the count is the *epoch* and never goes back, so nothing is ever reset and a late look at a word can only see
//! too little. In epoch `e`
//!
//! 1. the owner announces: it has copied out what came in `e - 1` and its buffer is as large as `e` needs;
//! 2. a sender waits until it is announced, puts its bytes, then signals;
//! 3. the owner waits for the signals of those it expects, then reads.
//!
//! Two pairs of a release and an acquire carry it. The owner's reads of `e - 1` happen before its announcement, so before every
//! put of `e`: no put overwrites what is still being read. The puts of `e` happen before their signal, so before the owner's
//! reads of `e`. Waiting is for "at least": who looks late does not look in vain. Everything is atomic, the bytes too (in words,
//! relaxed, which costs what plain stores cost): a plan that lies about places spoils bytes, not the program.

#[cfg(test)]
mod model;

use std::sync::atomic::Ordering;

/// A word that ranks share: the processor's, or the model checker's.
pub(super) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    /// Replaces the bits of `mask` and leaves the others to those who write them at the same time.
    fn store_bits(&self, mask: u64, value: u64);
}

/// What the others need to know of a rank and have to tell it.
pub(super) struct Board<W> {
    announced: W,
    /// By sender.
    signals: Box<[Signal<W>]>,
}

struct Signal<W> {
    epoch: W,
    bytes: W,
}

impl<W: Word> Board<W> {
    pub(super) fn new(senders: u32, zero: impl Fn() -> W) -> Self {
        let signal = |_| Signal { epoch: zero(), bytes: zero() };
        Self { announced: zero(), signals: (0..senders).map(signal).collect() }
    }

    /// The owner's buffer is free for what is put in `epoch`.
    pub(super) fn announce(&self, epoch: u64) {
        self.announced.store(epoch, Ordering::Release);
    }

    /// Whether what belongs to `epoch` may be put.
    pub(super) fn is_announced(&self, epoch: u64) -> bool {
        self.announced.load(Ordering::Acquire) >= epoch
    }

    /// All that `sender` puts in `epoch` has been put: so many bytes.
    pub(super) fn signal(&self, sender: usize, epoch: u64, bytes: u64) {
        let signal = &self.signals[sender];
        signal.bytes.store(bytes, Ordering::Relaxed);
        signal.epoch.store(epoch, Ordering::Release);
    }

    /// How many bytes `sender` has put in `epoch`, once it has.
    pub(super) fn signalled(&self, sender: usize, epoch: u64) -> Option<u64> {
        let signal = &self.signals[sender];
        (signal.epoch.load(Ordering::Acquire) >= epoch).then(|| signal.bytes.load(Ordering::Relaxed))
    }
}

/// Writes `bytes` at byte `at` of `memory`, which is long enough. The first and the last word may be shared with another
/// sender, which is why only their own bits are replaced.
pub(super) fn put<W: Word>(memory: &[W], at: usize, bytes: &[u8]) {
    let (first, skipped) = (at / WORD_BYTES, at % WORD_BYTES);
    let (head, rest) = bytes.split_at(bytes.len().min((WORD_BYTES - skipped) % WORD_BYTES));
    store_part(memory, first, skipped, head);
    let from = at.div_ceil(WORD_BYTES);
    let (whole, tail) = rest.as_chunks::<WORD_BYTES>();
    for (word, chunk) in memory[from.min(memory.len())..].iter().zip(whole) {
        word.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
    }
    store_part(memory, from + whole.len(), 0, tail);
}

fn store_part<W: Word>(memory: &[W], index: usize, skipped: usize, part: &[u8]) {
    if part.is_empty() {
        return;
    }
    let (mut mask, mut value) = ([0; WORD_BYTES], [0; WORD_BYTES]);
    mask[skipped..skipped + part.len()].fill(0xFF);
    value[skipped..skipped + part.len()].copy_from_slice(part);
    memory[index].store_bits(u64::from_le_bytes(mask), u64::from_le_bytes(value));
}

/// Reads the bytes at byte `at` of `memory`, which is long enough.
pub(super) fn read<W: Word>(memory: &[W], at: usize, bytes: &mut [u8]) {
    let word = |index: usize| memory[index].load(Ordering::Relaxed).to_le_bytes();
    let (first, skipped) = (at / WORD_BYTES, at % WORD_BYTES);
    let in_head = bytes.len().min((WORD_BYTES - skipped) % WORD_BYTES);
    let (head, rest) = bytes.split_at_mut(in_head);
    if !head.is_empty() {
        head.copy_from_slice(&word(first)[skipped..skipped + in_head]);
    }
    let from = at.div_ceil(WORD_BYTES);
    let (whole, tail) = rest.as_chunks_mut::<WORD_BYTES>();
    for (chunk, word) in whole.iter_mut().zip(&memory[from.min(memory.len())..]) {
        *chunk = word.load(Ordering::Relaxed).to_le_bytes();
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&word(from + whole.len())[..tail.len()]);
    }
}

/// Bytes of a word.
pub(super) const WORD_BYTES: usize = 8;
