//! A program that says what it does through `tracing`, beside `record_function!`: nesting, fields, events, threads.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rankscope_formats::recording::{ArgView, Args, FlowStage, RESUMED, What};
use rankscope_record::{Recorded, RecordingLayer, Session, SessionOptions, ThreadFilter, record_function};
use tracing::{debug_span, error, field, info, info_span};
use tracing_subscriber::layer::SubscriberExt;

/// One line an event: two blanks per open span, the name, the arguments.
fn told(recorded: &Recorded) -> Vec<String> {
    let recording = recorded.open().unwrap();
    let name = |id: rankscope_formats::recording::NameId| recording.names()[id.0 as usize].text.to_string();
    let list = |args: Args<'_>| {
        let one = |value: ArgView<'_>| match value {
            ArgView::Text(text) => format!("{text:?}"),
            ArgView::I64(value) => format!("{value}i64"),
            ArgView::U64(value) => format!("{value}u64"),
            ArgView::F64(value) => format!("{value}f64"),
            ArgView::Bool(value) => value.to_string(),
            other => panic!("{other:?} is no value of a field"),
        };
        let own = args.iter().filter(|(key, _)| name(*key) != RESUMED);
        own.map(|(key, value)| format!(" {}={}", name(key), one(value))).collect::<String>()
    };
    let (mut lines, mut depth, mut lives) = (Vec::new(), 0, BTreeMap::new());
    let mut number = |id: u64| {
        let next = lives.len();
        *lives.entry(id).or_insert(next)
    };
    for thread in recording.threads().iter().filter(|thread| recorded.cut().has_stream(thread.stream)) {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, args)) = replay.next() {
            let indent = "  ".repeat(depth);
            match event.what {
                What::Begin { .. } => {
                    lines.push(format!("{indent}{}{}", name(event.name), list(args)));
                    depth += 1;
                }
                What::End { .. } => {
                    depth -= 1;
                    if !args.is_empty() {
                        lines.push(format!("{indent}end{}", list(args)));
                    }
                }
                What::Instant => lines.push(format!("{indent}! {}{}", name(event.name), list(args))),
                What::AsyncBegin { id } => {
                    lines.push(format!("{indent}life {} of {}{}", number(id), name(event.name), list(args)));
                }
                What::Flow { id, stage: FlowStage::Step } => lines.push(format!("{indent}step of life {}", number(id))),
                What::AsyncEnd { id } => lines.push(format!("{indent}end of life {}", number(id))),
                _ => {}
            }
        }
        assert_eq!(depth, 0);
    }
    lines
}

/// Held while a session runs: whether anybody records is the same for all threads.
static RECORDING: Mutex<()> = Mutex::new(());

fn recorded(threads: ThreadFilter, layer: RecordingLayer, program: impl FnOnce()) -> Vec<String> {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::start(SessionOptions { threads, ..SessionOptions::default() }).unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), program);
    told(&session.stop().unwrap().recorded)
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
            "step number=-3i64 size=18446744073709551615u64 rate=0.5f64 warm=true name=\"a\\\"b\" shape=\"[2, 3]\"",
            "  forward batch=32i64",
            "    matmul",
            "      ! INFO tracing_layer message=\"step 7 done\" loss=1.25f64",
            "  ! ERROR net message=\"lost\"",
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
    let again = "read path=\"x\" bytes=10i64";
    let life = "  life 0 of read path=\"x\" bytes=10i64";
    assert_eq!(lines, ["read path=\"x\"", "  end bytes=10i64", again, "  step of life 0", life, "end of life 0"]);
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
    let message = "  ! INFO tracing_layer message=\"alone\"";
    // The outer one outlives its slice, by the message.
    assert_eq!(lines, ["outer", "  inner id=1i64", "inner", message, "life 0 of outer", "end of life 0"]);
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
    let slice = "request number=5i64";
    assert_eq!(lines, [slice, slice, "  step of life 0", "  life 0 of request number=5i64", "end of life 0"]);
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
    assert_eq!(lines, ["waiting", "scope", "life 0 of waiting", "end of life 0"]);
    assert_eq!(recorded(ThreadFilter::Current, RecordingLayer::new().without_lifetimes(), program), ["waiting", "scope"]);
}

#[test]
fn alone_while_nothing_is_recorded_no_span_is_created() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let subscriber = tracing_subscriber::registry().with(RecordingLayer::new().alone());
    tracing::subscriber::with_default(subscriber, || {
        assert!(info_span!("off").is_disabled());
        let session = Session::start(SessionOptions { threads: ThreadFilter::Current, ..SessionOptions::default() }).unwrap();
        let program = |name: &str| info_span!("on", name).in_scope(|| info!("said"));
        program("a");
        assert_eq!(told(&session.stop().unwrap().recorded), ["on name=\"a\"", "  ! INFO tracing_layer message=\"said\""]);
    });
}

#[test]
fn nothing_is_recorded_of_a_span_entered_before_the_session() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let subscriber = tracing_subscriber::registry().with(RecordingLayer::new());
    tracing::subscriber::with_default(subscriber, || {
        let early = info_span!("early", unknown = 1_i64);
        let entered = early.enter();
        let session = Session::start(SessionOptions { threads: ThreadFilter::Current, ..SessionOptions::default() }).unwrap();
        info_span!("later").in_scope(|| {});
        drop(entered);
        early.in_scope(|| {});
        assert_eq!(told(&session.stop().unwrap().recorded), ["later", "early"]);
    });
}
