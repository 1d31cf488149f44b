//! Futures in spans: polls are slices of whichever thread polls, linked, and the whole is an async span with its waiting.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod tree;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rankscope_record::{
    ExportFormat, InSpan, KeptArgs, NameId, Recorded, Session, SessionOptions, in_span, intern_key, record_function,
};
use serde_json::Value;
use tree::tree;

static RECORDING: Mutex<()> = Mutex::new(());

/// Pending `times` times.
async fn pending(times: u32) {
    let mut left = times;
    poll_fn(|_| {
        left = left.wrapping_sub(1);
        if left == u32::MAX { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn recorded(program: impl FnOnce()) -> Recorded {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let session = Session::start(SessionOptions::default()).unwrap();
    program();
    session.stop().unwrap().recorded
}

fn tree_of(recorded: &Recorded) -> Vec<String> {
    tree(&recorded.open().unwrap(), recorded.cut())
}

/// Events as Chrome's JSON has them, in the order of their time.
fn events(recorded: &Recorded) -> Vec<Value> {
    let mut json = Vec::new();
    recorded.export_to(ExportFormat::KinetoJson, &mut json).unwrap();
    let mut document: Value = serde_json::from_slice(&json).unwrap();
    let mut events: Vec<Value> = serde_json::from_value(document["traceEvents"].take()).unwrap();
    events.retain(|event| event["ph"] != "M");
    events.sort_by(|a, b| a["ts"].as_f64().unwrap().total_cmp(&b["ts"].as_f64().unwrap()));
    events
}

fn of<'e>(events: &'e [Value], name: &str, phase: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["name"] == name && event["ph"] == phase).collect()
}

#[test]
fn arguments_beyond_what_an_event_may_have_are_counted() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let keys: Vec<NameId> = (0..40).map(|at| intern_key(&format!("key {at}"))).collect();
    let args: Vec<(NameId, rankscope_record::Value<'_>)> = keys.iter().map(|key| (*key, 1.into())).collect();
    let session = Session::start(SessionOptions::default()).unwrap();
    let mut future = pin!(pending(0).in_span("much to say").with_args(KeptArgs::of(&args)));
    assert!(poll(future.as_mut()).is_ready());
    assert_eq!(session.stop().unwrap().report.remarks.arguments_left_out, 8);
}

#[test]
fn polls_on_two_threads_are_linked_and_the_whole_has_its_waiting() {
    let recorded = recorded(|| {
        let mut future = Box::pin(in_span!(pending(2), "request", id = 7));
        assert!(poll(future.as_mut()).is_pending());
        std::thread::sleep(Duration::from_millis(3));
        let moved = std::thread::spawn(move || {
            let _outer = record_function!("worker");
            assert!(poll(future.as_mut()).is_pending());
            std::thread::sleep(Duration::from_millis(3));
            assert!(poll(future.as_mut()).is_ready());
        });
        moved.join().unwrap();
    });
    assert_eq!(
        tree_of(&recorded),
        [
            "thread",
            "  request [user_annotation] id=7",
            "    async 0 begin: request [user_annotation] (resumed) id=7",
            "thread",
            "  worker [user_annotation]",
            "    request [user_annotation] id=7",
            "      flow 0 step: request",
            "    request [user_annotation] id=7",
            "      flow 0 step: request",
            "      async 0 end: request",
        ]
    );

    let events = events(&recorded);
    let slices = of(&events, "request", "X");
    assert_eq!(slices.len(), 3);
    assert!(slices.iter().all(|slice| slice["args"]["id"] == 7), "{slices:?}");
    assert_ne!(slices[0]["tid"], slices[1]["tid"]);

    let [starts, steps, ends] = ["s", "t", "f"].map(|phase| of(&events, "request", phase));
    assert_eq!((starts.len(), steps.len(), ends.len()), (1, 2, 0));
    for (point, slice) in starts.iter().chain(&steps).zip(&slices) {
        let [from, length] = ["ts", "dur"].map(|key| slice[key].as_f64().unwrap());
        let at = point["ts"].as_f64().unwrap();
        assert!(point["tid"] == slice["tid"] && (from..=from + length).contains(&at), "{point} lies in {slice}");
        assert_eq!(point["id"], starts[0]["id"]);
    }

    let [begin, end] = ["b", "e"].map(|phase| of(&events, "request", phase)[0]);
    assert_eq!((&begin["id"], &begin["args"]), (&end["id"], &serde_json::json!({ "id": 7 })));
    let [from, to] = [begin, end].map(|event| event["ts"].as_f64().unwrap());
    assert!(from <= slices[0]["ts"].as_f64().unwrap(), "it begins where the future was made");
    assert!(to - from >= 6_000.0, "two waits of 3 ms are in it");
}

#[test]
fn a_future_that_never_waits_is_a_slice_and_nothing_else() {
    let recorded = recorded(|| assert!(poll(pin!(pending(0).in_span("at once"))).is_ready()));
    assert_eq!(tree_of(&recorded), ["at once [user_annotation]"]);
}

#[test]
fn futures_that_wait_together_nest_in_what_polls_them() {
    let recorded = recorded(|| {
        let (mut a, mut b) = (pin!(pending(1).in_span("a")), pin!(pending(2).in_span(String::from("b"))));
        let mut both = pin!(
            poll_fn(|context| {
                let done = [a.as_mut().poll(context).is_ready(), b.as_mut().poll(context).is_ready()];
                if done == [true, true] { Poll::Ready(()) } else { Poll::Pending }
            })
            .in_span("both")
        );
        assert!(poll(both.as_mut()).is_pending());
    });
    assert_eq!(
        tree_of(&recorded),
        [
            "both [user_annotation]",
            "  a [user_annotation]",
            "    async 0 begin: a [user_annotation] (resumed)",
            "  b [user_annotation]",
            "    async 1 begin: b [user_annotation] (resumed)",
            "  async 2 begin: both [user_annotation] (resumed)",
            "async 2 end: both cancelled=true",
            "async 1 end: b cancelled=true",
            "async 0 end: a cancelled=true",
        ]
    );
}

#[test]
fn a_future_that_is_dropped_while_it_waits_says_that_it_was_cancelled() {
    let recorded = recorded(|| {
        let mut future = Box::pin(pending(5).in_span("given up"));
        assert!(poll(future.as_mut()).is_pending());
    });
    assert_eq!(
        tree_of(&recorded),
        [
            "given up [user_annotation]",
            "  async 0 begin: given up [user_annotation] (resumed)",
            "async 0 end: given up cancelled=true",
        ]
    );
    assert_eq!(of(&events(&recorded), "given up", "e")[0]["args"], serde_json::json!({ "cancelled": true }));
}

#[test]
fn a_future_made_before_the_session_is_recorded_from_where_the_session_begins() {
    let _alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut future = Box::pin(in_span!(pending(2), "early", id = 7));
    assert!(poll(future.as_mut()).is_pending());
    let session = Session::start(SessionOptions::default()).unwrap();
    assert!(poll(future.as_mut()).is_pending());
    assert!(poll(future.as_mut()).is_ready());
    let recorded = session.stop().unwrap().recorded;
    assert_eq!(
        tree_of(&recorded),
        // What it knows is looked at where it is made, and nobody recorded there.
        [
            "early [user_annotation]",
            "  async 0 begin: early [user_annotation] (resumed)",
            "early [user_annotation]",
            "  flow 0 step: early",
            "  async 0 end: early",
        ]
    );
    // The flow starts at the first slice, which only exports know how to say.
    assert_eq!(of(&events(&recorded), "early", "s").len(), 1);
}
