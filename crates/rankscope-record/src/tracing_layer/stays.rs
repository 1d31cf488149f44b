//! The stays of a thread: which spans it is in, as the recorder knows them, and which it left last.
//!
//! `tracing` may leave a span that is not the innermost. The recorder could end that one alone, beside its thread's row; here those
//! further in are ended with it and begun again, so that slices nest: the timeline shows two pieces, and what each lay in is true.

use std::cell::RefCell;

use crate::span::{OpenSpan, begin_raw, end_raw};
use rankscope_recording::NameId;

/// One stay in a span.
#[derive(Clone, Copy)]
pub(super) struct Stay {
    pub(super) layer: u64,
    pub(super) span: u64,
    pub(super) name: NameId,
    pub(super) open: OpenSpan,
    /// How many fields were written with its begin.
    pub(super) fields: usize,
    /// How often fields had been recorded later, when it began.
    pub(super) later: u64,
}

#[derive(Default)]
struct Stays {
    open: Vec<Stay>,
    /// Ended to let one further out end; to be begun again, outermost last.
    waiting: Vec<Stay>,
    /// Layer and span of the stay that ended last.
    left_last: Option<(u64, u64)>,
}

thread_local! {
    static STAYS: RefCell<Stays> = RefCell::default();
}

pub(super) fn push(stay: Stay) {
    // A thread that is ending has no list any more: its stay is ended by the end of the recording.
    let _ = STAYS.try_with(|stays| stays.borrow_mut().open.push(stay));
}

/// Takes out the latest stay in a span, which is then the innermost of the recorder's open spans.
pub(super) fn leave(layer: u64, span: u64) -> Option<Stay> {
    let with = |stays: &RefCell<Stays>| {
        let Stays { open, waiting, left_last } = &mut *stays.borrow_mut();
        let at = open.iter().rposition(|stay| stay.layer == layer && stay.span == span)?;
        for inner in open.drain(at + 1..).rev() {
            end_raw(inner.open, &[]);
            waiting.push(inner);
        }
        *left_last = Some((layer, span));
        open.pop()
    };
    STAYS.try_with(with).ok().flatten()
}

/// Begins again what [`leave`] had to end.
pub(super) fn reopen() {
    let with = |stays: &RefCell<Stays>| {
        let Stays { open, waiting, .. } = &mut *stays.borrow_mut();
        let again = |stay: Stay| Some(Stay { open: begin_raw(stay.name, &[])?, ..stay });
        open.extend(waiting.drain(..).rev().filter_map(again));
    };
    let _ = STAYS.try_with(with);
}

/// Whether the stay that ended last on this thread was in this span. Says so once: the number is given to other spans.
pub(super) fn take_left_last(layer: u64, span: u64) -> bool {
    STAYS.try_with(|stays| stays.borrow_mut().left_last.take_if(|left| *left == (layer, span)).is_some()).unwrap_or(false)
}
