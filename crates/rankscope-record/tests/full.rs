//! A recording that is full: what is in it and what was dropped are all there was.

mod recovered;

use std::thread;

use rankscope_record::{Overflow, Session, SessionOptions, record_function};

const THREADS: u64 = 4;
const SPANS: u64 = 100_000;

#[test]
fn recorded_and_dropped_are_all_that_was_attempted() {
    // A span takes sixteen bytes here: room for a third of them.
    let overflow = Overflow::Stop { max_bytes: 2 << 20 };
    let session = Session::start(SessionOptions::default().with_overflow(overflow)).unwrap();
    let attempt = || {
        let _outer = record_function!("outer");
        (1..SPANS).for_each(|_| drop(record_function!("inner")));
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(attempt))));
    let stopped = session.stop().unwrap();
    let recorded = stopped.report.events();
    let dropped = stopped.report.dropped();
    assert_eq!(stopped.report.drops, [("full", dropped)]);
    assert_eq!(recorded + dropped, THREADS * SPANS);
    assert!(recorded > THREADS * SPANS / 4, "{recorded} spans in two megabytes");

    let found = recovered::total(&recovered::spans(&stopped.recorded.open().unwrap(), stopped.recorded.cut()));
    assert_eq!(found, recovered::Found { ended: recorded, open: 0 }, "the spans around the dropped ones have their ends");
}
