//! Names as Python gives them, and their numbers.
//!
//! Interning takes a lock, so names that were met are remembered by their text: a literal of a call site costs a hash and a
//! comparison. Who comes first keeps the place, without a lock and for good, which is right on every thread with and without a
//! GIL. Names that find no place pay for the lock. Nothing of Python is held.

use std::hash::BuildHasher;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyString;
use rankscope_record::{Category, NameId, Scope, intern, intern_key};
use rustc_hash::FxBuildHasher;

/// Places; a program has hundreds of names.
const PLACES: usize = 1 << 10;

/// What sort of thing a name is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// A range or a moment that the program names itself.
    Annotation,
    /// A value over time.
    Counter,
    /// A function of Python.
    Function,
    /// The key of an argument.
    Key,
}

struct Known {
    text: Box<str>,
    sort: Sort,
    id: NameId,
}

static KNOWN: [OnceLock<Known>; PLACES] = [const { OnceLock::new() }; PLACES];

/// The number of `name`. Only text that is no Unicode (lone surrogates) fails, and is replaced by what can be shown of it.
#[inline]
pub(crate) fn number(name: &Bound<'_, PyString>, sort: Sort) -> NameId {
    match name.to_str() {
        Ok(text) => number_of(text, sort),
        Err(_) => number_of(&name.to_string_lossy(), sort),
    }
}

/// The same of a text.
#[inline]
pub(crate) fn number_of(text: &str, sort: Sort) -> NameId {
    let known = &KNOWN[FxBuildHasher.hash_one((text, sort as u8)) as usize % PLACES];
    match known.get() {
        Some(known) if known.sort == sort && *known.text == *text => known.id,
        Some(_) => interned(text, sort),
        None => {
            let id = interned(text, sort);
            // Another thread may have been first; then that is remembered.
            let _ = known.set(Known { text: text.into(), sort, id });
            id
        }
    }
}

#[cold]
fn interned(text: &str, sort: Sort) -> NameId {
    match sort {
        Sort::Annotation => intern(text, Category::USER_ANNOTATION, Scope::UserScope),
        Sort::Counter => intern(text, Category::CPU_INSTANT_EVENT, Scope::UserScope),
        Sort::Function => intern(text, Category::PYTHON_FUNCTION, Scope::Function),
        Sort::Key => intern_key(text),
    }
}
