//! Nested messages of a [`Stream`], each with the offset where it ends, and what to do when one does not keep to it.
//!
//! A message that is damaged is passed over to its declared end, and reading goes on behind it. Where the input ends first,
//! nothing follows: the cursor is cut, and every message ends there.

use std::io::{self, BufRead};

use rankscope_trace::{ProblemKind, Problems};

use crate::wire::{Stream, TAKEN_BYTES_MAX, Tag};

/// The end of the outermost message, which nothing declares.
pub(super) const END_OF_INPUT: u64 = u64::MAX;

/// A place in a stream of nested messages.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    stream: Stream<R>,
    /// The string or message last taken.
    pub(super) taken: Vec<u8>,
    /// What was damaged.
    pub(super) problems: Problems,
    cut: bool,
}

impl<R: BufRead> Cursor<R> {
    pub(super) fn new(input: R) -> Self {
        Self { stream: Stream::new(input), taken: Vec::new(), problems: Problems::default(), cut: false }
    }

    pub(super) fn offset(&self) -> u64 {
        self.stream.offset()
    }

    /// The next tag of the message that ends at `end`; none at its end, and where it is damaged.
    pub(super) fn tag(&mut self, end: u64) -> io::Result<Option<Tag>> {
        let at = self.offset();
        if at > end {
            self.problems.add(ProblemKind::MalformedEvent, end);
        }
        if self.cut || at >= end {
            return Ok(None);
        }
        let tag = self.stream.tag()?;
        let ended = end == END_OF_INPUT && self.offset() == at;
        if tag.is_none() && !ended {
            self.abandon(at, end)?;
        }
        Ok(tag)
    }

    /// A varint of the message that ends at `end`.
    pub(super) fn varint(&mut self, end: u64) -> io::Result<Option<u64>> {
        let at = self.offset();
        let value = self.stream.varint()?;
        if value.is_none() {
            self.abandon(at, end)?;
        }
        Ok(value)
    }

    /// The end of the message that starts here, inside the one that ends at `end`.
    pub(super) fn enter(&mut self, end: u64) -> io::Result<Option<u64>> {
        let at = self.offset();
        let Some(len) = self.varint(end)? else { return Ok(None) };
        let inner = self.offset().saturating_add(len);
        if inner > end {
            self.abandon(at, end)?;
            return Ok(None);
        }
        Ok(Some(inner))
    }

    /// Takes the string or message that starts here. False if it is damaged, or longer than any.
    pub(super) fn take(&mut self, end: u64) -> io::Result<bool> {
        let Some(inner) = self.enter(end)? else { return Ok(false) };
        let len = inner - self.stream.offset();
        if len > TAKEN_BYTES_MAX {
            self.problems.add(ProblemKind::TooLong, self.offset());
            if !self.discard(inner)? {
                self.end_early();
            }
            return Ok(false);
        }
        let whole = self.stream.take(len, &mut self.taken)?;
        if !whole {
            self.end_early();
        }
        Ok(whole)
    }

    /// Passes over the value of `tag`.
    pub(super) fn skip(&mut self, tag: Tag, end: u64) -> io::Result<()> {
        if tag.wire == 2 {
            if let Some(inner) = self.enter(end)?
                && !self.discard(inner)?
            {
                self.end_early();
            }
            return Ok(());
        }
        let at = self.offset();
        if !self.stream.skip(tag)? {
            self.abandon(at, end)?;
        }
        Ok(())
    }

    /// Gives up the message that ends at `end` because of what stands at `at`.
    fn abandon(&mut self, at: u64, end: u64) -> io::Result<()> {
        let from = self.offset();
        let whole = self.discard(end)?;
        if whole || self.offset() > from {
            self.problems.add(ProblemKind::MalformedEvent, at);
        }
        if !whole && (end != END_OF_INPUT || self.offset() == from) {
            self.end_early();
        }
        self.cut |= !whole;
        Ok(())
    }

    fn end_early(&mut self) {
        if !self.cut {
            self.problems.add_detailed(ProblemKind::Truncated, self.offset(), 1, "the file ends inside a message".into());
        }
        self.cut = true;
    }

    /// Reads up to `end`. False if the input ends first.
    fn discard(&mut self, end: u64) -> io::Result<bool> {
        while self.offset() < end {
            let step = (end - self.offset()).min(DISCARD_STEP);
            if !self.stream.take(step, &mut self.taken)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Enough to make a skipped gigabyte cheap, little enough to hold.
const DISCARD_STEP: u64 = 64 << 10;
