//! Reading the events of one stretch of text, damage included.
//!
//! Where the layout is known, every event's text is bounded before it is read, so that a quote too many spoils one event and
//! not the rest of the file. An event that cannot be read strictly is read leniently; one that cannot be read at all is
//! counted and left out.

use rankscope_trace::ProblemKind;

use super::builder::Builder;
use super::event::{Broken, parse};
use super::layout::{Layout, next_likely_event};
use super::piece::Piece;
use super::scan::{Mode, skip_space};
use super::shape::Shapes;
use crate::ReadOptions;

/// How far the events of a stretch reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// The text ran out; an event that is not whole may start at this position.
    Rest(usize),
    /// The array's closing bracket stands just before this position.
    ArrayEnd(usize),
}

/// A stretch of text and what is known about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk<'a> {
    pub(super) text: &'a [u8],
    /// Where the text starts in the decompressed file.
    pub(super) offset: u64,
    pub(super) layout: Option<&'a Layout>,
    /// Whether the file ends with this text.
    pub(super) last: bool,
}

/// An event that is longer than this without an end is taken for damaged rather than for unfinished.
const EVENT_BYTES_MAX: usize = 8 << 20;

/// After this many places where the next event could start, a damaged event is given up.
const RESYNC_TRIES_MAX: usize = 64;

impl<'a> Chunk<'a> {
    /// Reads all events of the chunk.
    pub(super) fn read(self, options: &'a ReadOptions) -> (Piece, Reached) {
        let mut builder = Builder::new(options);
        let reached = self.read_into(&mut builder, &mut Shapes::default());
        let end = match reached {
            Reached::Rest(at) | Reached::ArrayEnd(at) => at,
        };
        let mut piece = builder.piece;
        self.check_utf8(end, &mut piece);
        (piece, reached)
    }

    fn read_into(&self, builder: &mut Builder<'a>, shapes: &mut Shapes) -> Reached {
        let mut at = 0;
        loop {
            at = skip_space(self.text, at);
            match self.text.get(at) {
                None => return Reached::Rest(at),
                Some(b']') => return Reached::ArrayEnd(at + 1),
                Some(b',') => at += 1,
                Some(b'{') => match self.event(builder, shapes, at) {
                    Some(end) => at = end,
                    None => return Reached::Rest(at),
                },
                Some(_) => {
                    self.problem(builder, ProblemKind::MalformedEvent, at);
                    match self.next_event(at) {
                        Some(next) => at = next,
                        None => return Reached::Rest(self.text.len()),
                    }
                }
            }
        }
    }

    /// Reads the event at `at` and returns where to go on; `None` if its text is not whole.
    fn event(&self, builder: &mut Builder<'a>, shapes: &mut Shapes, at: usize) -> Option<usize> {
        let next = self.layout.and_then(|layout| layout.next_event(self.text, at));
        // Up to the brace of the next event; without a layout, up to the end of the text.
        let bounded = &self.text[..next.unwrap_or(self.text.len())];
        match shapes.parse(bounded, at) {
            Ok((event, end)) => {
                builder.add(&event, self.offset + at as u64, Mode::Strict);
                Some(end)
            }
            Err(Broken::CutShort) if next.is_none() && !self.last && self.text.len() - at < EVENT_BYTES_MAX => None,
            Err(broken) => self.damaged(builder, at, next, broken),
        }
    }

    /// Reads a damaged event leniently, or passes over it.
    fn damaged(&self, builder: &mut Builder<'a>, at: usize, next: Option<usize>, broken: Broken) -> Option<usize> {
        let mut candidates = Vec::new();
        match next {
            Some(next) => candidates.push(next),
            None => {
                let mut from = at + 1;
                while let Some(candidate) = next_likely_event(self.text, from).filter(|_| candidates.len() < RESYNC_TRIES_MAX) {
                    candidates.push(candidate);
                    from = candidate;
                }
                candidates.push(self.text.len());
            }
        }
        for candidate in &candidates {
            let bounded = &self.text[..*candidate];
            if let Ok((event, end)) = parse(bounded, at, Mode::Lenient)
                && event.phase != 0
                && only_separator(&bounded[end..])
            {
                self.problem(builder, ProblemKind::UnescapedQuote, at);
                builder.add(&event, self.offset + at as u64, Mode::Lenient);
                return Some(end);
            }
        }
        let resume = candidates.into_iter().find(|candidate| match parse(self.text, *candidate, Mode::Strict) {
            Ok((event, _)) => event.phase != 0,
            Err(broken) => broken == Broken::CutShort,
        });
        let cut_by_the_end = broken == Broken::CutShort && resume.is_none_or(|resume| resume >= self.text.len());
        if cut_by_the_end && self.last {
            self.problem(builder, ProblemKind::Truncated, at);
        } else if broken == Broken::CutShort && self.text.len() - at >= EVENT_BYTES_MAX {
            self.problem(builder, ProblemKind::TooLong, at);
        } else {
            self.problem(builder, ProblemKind::MalformedEvent, at);
        }
        Some(resume.unwrap_or(self.text.len()))
    }

    fn next_event(&self, at: usize) -> Option<usize> {
        match self.layout {
            Some(layout) => layout.next_event(self.text, at),
            None => next_likely_event(self.text, at),
        }
    }

    fn problem(&self, builder: &mut Builder<'a>, kind: ProblemKind, at: usize) {
        builder.piece.trace.provenance.problems.add(kind, self.offset + at as u64);
    }

    fn check_utf8(&self, end: usize, piece: &mut Piece) {
        let mut rest = &self.text[..end];
        if simdutf8::basic::from_utf8(rest).is_ok() {
            return;
        }
        let mut at = self.offset;
        while let Err(bad) = std::str::from_utf8(rest) {
            let skipped = bad.valid_up_to();
            piece.trace.provenance.problems.add(ProblemKind::InvalidUtf8, at + skipped as u64);
            let Some(len) = bad.error_len() else { return };
            rest = &rest[skipped + len..];
            at += (skipped + len) as u64;
        }
    }
}

/// Whether `text`, which follows an event, holds nothing but what may stand between or after events.
fn only_separator(text: &[u8]) -> bool {
    let at = skip_space(text, 0);
    match text.get(at) {
        None | Some(b']') => true,
        Some(b',') => skip_space(text, at + 1) == text.len(),
        Some(_) => false,
    }
}
