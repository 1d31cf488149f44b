//! Ten thousand threads that live for a moment: every span is kept, and the memory of those that are gone is used again.
#![expect(clippy::unwrap_used, reason = "a test of threads")]

use std::thread;

use rankscope_record::{Session, SessionOptions, Stopped, record_function};

const THREADS: u64 = 10_000;
const SPANS: u64 = 5;

#[test]
fn short_lives_leave_all_their_spans() {
    one_arena();
    let Stopped { recorded, report } = record();
    assert_eq!((report.events(), report.dropped()), (THREADS * SPANS, 0));
    assert_eq!(report.threads.len() as u64, THREADS);
    // A chunk of a quarter of a megabyte for each would be 2.5 gigabytes.
    assert!(report.bytes < 16 << 20, "{} bytes for {} spans", report.bytes, THREADS * SPANS);

    let recording = recorded.open().unwrap();
    assert_eq!(recording.threads().len() as u64, THREADS);
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        let mut events = 0;
        while replay.next().is_some() {
            events += 1;
        }
        assert_eq!(events, 2 * SPANS, "{thread:?}");
    }
    drop((recording, recorded));

    let resident = || {
        drop(record());
        resident_bytes()
    };
    // What stays for good is there after a few: cached stacks, tables. The recorder's own thread gives memory back a moment
    // after the stop, so one look alone says too much.
    let before = (0..4).map(|_| resident()).max().unwrap();
    let after = (0..4).map(|_| resident()).min().unwrap();
    assert!(after <= before + before / 20, "{before} bytes became {after}");
}

/// Records what the threads do, eight at a time.
fn record() -> Stopped {
    let session = Session::start(SessionOptions::default()).unwrap();
    for _ in 0..THREADS / 8 {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..SPANS).for_each(|_| drop(record_function!("moment"))));
            }
        });
    }
    session.stop().unwrap()
}

/// By default the system's allocator gives threads arenas, and each keeps the largest hole it ever had: that would be counted.
#[expect(unsafe_code, reason = "the allocator is set up by a call of the system's library")]
fn one_arena() {
    // SAFETY: a call with two numbers.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Without what is mapped of files, as of the program itself: the system takes that away and brings it back as it likes.
#[expect(unsafe_code, reason = "the allocator gives free pages back when told")]
fn resident_bytes() -> u64 {
    // SAFETY: a call with a number.
    unsafe { libc::malloc_trim(0) };
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    1_024 * (kilobytes("RssAnon:") + kilobytes("RssShmem:"))
}
