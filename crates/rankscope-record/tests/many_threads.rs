//! Ten thousand threads that live for a moment: every span is kept, and the memory of those that are gone is used again.

use std::thread;

use rankscope_record::{Session, SessionOptions, record_function};

const THREADS: u64 = 10_000;
const SPANS: u64 = 5;

#[test]
fn short_lives_leave_their_spans_and_nothing_else() {
    // Once to make what stays for good: the allocator's arenas, the system's cached stacks, the recorder's tables.
    let bytes = record();
    let before = resident_bytes();
    let again = record();
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown <= before / 20, "{grown} bytes more than the {before} before");
    assert!(again <= bytes, "a second run takes {again} bytes, the first took {bytes}");
    // A chunk of a quarter of a megabyte each would be 2.5 gigabytes.
    assert!(bytes < 16 << 20, "{bytes} bytes for {} spans", THREADS * SPANS);
}

/// Records what the threads do, eight at a time; returns the bytes it took.
fn record() -> u64 {
    let session = Session::start(SessionOptions::default()).unwrap();
    for _ in 0..THREADS / 8 {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..SPANS).for_each(|_| drop(record_function!("moment"))));
            }
        });
    }
    let stopped = session.stop().unwrap();
    assert_eq!((stopped.report.events(), stopped.report.dropped()), (THREADS * SPANS, 0));
    assert_eq!(stopped.report.threads.len() as u64, THREADS);
    let recording = stopped.recorded.open().unwrap();
    assert_eq!(recording.threads().len() as u64, THREADS);
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, stopped.recorded.cut());
        let mut events = 0;
        while replay.next().is_some() {
            events += 1;
        }
        assert_eq!(events, 2 * SPANS, "{thread:?}");
    }
    stopped.report.bytes
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
