//! A program that says what it does through `tracing`, beside `record_function!`: nesting, fields, events, threads.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod tree;

use std::sync::{Mutex, PoisonError};

use rankscope_record::{Recorded, RecordingLayer, Session, SessionOptions, ThreadFilter, record_function};
use tracing::{debug_span, error, field, info, info_span};
use tracing_subscriber::layer::SubscriberExt;
use tree::tree;

fn tree_of(recorded: &Recorded) -> Vec<String> {
    tree(&recorded.open().unwrap(), recorded.cut())
}

/// Held while a session runs: whether anybody records is the same for all threads.
static RECORDING: Mutex<()> = Mutex::new(());

fn recorded(threads: ThreadFilter, layer: RecordingLayer, program: impl FnOnce()) -> Vec<String> {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::start(SessionOptions::default().with_threads(threads)).unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), program);
    tree_of(&session.stop().unwrap().recorded)
}

#[test]
fn spans_nest_with_those_of_the_recorder_and_keep_their_fields() {
    let lines = recorded(ThreadFilter::Current, RecordingLayer::new(), || {
        let step =
            info_span!("step", number = -3_i64, size = u64::MAX, rate = 0.5, warm = true, name = "a\"b", shape = ?[2, 3]);
        let _step = step.enter();
        {
            let _function = record_function!("forward", batch = 32);
            let _inner = debug_span!("matmul").entered();
            info!(loss = 1.25, "step {} done", 7);
        }
        error!(target: "net", "lost");
    });
    assert_eq!(
        lines,
        [
            "step [user_annotation] number=-3 size=18446744073709551615u rate=0.5 warm=true name='a\"b' shape='[2, 3]'",
            "  forward [user_annotation] batch=32",
            "    matmul [user_annotation]",
            "      ! INFO tracing_layer [cpu_instant_event] message='step 7 done' loss=1.25",
            "  ! ERROR net [cpu_instant_event] message='lost'",
        ]
    );
}

#[test]
fn a_field_that_is_known_late_comes_with_the_end() {
    let lines = recorded(ThreadFilter::Current, RecordingLayer::new(), || {
        let span = info_span!("read", path = "x", bytes = field::Empty);
        {
            let entered = span.enter();
            span.record("bytes", 10_i64);
            drop(entered);
        }
        span.in_scope(|| {});
    });
    assert_eq!(
        lines,
        [
            "read [user_annotation] path='x' end bytes=10",
            "read [user_annotation] path='x' bytes=10",
            "  flow 0 step: read",
            "  async 0 begin: read [user_annotation] (resumed) path='x' bytes=10",
            "async 0 end: read",
        ]
    );
}

#[test]
fn a_span_left_before_the_one_inside_it_splits_that_one() {
    let lines = recorded(ThreadFilter::Current, RecordingLayer::new(), || {
        let (outer, inner) = (info_span!("outer"), info_span!("inner", id = 1_i64));
        let entered_outer = outer.enter();
        let entered_inner = inner.enter();
        drop(entered_outer);
        info!("alone");
        drop(entered_inner);
    });
    assert_eq!(
        lines,
        [
            "outer [user_annotation]",
            "  inner [user_annotation] id=1",
            "inner [user_annotation]",
            "  ! INFO tracing_layer [cpu_instant_event] message='alone'",
            // It outlives its slice, by the message.
            "async 0 begin: outer [user_annotation] (resumed)",
            "async 0 end: outer",
        ]
    );
}

#[test]
fn work_taken_up_on_another_thread_is_one_async_span() {
    let lines = recorded(ThreadFilter::All, RecordingLayer::new(), || {
        let span = info_span!("request", number = 5_i64);
        span.in_scope(|| {});
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let handle = std::thread::spawn(move || tracing::dispatcher::with_default(&dispatch, || span.in_scope(|| {})));
        handle.join().unwrap();
    });
    assert_eq!(
        lines,
        [
            "thread",
            "  request [user_annotation] number=5",
            "thread",
            "  request [user_annotation] number=5",
            "    flow 0 step: request",
            "    async 0 begin: request [user_annotation] (resumed) number=5",
            "  async 0 end: request",
        ]
    );
}

#[test]
fn a_span_that_outlives_its_only_slice_is_an_async_span_and_a_scope_is_none() {
    let program = || {
        let waiting = info_span!("waiting");
        waiting.in_scope(|| {});
        info_span!("scope").in_scope(|| {});
        drop(waiting);
    };
    let lines = recorded(ThreadFilter::Current, RecordingLayer::new(), program);
    let slices = ["waiting [user_annotation]", "scope [user_annotation]"];
    let whole = ["async 0 begin: waiting [user_annotation] (resumed)", "async 0 end: waiting"];
    assert_eq!(lines, [slices, whole].concat());
    assert_eq!(recorded(ThreadFilter::Current, RecordingLayer::new().without_lifetimes(), program), slices);
}

#[test]
fn alone_while_nothing_is_recorded_no_span_is_created() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let subscriber = tracing_subscriber::registry().with(RecordingLayer::new().alone());
    tracing::subscriber::with_default(subscriber, || {
        assert!(info_span!("off").is_disabled());
        let session = Session::start(SessionOptions::default().with_threads(ThreadFilter::Current)).unwrap();
        let program = |name: &str| info_span!("on", name).in_scope(|| info!("said"));
        program("a");
        assert_eq!(
            tree_of(&session.stop().unwrap().recorded),
            ["on [user_annotation] name='a'", "  ! INFO tracing_layer [cpu_instant_event] message='said'"]
        );
    });
}

#[test]
fn nothing_is_recorded_of_a_span_entered_before_the_session() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let subscriber = tracing_subscriber::registry().with(RecordingLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        let early = info_span!("early", unknown = 1_i64);
        let entered = early.enter();
        let session = Session::start(SessionOptions::default().with_threads(ThreadFilter::Current)).unwrap();
        info_span!("later").in_scope(|| {});
        drop(entered);
        early.in_scope(|| {});
        assert_eq!(tree_of(&session.stop().unwrap().recorded), ["later [user_annotation]", "early [user_annotation]"]);
    });
}
