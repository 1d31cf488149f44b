//! [`RecordingAllocator`]: an allocator that records what goes through it.
//!
//! The hook never allocates from itself: what the recorder allocates while it records is passed through unseen. A block is
//! taken out of the table before it is given back and put in after it was taken, so an address is never in it twice.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use rankscope_recording::Error;

use super::live_heap::{Held, LiveHeap};
use super::live_table::{Block, LiveTable};
use super::sampler::{ByteSampler, DEFAULT_MEAN_BYTES, weight};
use crate::events::MemoryEvent;
use crate::lane;
use crate::names::Site;
use crate::recorded::Recorded;
use rankscope_recording::Category;

/// An allocator in front of another.
///
/// ```
/// use rankscope_record::memory::{DEFAULT_MEAN_BYTES, RecordingAllocator};
/// use rankscope_record::{Session, SessionOptions, record_function};
///
/// #[global_allocator]
/// static ALLOCATOR: RecordingAllocator = RecordingAllocator::system();
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// ALLOCATOR.sample(DEFAULT_MEAN_BYTES);
/// let kept = {
///     let _span = record_function!("load");
///     vec![1_u8; 64 << 20]
/// };
/// let heap = ALLOCATOR.live_heap(&session.snapshot()?)?.expect("it samples");
/// assert_eq!(heap.spans[0].span.as_deref(), Some("load"));
/// # drop(kept);
/// # session.stop()?;
/// # Ok(())
/// # }
/// ```
///
/// Make it the program's with `#[global_allocator]`; it does nothing until it is told to.
pub struct RecordingAllocator<A = System> {
    inner: A,
    /// What to do (lower two bits), and how often that has been decided.
    mode: AtomicU64,
    mean_bytes: AtomicU64,
    threads: AtomicU64,
    live: LiveTable,
    live_bytes: AtomicI64,
    untracked: AtomicU64,
}

const OFF: u64 = 0;
const EXACT: u64 = 1;
const SAMPLED: u64 = 2;
const KIND_BITS: u32 = 2;
const KINDS: u64 = (1 << KIND_BITS) - 1;

/// One thread's part.
struct Hook {
    busy: Cell<bool>,
    /// The mode that the sampler was made for.
    mode: Cell<u64>,
    sampler: Cell<ByteSampler>,
}

thread_local! {
    /// Constant and without a destructor: reaching it neither allocates nor fails, at any time of a thread's life.
    static HOOK: Hook = const {
        Hook { busy: Cell::new(false), mode: Cell::new(OFF), sampler: Cell::new(ByteSampler::unseeded()) }
    };
}

/// Decisions are counted over all allocators, so that a thread never takes the points of one for those of another.
static DECISIONS: AtomicU64 = AtomicU64::new(1);

impl RecordingAllocator {
    /// In front of the system's allocator.
    pub const fn system() -> Self {
        Self::new(System)
    }
}

impl<A> RecordingAllocator<A> {
    /// In front of `inner`.
    pub const fn new(inner: A) -> Self {
        Self {
            inner,
            mode: AtomicU64::new(OFF),
            mean_bytes: AtomicU64::new(DEFAULT_MEAN_BYTES.get()),
            threads: AtomicU64::new(0),
            live: LiveTable::new(),
            live_bytes: AtomicI64::new(0),
            untracked: AtomicU64::new(0),
        }
    }

    /// Records every block from now on, as memory events of the sessions that are active.
    pub fn record_all(&self) {
        self.decide(EXACT);
    }

    /// Samples blocks from now on, one in `mean_bytes` on average, and forgets what was sampled before.
    pub fn sample(&self, mean_bytes: NonZeroU64) {
        self.decide(OFF);
        self.live.clear();
        self.live_bytes.store(0, Ordering::Relaxed);
        self.untracked.store(0, Ordering::Relaxed);
        self.mean_bytes.store(mean_bytes.get(), Ordering::Relaxed);
        // Interning takes memory; not inside the hook.
        LIVE_HEAP.id();
        // Equal programs sample equally: threads are seeded in the order in which they come.
        self.threads.store(0, Ordering::Relaxed);
        self.decide(SAMPLED);
    }

    /// Only passes through from now on. What is held is no longer known.
    pub fn stop(&self) {
        self.decide(OFF);
    }

    /// What has been taken since sampling began and is not given back, put down to the spans of `recorded`; `None` when not
    /// sampling. Blocks taken while that session did not run count as taken outside of all spans.
    ///
    /// # Errors
    /// If the recording cannot be read.
    pub fn live_heap(&self, recorded: &Recorded) -> Result<Option<LiveHeap>, Error> {
        if self.mode() & KINDS != SAMPLED {
            return Ok(None);
        }
        // Room is made first: what is taken while the table is read might be sampled into it.
        let mut blocks = Vec::with_capacity(LiveTable::CAPACITY);
        blocks.extend(self.live.blocks());
        let held = Held { blocks, mean_bytes: self.mean_bytes(), untracked_samples: self.untracked.load(Ordering::Relaxed) };
        let recording = recorded.open()?;
        Ok(Some(LiveHeap::of(held, &recording, recorded.cut())))
    }

    fn decide(&self, mode: u64) {
        let decision = DECISIONS.fetch_add(1, Ordering::Relaxed);
        let mode = if mode == OFF { OFF } else { decision << KIND_BITS | mode };
        self.mode.store(mode, Ordering::Release);
    }

