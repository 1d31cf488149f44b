//! Walking the records of a stretch of words: head, payload, next head.
//!
//! This is the only place that trusts lengths, and it trusts them no further than the words that are there.

use super::word::{Kind, Word};

/// One record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) kind: Kind,
    pub(super) head: Word,
    pub(super) payload: &'a [u64],
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing has been written from here on.
    End,
    /// A kind of a later version, or a length beyond the chunk: what follows cannot be told apart.
    Unreadable,
}

/// The record at `at`, and where the next one starts.
#[inline]
pub(super) fn record(words: &[u64], at: usize) -> Result<(Record<'_>, usize), Stop> {
    let head = match words.get(at) {
        None | Some(0) => return Err(Stop::End),
        Some(word) => Word(*word),
    };
    let (Some(kind), Some(len)) = (head.kind(), head.payload_words()) else { return Err(Stop::Unreadable) };
    let rest = &words[at + 1..];
    if len > rest.len() as u64 {
        return Err(Stop::Unreadable);
    }
    let payload = &rest[..len as usize];
    Ok((Record { kind, head, payload }, at + 1 + payload.len()))
}

/// Where the arguments that start at `at` end.
#[inline]
pub(super) fn args_end(words: &[u64], mut at: usize) -> usize {
    // Kinds 32 and up are arguments; most events have none, and this is all they pay for it.
    while words.get(at).is_some_and(|word| word & 0b10_0000 != 0) {
        match record(words, at) {
            Ok((record, next)) if record.kind.is_argument() => at = next,
            _ => break,
        }
    }
    at
}
