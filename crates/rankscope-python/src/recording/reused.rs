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

/// What a thread knows of a name.
enum Met {
    First,
    Again,
    /// Nobody else holds its span.
    Free(Py<Span>),
}

/// A span of that name without arguments, which nobody else holds.
#[inline]
pub(super) fn span(name: &Bound<'_, PyString>) -> PyResult<Py<Span>> {
    let key = name.as_ptr() as usize;
    match met(name.py(), key) {
        Met::Free(span) => Ok(span),
        Met::First => Span::new_in(name.py(), name),
        Met::Again => {
            let span = Span::new_in(name.py(), name)?;
            // Making it may have run code of the program that met another name here.
            let keep = |place: &mut Kept| (place.name == key).then(|| place.span.replace(span.clone_ref(name.py())));
            drop(with_place(key, keep));
            Ok(span)
        }
    }
}

#[inline]
fn met(py: Python<'_>, key: usize) -> Met {
    let found = with_place(key, |place| match &place.span {
        _ if place.name != key => {
            place.name = key;
            (Met::First, place.span.take())
        }
        // Holding its name, it is of this one and no other that was at this address before.
        Some(span) if is_held_here_alone(span) && span.get().is_idle() => (Met::Free(span.clone_ref(py)), None),
        _ => (Met::Again, None),
    });
    // What was kept here for another name is let go of now that the places are free again.
    found.map_or(Met::First, |(met, _earlier)| met)
}

/// Looks at the place of a name, unless the thread looks at one already, or ends.
#[inline]
fn with_place<T>(key: usize, look: impl FnOnce(&mut Kept) -> T) -> Option<T> {
    let looked = KEPT.try_with(|kept| Some(look(&mut kept.try_borrow_mut().ok()?[(key >> 4 ^ key >> 10) % PLACES])));
    looked.ok().flatten()
}

#[inline]
fn is_held_here_alone(span: &Py<Span>) -> bool {
    // SAFETY: the object is alive, and only threads that hold the GIL change its count. Without a GIL this is never called.
    unsafe { ffi::Py_REFCNT(span.as_ptr()) == 1 }
}
