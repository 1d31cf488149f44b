//! A program whose allocator records: every block exactly, or sampled; and never a hang, a recursion or a lost block.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]
#![expect(unsafe_code, reason = "an allocator is called as the language calls it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};

use rankscope_formats::recording::What;
use rankscope_record::memory::{LiveHeap, RecordingAllocator};
use rankscope_record::{Category, Recorded, Scope, Session, SessionOptions, ThreadFilter, instant, intern, record_function};

#[global_allocator]
static ALLOCATOR: RecordingAllocator = RecordingAllocator::system();

/// There is one allocator, so there is one test at a time.
static ONE: Mutex<()> = Mutex::new(());

const MEAN: NonZeroU64 = NonZeroU64::new(16 << 10).expect("a positive number");

fn session() -> Session {
    Session::start(SessionOptions::default().with_threads(ThreadFilter::Current)).unwrap()
}

/// Addresses and signed bytes, in order, with the name of the innermost span.
fn memory_events(recorded: &Recorded) -> Vec<(String, u64, i64)> {
    let recording = recorded.open().unwrap();
    let mut events = Vec::new();
    for thread in recording.threads().iter().filter(|thread| recorded.cut().has_stream(thread.stream)) {
        let mut open = Vec::new();
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, _)) = replay.next() {
            match event.what {
                What::Begin { .. } => open.push(recording.names()[event.name.0 as usize].text.to_string()),
                What::End { .. } => drop(open.pop()),
                What::Memory { address, bytes, .. } => events.push((open.last().cloned().unwrap_or_default(), address, bytes)),
                _ => {}
            }
        }
    }
    events
}

#[test]
fn every_block_is_recorded_with_its_sign_and_span() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let session = session();
    ALLOCATOR.record_all();
    let mut addresses = [0; 3];
    {
        let _span = record_function!("fill");
        let mut block: Vec<u8> = black_box(Vec::with_capacity(100_001));
        addresses[0] = block.as_ptr().addr() as u64;
        block.reserve_exact(300_007);
        addresses[1] = block.as_ptr().addr() as u64;
        let zeroed = black_box(vec![0_u8; 50_003]);
        addresses[2] = zeroed.as_ptr().addr() as u64;
    }
    ALLOCATOR.stop();
    drop(black_box(vec![1_u8; 70_009]));
    let recorded = session.stop().unwrap().recorded;
    let ours: Vec<(String, u64, i64)> =
        memory_events(&recorded).into_iter().filter(|(_, _, bytes)| bytes.unsigned_abs() > 50_000).collect();
    let expected = [
        (addresses[0], 100_001),
        (addresses[0], -100_001),
        (addresses[1], 300_007),
        (addresses[2], 50_003),
        (addresses[2], -50_003),
        (addresses[1], -300_007),
    ];
    assert_eq!(ours, expected.map(|(address, bytes)| ("fill".to_owned(), address, bytes)));
}

/// Names are interned, threads come and go, and arguments are written, all of which takes memory inside the recorder.
#[test]
fn the_recorder_may_take_memory_while_the_allocator_records() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::start(SessionOptions::default()).unwrap();
    ALLOCATOR.record_all();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..500 {
                    let name = intern(&format!("thread {thread} name {number}"), Category::CPU_OP, Scope::Function);
                    instant(name, &[(name, "an argument of some length".into())]);
                }
            });
        }
    });
    ALLOCATOR.stop();
    let stopped = session.stop().unwrap();
    let instants: u64 = stopped.report.threads.iter().map(|thread| thread.instants).sum();
    let memory: u64 = stopped.report.threads.iter().map(|thread| thread.memory).sum();
    assert_eq!(instants, 2000);
    assert!(memory >= 4000, "each name is formatted in a block of its own, taken and given back: {memory}");
}

fn held_in(heap: &LiveHeap, span: &str) -> (u64, f64) {
    let found = heap.spans.iter().find(|held| held.span.as_deref() == Some(span));
    found.map_or((0, 0.0), |held| (held.held.samples, held.held.bytes))
}

#[test]
fn the_live_heap_is_what_is_held() {
    const BLOCKS: usize = 20_000;
    const BYTES: usize = 4096;
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let session = session();
    ALLOCATOR.sample(MEAN);
    let mut kept = Vec::with_capacity(BLOCKS);
    let heap = |session: &Session| ALLOCATOR.live_heap(&session.snapshot().unwrap()).unwrap().expect("sampling");
    {
        let _span = record_function!("hold");
        for _ in 0..BLOCKS {
            kept.push(black_box(Vec::<u8>::with_capacity(BYTES)));
            drop(black_box(Vec::<u8>::with_capacity(BYTES)));
        }
    }
    let full = heap(&session);
    let (truth, chance) = ((BLOCKS * BYTES) as f64, 1.0 - (-(BYTES as f64) / MEAN.get() as f64).exp());
    let sigma = BYTES as f64 * (BLOCKS as f64 * (1.0 - chance) / chance).sqrt();
    let (samples, bytes) = held_in(&full, "hold");
    assert!((bytes - truth).abs() < 4.0 * sigma, "{bytes} bytes are said to be held of {truth}");
    kept.truncate(BLOCKS / 2);
    let (half, _) = held_in(&heap(&session), "hold");
    assert!(half < samples && half > samples / 3, "{half} of {samples}");
    drop(kept);
    assert_eq!(held_in(&heap(&session), "hold"), (0, 0.0), "every sampled block was given back");
    ALLOCATOR.stop();
    let stopped = session.stop().unwrap();
    assert!(ALLOCATOR.live_heap(&stopped.recorded).unwrap().is_none());
    let curve: u64 = stopped.report.threads.iter().map(|thread| thread.counters).sum();
    assert!(curve >= 2 * samples, "each sample moves the curve when it comes and when it goes");
}

/// An allocator that refuses to grow anything.
struct NeverGrows;

// SAFETY: blocks come from the system's allocator and go back to it; growing always fails, which is allowed.
unsafe impl GlobalAlloc for NeverGrows {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, _: *mut u8, _: Layout, _: usize) -> *mut u8 {
        std::ptr::null_mut()
    }
}

#[test]
fn a_block_that_could_not_grow_is_still_held() {
    static STUBBORN: RecordingAllocator<NeverGrows> = RecordingAllocator::new(NeverGrows);
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let session = session();
    STUBBORN.sample(NonZeroU64::MIN);
    let layout = Layout::from_size_align(1000, 8).unwrap();
    let total = || STUBBORN.live_heap(&session.snapshot().unwrap()).unwrap().unwrap().total;
    // SAFETY: the layout is not empty, and the block goes back once, as it came.
    unsafe {
        let block = STUBBORN.alloc(layout);
        assert!(STUBBORN.realloc(block, layout, 2000).is_null());
        assert_eq!((total().samples, total().bytes), (1, 1000.0));
        STUBBORN.dealloc(block, layout);
    }
    assert_eq!(total().samples, 0);
    STUBBORN.record_all();
    // SAFETY: as above.
    unsafe {
        let block = STUBBORN.alloc(layout);
        assert!(STUBBORN.realloc(block, layout, 2000).is_null());
        STUBBORN.dealloc(block, layout);
    }
    STUBBORN.stop();
    let events: Vec<i64> = memory_events(&session.stop().unwrap().recorded).into_iter().map(|event| event.2).collect();
    assert_eq!(events, [1000, -1000, 1000, -1000]);
}