    #[inline(always)]
    fn mode(&self) -> u64 {
        self.mode.load(Ordering::Relaxed)
    }

    fn mean_bytes(&self) -> NonZeroU64 {
        NonZeroU64::new(self.mean_bytes.load(Ordering::Relaxed)).unwrap_or(DEFAULT_MEAN_BYTES)
    }

    #[inline(always)]
    fn on_taken(&self, address: *mut u8, bytes: usize) {
        let mode = self.mode();
        if mode != OFF && !address.is_null() {
            HOOK.with(|hook| self.look_at(hook, mode, address.addr(), bytes as u64));
        }
    }

    /// Before the block is given back. Returns what the table knew of it.
    #[inline(always)]
    fn on_giving_back(&self, address: *mut u8, bytes: usize) -> Option<Block> {
        match self.mode() & KINDS {
            OFF => None,
            EXACT => {
                HOOK.with(|hook| hook.unless_busy(|| record(address.addr(), -(bytes as i64))));
                None
            }
            _ => self.forget(address.addr()),
        }
    }

    /// A block that was to be given back is still there.
    #[cold]
    fn on_kept(&self, address: *mut u8, bytes: usize, block: Option<Block>) {
        HOOK.with(|hook| match block {
            Some(block) => {
                self.draw(hook, self.stands_for(block.bytes));
                self.keep(hook, address.addr(), block);
            }
            None if self.mode() & KINDS == EXACT => hook.unless_busy(|| record(address.addr(), bytes as i64)),
            None => {}
        });
    }

    fn look_at(&self, hook: &Hook, mode: u64, address: usize, bytes: u64) {
        if mode & KINDS == EXACT {
            hook.unless_busy(|| record(address, bytes as i64));
        } else if !hook.busy.get() && self.is_sampled(hook, mode, bytes) {
            // The point on the curve comes first: with it the recorder learns of a new thread.
            self.draw(hook, self.stands_for(bytes));
            let stream = lane::with(lane::Lane::stream);
            self.keep(hook, address, Block { bytes, stream, tick: crate::ticks() });
        }
    }

    fn is_sampled(&self, hook: &Hook, mode: u64, bytes: u64) -> bool {
        if hook.mode.replace(mode) != mode {
            hook.sampler.set(ByteSampler::new(self.threads.fetch_add(1, Ordering::Relaxed), self.mean_bytes()));
        }
        let mut sampler = hook.sampler.get();
        let sampled = sampler.falls_into(bytes, self.mean_bytes());
        hook.sampler.set(sampler);
        sampled
    }

    fn keep(&self, hook: &Hook, address: usize, block: Block) {
        if !self.live.insert(address, block) {
            self.untracked.fetch_add(1, Ordering::Relaxed);
            self.draw(hook, -self.stands_for(block.bytes));
        }
    }

    fn forget(&self, address: usize) -> Option<Block> {
        let block = self.live.remove(address)?;
        HOOK.with(|hook| self.draw(hook, -self.stands_for(block.bytes)));
        Some(block)
    }

    /// Bytes that a sampled block stands for, as a whole number: what is added is later taken away exactly.
    fn stands_for(&self, bytes: u64) -> i64 {
        (weight(bytes, self.mean_bytes()) * bytes as f64).round() as i64
    }

    /// Moves the curve of the estimated heap.
    fn draw(&self, hook: &Hook, change_bytes: i64) {
        let bytes = self.live_bytes.fetch_add(change_bytes, Ordering::Relaxed) + change_bytes;
        hook.unless_busy(|| crate::counter_i64(LIVE_HEAP.id(), bytes));
    }
}

impl Hook {
    /// What the recorder allocates while it records is none of the program's.
    fn unless_busy(&self, records: impl FnOnce()) {
        if !self.busy.replace(true) {
            records();
            self.busy.set(false);
        }
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe to implement; this one only hands on what it is asked")]
// SAFETY: every block comes from and goes back to `inner`, with the layout it was asked for; the hooks look at addresses as
// numbers and neither unwind nor allocate from this allocator without returning here through `inner`.
unsafe impl<A: GlobalAlloc> GlobalAlloc for RecordingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that `inner` asks for.
        let taken = unsafe { self.inner.alloc(layout) };
        self.on_taken(taken, layout.size());
        taken
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let taken = unsafe { self.inner.alloc_zeroed(layout) };
        self.on_taken(taken, layout.size());
        taken
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Before: afterwards another thread may have the same address.
        self.on_giving_back(block, layout.size());
        // SAFETY: as above.
        unsafe { self.inner.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_bytes: usize) -> *mut u8 {
        let known = self.on_giving_back(block, layout.size());
        // SAFETY: as above.
        let moved = unsafe { self.inner.realloc(block, layout, new_bytes) };
        if moved.is_null() {
            self.on_kept(block, layout.size(), known);
        } else {
            self.on_taken(moved, new_bytes);
        }
        moved
    }
}

fn record(address: usize, bytes: i64) {
    crate::memory(&MemoryEvent {
        address: address as u64,
        bytes,
        device_type: 0,
        device_index: -1,
        out_of_memory: false,
        total_allocated: None,
        total_reserved: None,
    });
}

/// The curve of the estimated heap.
static LIVE_HEAP: Site = Site::new("live heap, estimated bytes", Category::CPU_INSTANT_EVENT);
