//! An allocator that records every block: it is called by the recorder too, and must neither hang nor lose count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rankscope_formats::recording::What;
use rankscope_record::{MemoryEvent, Session, SessionOptions, memory, record_function};

struct Recorded;

static SEEN: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "an allocator is unsafe to write; this one only passes on")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Recorded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let block = unsafe { System.alloc(layout) };
        record(block, layout.size() as i64);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        record(block, -(layout.size() as i64));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) };
    }
}

fn record(block: *mut u8, bytes: i64) {
    if rankscope_record::is_on(rankscope_record::Category::CPU_INSTANT_EVENT) {
        SEEN.fetch_add(1, Ordering::Relaxed);
        memory(&MemoryEvent { address: block as u64, bytes, device_index: -1, ..MemoryEvent::default() });
    }
}

#[global_allocator]
static ALLOCATOR: Recorded = Recorded;

#[test]
fn every_block_is_recorded_or_counted_as_dropped() {
    let session = Session::start(SessionOptions::default()).unwrap();
    let before = SEEN.load(Ordering::Relaxed);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for round in 0..20_000_u64 {
                    let _span = record_function!("round", round = round);
                    drop(std::hint::black_box(vec![round; 1 + (round % 7) as usize]));
                }
            });
        }
    });
    let during = SEEN.load(Ordering::Relaxed) - before;
    let stopped = session.stop().unwrap();
    let memory: u64 = stopped.report.threads.iter().map(|thread| thread.memory).sum();
    let spans: u64 = stopped.report.threads.iter().map(|thread| thread.spans).sum();
    let seen = SEEN.load(Ordering::Relaxed);
    assert_eq!(spans, 60_000, "{:?}", stopped.report.drops);
    assert!(memory >= 120_000 && memory <= seen, "{memory} of {seen}");
    // The recorder's own blocks are taken while its thread is in it: those, and no others, are dropped.
    assert!(memory + stopped.report.dropped() >= during, "{memory} recorded, {:?}, {during} seen", stopped.report.drops);
    assert!(stopped.report.drops.iter().all(|(reason, _)| *reason == "reentrant"), "{:?}", stopped.report.drops);

    let recording = stopped.recorded.open().unwrap();
    let mut read = 0;
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, stopped.recorded.cut());
        while let Some((event, _)) = replay.next() {
            read += u64::from(matches!(event.what, What::Memory { .. }));
        }
    }
    assert_eq!(read, memory);
}
