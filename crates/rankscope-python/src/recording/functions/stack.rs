//! What a thread began and has not ended, the outermost first.
//!
//! An end names the function, not the call. It is nearly always the innermost one; if not, whatever is inside of it was left
//! without a word and ends with it. An end of what is not here belongs to a call that began before anybody looked.

use std::cell::RefCell;

use pyo3::prelude::*;
use rankscope_record::{NameId, OpenSpan, begin_raw, end_raw};

use super::codes;
use crate::recording::span::end_with_exception;
use crate::recording::threads;

struct Call {
    /// Address of the code object or of the callable.
    key: usize,
    span: OpenSpan,
}

struct Stack {
    /// Which round of recording functions it belongs to.
    round: u32,
    calls: Vec<Call>,
}

thread_local! {
    static STACK: RefCell<Stack> = const { RefCell::new(Stack { round: 0, calls: Vec::new() }) };
}

/// Whether an end belonged to something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Yes,
    NotBegun,
}

/// Begins a call of `key`.
#[inline]
pub(super) fn begin(key: usize, name: NameId) {
    threads::told();
    // Taken already means that a call is begun while one is begun: from a destructor, say. That one is not recorded.
    let _ = STACK.try_with(|stack| {
        let Ok(mut stack) = stack.try_borrow_mut() else { return };
        let (round, depth_max) = codes::round();
        if stack.round != round {
            (stack.round, stack.calls) = (round, Vec::new());
        }
        let span = if stack.calls.len() < depth_max { begin_raw(name, &[]) } else { None };
        stack.calls.push(Call { key, span: span.unwrap_or(OpenSpan::NONE) });
    });
}

/// Ends the innermost call of `key`, with the exception that left it.
#[inline]
pub(super) fn end(key: usize, error: Option<&Bound<'_, PyAny>>) -> Ended {
    let ended = STACK.try_with(|stack| {
        let Ok(mut stack) = stack.try_borrow_mut() else { return Ended::NotBegun };
        if stack.round != codes::round().0 {
            return Ended::NotBegun;
        }
        if stack.calls.last().is_none_or(|call| call.key != key) && !leave_inner(&mut stack.calls, key) {
            return Ended::NotBegun;
        }
        if let Some(call) = stack.calls.pop() {
            match error {
                None => end_raw(call.span, &[]),
                Some(error) => end_with_exception(call.span, error),
            }
        }
        Ended::Yes
    });
    ended.unwrap_or(Ended::NotBegun)
}

/// Ends whatever this thread is in, from the inside out.
pub(super) fn end_all() {
    let _ = STACK.try_with(|stack| {
        let Ok(mut stack) = stack.try_borrow_mut() else { return };
        while let Some(call) = stack.calls.pop() {
            end_raw(call.span, &[]);
        }
    });
}

/// Ends what is inside of the innermost call of `key`; false where there is none.
#[cold]
fn leave_inner(calls: &mut Vec<Call>, key: usize) -> bool {
    let Some(at) = calls.iter().rposition(|call| call.key == key) else { return false };
    while calls.len() > at + 1 {
        if let Some(call) = calls.pop() {
            end_raw(call.span, &[]);
        }
    }
    true
}
