//! Code objects by their address: whether they are wanted, and their name's number.
//!
//! An address means something as long as its object lives, so every object that was asked about is held until functions are
//! recorded no more. A thread remembers what it met last by itself; behind that is one table under a lock, under which nothing
//! of Python is run.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyString;
use rankscope_record::NameId;
use rustc_hash::FxHashMap;

use crate::recording::names::{Sort, number, number_of};

/// What is to be done about a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    No,
    As(NameId),
}

struct Known {
    wanted: Wanted,
    /// Held so that its address stays its own.
    _object: Py<PyAny>,
}

struct Asked {
    describe: Py<PyAny>,
    disable: Py<PyAny>,
    known: FxHashMap<usize, Known>,
    error: Option<PyErr>,
}

static ASKED: Mutex<Option<Asked>> = Mutex::new(None);
/// Which round of recording functions this is (upper half; odd while they are recorded), and how deep calls may be.
static ROUND: AtomicU64 = AtomicU64::new(0);
static ROUNDS: AtomicU32 = AtomicU32::new(0);

/// Places of a thread's own memory.
const PLACES: usize = 1 << 8;

struct Memory {
    round: u32,
    places: [(usize, Wanted); PLACES],
}

thread_local! {
    static MEMORY: RefCell<Memory> = const { RefCell::new(Memory { round: 0, places: [(0, Wanted::No); PLACES] }) };
}

fn asked() -> MutexGuard<'static, Option<Asked>> {
    ASKED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The round, and how deep calls may be in it.
#[inline]
pub(super) fn round() -> (u32, usize) {
    let word = ROUND.load(Ordering::Relaxed);
    ((word >> 32) as u32, (word & u64::from(u32::MAX)) as usize)
}

pub(super) fn begin(describe: Py<PyAny>, disable: Py<PyAny>, depth_max: u32) {
    let earlier = asked().replace(Asked { describe, disable, known: FxHashMap::default(), error: None });
    next_round(depth_max);
    // Outside of the lock: what is let go of here may run a program's code.
    drop(earlier);
}

pub(super) fn end(py: Python<'_>) -> Option<Py<PyAny>> {
    next_round(0);
    let ended = asked().take()?;
    ended.error.map(|error| error.into_value(py).into_any())
}

fn next_round(depth_max: u32) {
    let round = ROUNDS.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
    ROUND.store(u64::from(round) << 32 | u64::from(depth_max), Ordering::Relaxed);
}

/// What is to be done about the function of `code`.
#[inline]
pub(super) fn of(code: &Bound<'_, PyAny>) -> Wanted {
    let key = code.as_ptr() as usize;
    remembered(key).unwrap_or_else(|| {
        let wanted = look_up(key).unwrap_or_else(|| describe(code, key));
        remember(key, wanted);
        wanted
    })
}

/// The same, if it was asked before.
pub(super) fn known(key: usize) -> Option<Wanted> {
    remembered(key).or_else(|| look_up(key))
}

/// The name of a function written in C.
pub(super) fn native(callable: &Bound<'_, PyAny>) -> NameId {
    let key = callable.as_ptr() as usize;
    match known(key) {
        Some(Wanted::As(name)) => name,
        _ => {
            let name = callable.getattr("__qualname__").and_then(|name| Ok(name.str()?.to_string_lossy().into_owned()));
            let text = format!("<built-in function {}>", name.as_deref().unwrap_or("?"));
            let name = number_of(&text, Sort::Function);
            // Bound methods are made for every call: their addresses are not worth a place, and holding them would hold their objects.
            if callable
                .getattr("__self__")
                .is_ok_and(|of| of.is_none() || of.get_type().name().is_ok_and(|name| name == "module"))
            {
                keep(callable, key, Wanted::As(name));
            }
            name
        }
    }
}

/// What the interpreter is to be answered about what is not wanted.
#[cold]
pub(super) fn disable(py: Python<'_>) -> Option<Py<PyAny>> {
    asked().as_ref().map(|asked| asked.disable.clone_ref(py))
}

#[inline]
fn remembered(key: usize) -> Option<Wanted> {
    let (round, _) = round();
    let found = MEMORY.try_with(|memory| {
        let memory = memory.try_borrow().ok()?;
        let (known, wanted) = memory.places[place(key)];
        (known == key && memory.round == round).then_some(wanted)
    });
    found.ok().flatten()
}

fn remember(key: usize, wanted: Wanted) {
    let (round, _) = round();
    let _ = MEMORY.try_with(|memory| {
        let Ok(mut memory) = memory.try_borrow_mut() else { return };
        if memory.round != round {
            *memory = Memory { round, places: [(0, Wanted::No); PLACES] };
        }
        memory.places[place(key)] = (key, wanted);
    });
}

/// Code objects are some hundred bytes apart.
#[inline]
fn place(key: usize) -> usize {
    (key >> 4 ^ key >> 12) % PLACES
}

fn look_up(key: usize) -> Option<Wanted> {
    asked().as_ref()?.known.get(&key).map(|known| known.wanted)
}

#[cold]
fn describe(code: &Bound<'_, PyAny>, key: usize) -> Wanted {
    let py = code.py();
    let Some(describe) = asked().as_ref().map(|asked| asked.describe.clone_ref(py)) else { return Wanted::No };
    let wanted = match describe.bind(py).call1((code,)) {
        Ok(name) => name.cast::<PyString>().map_or(Wanted::No, |name| Wanted::As(number(name, Sort::Function))),
        Err(error) => {
            failed(error);
            Wanted::No
        }
    };
    keep(code, key, wanted);
    wanted
}

/// Keeps the first exception. Others are let go of outside of the lock: what they hold may run a program's code.
fn failed(error: PyErr) {
    if let Some(asked) = asked().as_mut()
        && asked.error.is_none()
    {
        asked.error = Some(error);
    }
}

fn keep(object: &Bound<'_, PyAny>, key: usize, wanted: Wanted) {
    let known = Known { wanted, _object: object.clone().unbind() };
    if let Some(asked) = asked().as_mut() {
        asked.known.entry(key).or_insert(known);
    }
}
