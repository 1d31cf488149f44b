//! Span objects that are handed out again.
//!
//! `with record_function("forward"):` makes an object and lets go of it, each time, and that costs more than recording the span. So a
//! thread keeps the object of a name it has met before, and hands it out again when nobody else holds it and nothing of it is open:
//! then nobody can tell it from a new one. One that is held, by another `with` of the same name around this one or by a coroutine that
//! waits, is left alone. A name is known by its object: those that are written in a program are the same one each time.
#![expect(unsafe_code, reason = "the stable ABI has the count of references in a macro, which is a read through a pointer")]

use std::cell::RefCell;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::span::Span;

/// Names whose objects a thread keeps.
const PLACES: usize = 1 << 6;

/// The last name of a place, and once it was met twice its span.
struct Kept {
    name: usize,
    span: Option<Py<Span>>,
}

thread_local! {
    static KEPT: RefCell<[Kept; PLACES]> = const { RefCell::new([const { Kept { name: 0, span: None } }; PLACES]) };
}

/// A span of that name without arguments, which nobody else holds.
#[inline]
pub(super) fn span(name: &Bound<'_, PyString>) -> PyResult<Py<Span>> {
    let py = name.py();
    let key = name.as_ptr() as usize;
    // What is let go of is let go of where the places are free again.
    let (mut found, mut earlier) = (None, None);
    let _ = KEPT.try_with(|kept| {
        let Ok(mut kept) = kept.try_borrow_mut() else { return };
        let place = &mut kept[(key >> 4 ^ key >> 10) % PLACES];
        match &place.span {
            _ if place.name != key => {
                place.name = key;
                earlier = place.span.take();
                found = Some(Ok(None));
            }
            // Holding its name, it is of this one and no other that was at this address before.
            Some(span) if is_held_here_alone(span) && span.get().is_idle() => found = Some(Ok(Some(span.clone_ref(py)))),
            _ => {
                found = Some(Span::new_in(py, name).map(Some));
                if let Some(Ok(Some(span))) = &found {
                    earlier = place.span.replace(span.clone_ref(py));
                }
            }
        }
    });
    drop(earlier);
    match found {
        Some(Ok(Some(span))) => Ok(span),
        Some(Err(error)) => Err(error),
        _ => Span::new_in(py, name),
    }
}

#[inline]
fn is_held_here_alone(span: &Py<Span>) -> bool {
    // SAFETY: the object is alive, and only threads that hold the GIL change its count. Without a GIL this is never called.
    unsafe { ffi::Py_REFCNT(span.as_ptr()) == 1 }
}
