//! Places where programs record and recorders trip: destructors of dying threads, signal handlers, unwinding stacks.
#![expect(clippy::unwrap_used, reason = "a test of odd places")]

mod recovered;
mod tree;

use std::cell::RefCell;
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use rankscope_record::{Session, SessionOptions, Stopped, record_function};
use tree::tree;

/// Sessions see every thread of the process; one test at a time, so that counts can be exact.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn recorded(work: impl FnOnce()) -> Stopped {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let session = Session::start(SessionOptions::default()).unwrap();
    work();
    session.stop().unwrap()
}

fn found(stopped: &Stopped) -> recovered::Found {
    recovered::total(&recovered::spans(&stopped.recorded.open().unwrap(), stopped.recorded.cut()))
}

fn tree_of(stopped: &Stopped) -> Vec<String> {
    let recording = stopped.recorded.open().unwrap();
    assert_eq!(recording.lost_chunks(), 0);
    tree(&recording, stopped.recorded.cut())
}

struct RecordsWhenDropped(u64);

impl Drop for RecordsWhenDropped {
    fn drop(&mut self) {
        (0..self.0).for_each(|_| drop(record_function!("in a destructor")));
    }
}

#[test]
fn destructors_of_a_dying_thread_record() {
    thread_local!(static LAST: RefCell<Option<RecordsWhenDropped>> = const { RefCell::new(None) });
    let stopped = recorded(|| {
        // One thread that recorded before, and one whose destructor is the first to.
        thread::spawn(|| {
            LAST.set(Some(RecordsWhenDropped(3)));
            drop(record_function!("before"));
        })
        .join()
        .unwrap();
        thread::spawn(|| LAST.set(Some(RecordsWhenDropped(4)))).join().unwrap();
    });
    let destructor = "  in a destructor [user_annotation]";
    let threads = [&["thread", "  before [user_annotation]"][..], &[destructor; 3], &["thread"], &[destructor; 4]];
    assert_eq!(tree_of(&stopped), threads.concat());
    assert_eq!((stopped.report.events(), stopped.report.dropped()), (8, 0));
}

#[test]
fn a_panic_ends_the_spans_it_unwinds() {
    let stopped = recorded(|| {
        let unwound = panic::catch_unwind(|| {
            let _outer = record_function!("outer");
            let _inner = record_function!("inner");
            let _guard = RecordsWhenDropped(2);
            panic::resume_unwind(Box::new("of no interest"));
        });
        assert!(unwound.is_err());
        drop(record_function!("after"));
    });
    assert_eq!(
        tree_of(&stopped),
        [
            "outer [user_annotation]",
            "  inner [user_annotation]",
            "    in a destructor [user_annotation]",
            "    in a destructor [user_annotation]",
            "after [user_annotation]",
        ]
    );
    assert_eq!((stopped.report.events(), stopped.report.dropped()), (5, 0));
}

static HANDLED: AtomicU64 = AtomicU64::new(0);
static HANDLED_AND_RECORDED: AtomicU64 = AtomicU64::new(0);

extern "C" fn record_in_a_handler(_: libc::c_int) {
    let span = record_function!("in a handler");
    HANDLED.fetch_add(1, Ordering::Relaxed);
    HANDLED_AND_RECORDED.fetch_add(u64::from(span.is_recording()), Ordering::Relaxed);
}

#[test]
#[expect(unsafe_code, reason = "signals are sent and handled through the system")]
fn a_signal_handler_records_or_is_counted() {
    // However seldom a busy machine lets the sender run, and however many signals come in the middle of one record.
    const RECORDED_IN_HANDLER: u64 = 100;
    let mut spans = 0;
    let handler: extern "C" fn(libc::c_int) = record_in_a_handler;
    // SAFETY: the handler touches an atomic and the recorder, which says that it may be called there.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let stopped = recorded(|| {
        // SAFETY: asks for this thread's own number, which stays valid until the scope has joined the sender.
        let target = unsafe { libc::pthread_self() };
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    // SAFETY: the target outlives this thread, and handles the signal.
                    unsafe { libc::pthread_kill(target, libc::SIGUSR1) };
                    thread::yield_now();
                }
            });
            while HANDLED_AND_RECORDED.load(Ordering::Relaxed) < RECORDED_IN_HANDLER {
                let _span = record_function!("interrupted", number = spans);
                spans += 1;
                if spans % 1000 == 0 {
                    thread::yield_now();
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    });
    let handled = HANDLED.load(Ordering::Relaxed);
    let dropped = stopped.report.dropped();
    // What the handler could not record is what it interrupted in the middle of a record; nothing else is lost.
    assert!(stopped.report.drops.iter().all(|(reason, _)| *reason == "reentrant"), "{:?}", stopped.report.drops);
    assert_eq!(stopped.report.events() + dropped, spans + handled);
    assert_eq!(found(&stopped), recovered::Found { ended: spans + handled - dropped, open: 0 });
    assert_eq!(handled - dropped, HANDLED_AND_RECORDED.load(Ordering::Relaxed));
}
