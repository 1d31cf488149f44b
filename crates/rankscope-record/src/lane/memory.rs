//! The memory of a [`Lane`], and how its thread reaches it. What is done with it is in the files beside this one.
#![expect(unsafe_code, reason = "thread-local memory is reached by its address")]

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::open::OpenSpans;
use super::tally::{REASONS, REMARKS, SORTS};

/// A thread's place to record. Lives in the thread's own memory; others read only what is atomic.
#[repr(align(128))]
pub(crate) struct Lane {
    /// Epoch of the recording this lane is ready for; zero when it is not, or is busy.
    pub(super) epoch: AtomicU32,
    /// How deep this thread is in the recorder's cold parts.
    pub(super) busy: AtomicU32,
    /// The epoch that was there when it came into them.
    pub(super) resting: Cell<u32>,
    pub(super) open: OpenSpans,
    /// Where the next head goes.
    pub(super) next: Cell<*mut AtomicU64>,
    /// What may be written, but for the ends of spans that are open.
    pub(super) limit: Cell<*mut AtomicU64>,
    pub(super) base_tick: Cell<u64>,
    pub(super) last_tick: Cell<u64>,
    pub(super) next_id: Cell<u64>,
    pub(super) counts: [AtomicU64; SORTS],
    pub(super) drops: [AtomicU64; REASONS],
    pub(super) remarks: [AtomicU64; REMARKS],
    // Cold from here.
    /// Epoch of the store that is held; zero for none.
    pub(super) attached: Cell<u32>,
    /// The store, as attaching left it; only that knows what it is.
    pub(super) store: Cell<*const ()>,
    pub(super) chunk: AtomicU32,
    pub(super) stream: AtomicU32,
    pub(super) sequence: Cell<u32>,
}

thread_local! {
    /// Plain memory without a destructor: reachable until the thread's very end, from destructors and signal handlers too.
    static LANE: Lane = const { Lane::new() };
}

/// Runs `with` on this thread's lane.
#[inline(always)]
pub(crate) fn with<T>(with: impl FnOnce(&Lane) -> T) -> T {
    // Only the address is asked for in there: what is done with it is then compiled where it is done.
    let lane = LANE.with(ptr::from_ref);
    // SAFETY: the lane is this thread's own plain memory, which lasts until the thread's very end.
    with(unsafe { &*lane })
}

impl Lane {
    const fn new() -> Self {
        Self {
            epoch: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            resting: Cell::new(0),
            open: OpenSpans::new(),
            next: Cell::new(ptr::null_mut()),
            limit: Cell::new(ptr::null_mut()),
            base_tick: Cell::new(0),
            last_tick: Cell::new(0),
            next_id: Cell::new(0),
            counts: [const { AtomicU64::new(0) }; SORTS],
            drops: [const { AtomicU64::new(0) }; REASONS],
            remarks: [const { AtomicU64::new(0) }; REMARKS],
            attached: Cell::new(0),
            store: Cell::new(ptr::null()),
            chunk: AtomicU32::new(u32::MAX),
            stream: AtomicU32::new(0),
            sequence: Cell::new(0),
        }
    }
}
