//! The one word that every event looks at first: which recording is on (its epoch, upper half) and which categories (lower).
//!
//! Zero in the lower half is off. The word says nothing about memory: a thread that read it may act on it much later, which is
//! why chunks belong to threads and not to the word.

use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_recording::{Categories, Category};

/// On a cache line of its own: it is read by every thread and written when sessions come and go.
#[repr(align(128))]
struct State(AtomicU64);

static STATE: State = State(AtomicU64::new(0));

/// The epoch of the recording that wants events of these categories; `None` when off.
#[inline(always)]
pub(crate) fn epoch_if_on(categories: u32) -> Option<u32> {
    let state = STATE.0.load(Ordering::Relaxed);
    if state as u32 & categories == 0 { None } else { Some((state >> 32) as u32) }
}

/// The epoch of the recording that runs; zero for none.
pub(crate) fn epoch() -> u32 {
    (STATE.0.load(Ordering::Relaxed) >> 32) as u32
}

/// Whether events of `category` are recorded at the moment. One relaxed load.
#[inline(always)]
pub fn is_on(category: Category) -> bool {
    epoch_if_on(category.alone().0).is_some()
}

/// The word itself, for bindings that test it without a call into here: the categories that are recorded at the moment, a bit each,
/// are its lower half, which is zero when off. It is read with a relaxed load, and never written by others.
pub const fn state_word() -> &'static AtomicU64 {
    &STATE.0
}

/// Turns recording on, over, or off.
pub(crate) fn set(epoch: u32, categories: Categories) {
    STATE.0.store(u64::from(epoch) << 32 | u64::from(categories.0), Ordering::SeqCst);
}
