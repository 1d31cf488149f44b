//! Every thread that records: its number, its name, its counts; and the moment it ends.
//!
//! A thread is noticed when it records for the first time, and forgotten by a destructor of the system's thread library, which
//! runs after those of Rust's and C++'s thread-local values, so that what they record is kept.
#![expect(unsafe_code, reason = "thread destructors and lanes of other threads are reached through the system")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::Lane;
use super::busy::Busy;
use super::tally::Tally;
use crate::quiet::{self, Quiet};
use crate::store::Store;

/// A thread as recordings know it.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) stream: u32,
    pub(crate) tid: u64,
    pub(crate) name: String,
}

struct Entry {
    lane: *const Lane,
    thread: Thread,
}

// SAFETY: the lane is only read, through atomics, and under the registry's lock, which its thread takes before it ends.
unsafe impl Send for Entry {}

/// The threads, and what the departed left.
pub(crate) struct Registry {
    entries: Vec<Entry>,
    departed: Vec<Tally>,
    /// Next correlation ids of slots nobody has.
    free_ids: Vec<u64>,
    slots: u64,
    streams: u32,
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { entries: Vec::new(), departed: Vec::new(), free_ids: Vec::new(), slots: 0, streams: 0 });

/// The registry, locked.
pub(crate) fn lock() -> Quiet<'static, Registry> {
    quiet::lock(&REGISTRY)
}

/// Makes `lane`, which is the calling thread's, known, if it is not yet.
pub(super) fn enter(lane: &Lane) -> Thread {
    let mut registry = lock();
    if let Some(entry) = registry.entries.iter().find(|entry| std::ptr::eq(entry.lane, lane)) {
        return entry.thread.clone();
    }
    registry.streams += 1;
    let thread = Thread { stream: registry.streams, tid: tid(), name: kernel_name() };
    lane.stream.store(thread.stream, Ordering::Relaxed);
    lane.next_id.set(registry.take_ids());
    for count in lane.counts.iter().chain(&lane.drops).chain(&lane.remarks) {
        count.store(0, Ordering::Relaxed);
    }
    registry.entries.push(Entry { lane, thread: thread.clone() });
    drop(registry);
    at_thread_exit(lane);
    thread
}

/// The stream of the calling thread, made known if it is not.
pub(crate) fn own_stream() -> u32 {
    let _busy = Busy::mark();
    super::with(enter).stream
}

/// Gives the calling thread a name; returns what recordings shall know.
pub(crate) fn rename(name: &str) -> Thread {
    let _busy = Busy::mark();
    let mut thread = super::with(enter);
    name.clone_into(&mut thread.name);
    for entry in lock().entries.iter_mut().filter(|entry| entry.thread.stream == thread.stream) {
        name.clone_into(&mut entry.thread.name);
    }
    thread
}

impl Registry {
    /// Everybody's counts, those of threads that ended included.
    pub(crate) fn tallies(&self) -> Vec<Tally> {
        self.departed.iter().cloned().chain(self.entries.iter().map(Entry::tally)).collect()
    }

    /// Nobody asks for those that ended any more.
    pub(crate) fn forget_departed(&mut self) {
        self.departed = Vec::new();
    }

    /// Chunks of `store` that threads may still write.
    pub(crate) fn owned(&self, store: &Arc<Store>) -> Vec<u32> {
        // SAFETY: a lane whose entry is here belongs to a thread that has not ended: ending takes this lock.
        self.entries.iter().filter_map(|entry| unsafe { &*entry.lane }.owns(store)).collect()
    }

    /// After a fork, in the child: only the thread that forked is left.
    pub(crate) fn after_fork(&mut self) {
        super::with(|lane| {
            self.entries.retain(|entry| std::ptr::eq(entry.lane, lane));
            lane.forget_after_fork();
        });
        for entry in &mut self.entries {
            entry.thread.tid = tid();
        }
        self.departed.clear();
    }

    /// The correlation ids of a slot: 16 bits of slot, 48 of count. A slot is used again where the last thread left off.
    fn take_ids(&mut self) -> u64 {
        self.free_ids.pop().unwrap_or_else(|| {
            self.slots += 1;
            ((self.slots - 1) & 0xffff) << 48 | 1
        })
    }

    fn leave(&mut self, lane: &Lane) {
        let Some(at) = self.entries.iter().position(|entry| std::ptr::eq(entry.lane, lane)) else { return };
        let entry = self.entries.swap_remove(at);
        self.departed.push(entry.tally());
        self.free_ids.push(lane.next_id.get());
    }
}

impl Entry {
    fn tally(&self) -> Tally {
        // SAFETY: as in `owned`.
        let lane = unsafe { &*self.lane };
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Thread { stream, tid, name } = self.thread.clone();
        let (counts, drops, remarks) = (&lane.counts, &lane.drops, &lane.remarks);
        Tally {
            stream,
            tid,
            name,
            counts: counts.each_ref().map(read),
            drops: drops.each_ref().map(read),
            remarks: remarks.each_ref().map(read),
        }
    }
}

fn at_thread_exit(lane: &Lane) {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: `key` is a valid place; the destructor has the type that is wanted.
        let failed = unsafe { libc::pthread_key_create(&raw mut key, Some(thread_exits)) };
        (failed == 0).then_some(key)
    });
    if let Some(key) = key {
        // SAFETY: the key exists, and the value is only handed back to the destructor, on this thread.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(lane).cast()) };
    }
}

/// Runs when a thread ends; again if a later destructor recorded something.
extern "C" fn thread_exits(lane: *mut libc::c_void) {
    // SAFETY: the value was set from this thread's lane, whose memory outlives the destructors of the thread library.
    let lane = unsafe { &*lane.cast::<Lane>() };
    let _busy = Busy::mark();
    lane.leave();
    lock().leave(lane);
}

/// The operating system's number of the calling thread.
pub(crate) fn tid() -> u64 {
    // SAFETY: a system call without arguments.
    unsafe { libc::gettid() as u64 }
}

/// What the kernel calls this thread.
fn kernel_name() -> String {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes at most 16 bytes there.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
