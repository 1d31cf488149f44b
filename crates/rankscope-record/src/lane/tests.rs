//! What cannot be waited for or provoked from outside: silences longer than a word's ticks, a lane that is busy.

use std::sync::Mutex;

use rankscope_recording::{ArgView, What};

use super::with;
use crate::events::{begin_async, instant};
use crate::names::{intern, intern_key};
use crate::recorded::Recorded;
use crate::scope::Scope;
use crate::session::{Session, SessionOptions};
use crate::span::{begin_named, begin_raw, end_raw};
use crate::store::Overflow;
use crate::ticks::ticks;
use crate::value::Value;
use rankscope_recording::{Category, NameId};

fn recorded(record: impl FnOnce()) -> (Recorded, crate::Report) {
    recorded_as(SessionOptions::default(), record)
}

fn recorded_as(options: SessionOptions, record: impl FnOnce()) -> (Recorded, crate::Report) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let session = Session::start(options).unwrap();
    record();
    let stopped = session.stop().unwrap();
    (stopped.recorded, stopped.report)
}

/// Ticks of all events, and the arguments of all, in text.
fn replayed(recorded: &Recorded) -> (Vec<u64>, Vec<String>) {
    let recording = recorded.open().unwrap();
    let (mut ticks, mut args) = (Vec::new(), Vec::new());
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, more)) = replay.next() {
            ticks.push(event.tick);
            args.extend(more.iter().map(|(key, value)| format!("{} {value:?}", recording.names()[key.0 as usize].text)));
            assert!(!matches!(event.what, What::End { unfinished: true, .. }));
        }
    }
    (ticks, args)
}

#[test]
fn after_a_long_silence_there_is_a_new_base() {
    let name = intern("patient", Category::USER_ANNOTATION, Scope::UserScope);
    let keys = [intern_key("first"), intern_key("second")];
    let args = [(keys[0], Value::F64(0.5)), (keys[1], Value::Text("twelve bytes"))];
    let long_ago = || with(|lane| lane.base_tick.set(ticks() - (3 << 40)));
    let mut bounds = (0, 0);
    let (recorded, report) = recorded(|| {
        // The first one joins the recording; a base can only be moved in a piece.
        drop(begin_named(name, &[]));
        bounds.0 = ticks();
        long_ago();
        let span = begin_named(name, &args);
        long_ago();
        span.end_with(&args);
        long_ago();
        let span = begin_raw(name, &[]).unwrap();
        long_ago();
        end_raw(span, &[]);
        bounds.1 = ticks();
    });
    let (ticks, args) = replayed(&recorded);
    assert_eq!((ticks.len(), report.dropped()), (6, 0));
    assert!(ticks.is_sorted() && ticks[2..].iter().all(|tick| (bounds.0..=bounds.1).contains(tick)), "{ticks:?} {bounds:?}");
    let once = ["first F64(0.5)", r#"second Text("twelve bytes")"#];
    assert_eq!(args, [once, once].concat());
}

#[test]
fn spans_deeper_than_the_limit_are_dropped_whole() {
    let name = intern("deep", Category::USER_ANNOTATION, Scope::UserScope);
    let depth = super::open::DEPTH_MAX + 100;
    let (recorded, report) = recorded(|| {
        let mut open: Vec<_> = (0..depth).filter_map(|_| begin_raw(name, &[])).collect();
        while let Some(span) = open.pop() {
            end_raw(span, &[]);
        }
    });
    assert_eq!(report.drops, [("too_deep", 100)]);
    assert_eq!(replayed(&recorded).0.len(), 2 * super::open::DEPTH_MAX);
}

#[test]
fn what_comes_while_the_lane_is_busy_is_counted() {
    let name = intern("reentrant", Category::USER_ANNOTATION, Scope::UserScope);
    let (recorded, report) = recorded(|| {
        drop(begin_named(name, &[]));
        let _busy = super::busy::Busy::mark();
        drop(begin_named(name, &[]));
    });
    assert_eq!(report.drops, [("reentrant", 1)]);
    assert_eq!(replayed(&recorded).0.len(), 2);
}

#[test]
fn arguments_that_are_too_long_say_so() {
    let name = intern("long", Category::USER_ANNOTATION, Scope::UserScope);
    let keys: Vec<NameId> = (0..40).map(|at| intern_key(&format!("key {at}"))).collect();
    let text = "x".repeat(100_000);
    let numbers: Vec<i64> = (0..5_000).map(|at| at * 1_000_003 * if at % 2 == 0 { 1 } else { -1 }).collect();
    let many: Vec<_> = keys.iter().map(|key| (*key, Value::U64(u64::MAX))).collect();
    let (recorded, report) = recorded(|| {
        for args in
            [&[(keys[0], Value::Text(&text))][..], &[(keys[0], Value::I64s(&numbers)), (keys[1], Value::Bool(true))], &many]
        {
            drop(begin_named(name, args));
        }
    });
    assert_eq!((report.dropped(), report.remarks.values_cut, report.remarks.arguments_left_out), (0, 2, 8));
    assert!(report.remarks.to_string().starts_with("2 values of arguments cut, 8 arguments left out"));
    let recording = recorded.open().unwrap();
    let thread = recording.threads().iter().find(|thread| thread.stream == report.threads[0].stream).unwrap();
    let mut replay = recording.replay(thread, recorded.cut());
    let (mut cuts, mut whole) = (Vec::new(), 0);
    while let Some((_, args)) = replay.next() {
        for (key, value) in args.iter() {
            match value {
                ArgView::Cut { true_len } => cuts.push((key, true_len)),
                ArgView::Text(kept) => assert!(text.starts_with(&*kept) && kept.len() > 10_000),
                ArgView::I64s(kept) => {
                    let kept: Vec<i64> = kept.collect();
                    assert!(numbers.starts_with(&kept) && kept.len() > 100);
                }
                ArgView::U64(u64::MAX) => whole += 1,
                other => assert_eq!(format!("{other:?}"), "Bool(true)"),
            }
        }
    }
    assert_eq!(cuts, [(keys[0], 100_000), (keys[0], 5_000), (NameId(0), 8)]);
    assert_eq!(whole, 32);
}

#[test]
fn a_name_that_is_too_long_is_cut_and_counted() {
    let text = "n".repeat(70_000);
    let (recorded, report) = recorded(|| {
        let name = intern(&text, Category::USER_ANNOTATION, Scope::UserScope);
        drop(begin_named(name, &[]));
    });
    assert_eq!(report.remarks.names_cut, 1);
    let recording = recorded.open().unwrap();
    let longest = recording.names().iter().map(|name| name.text.len()).max().unwrap();
    assert!((60_000..70_000).contains(&longest));
    assert_eq!(recording.remarks().iter().map(|(remark, ..)| remark.name()).collect::<Vec<_>>(), ["names_cut"]);
}

#[test]
fn a_span_deeper_than_a_piece_tells_of_has_its_own_end() {
    // Each piece names the outermost spans and counts the rest; both kinds of ends have to find their spans.
    let name = intern("very deep", Category::USER_ANNOTATION, Scope::UserScope);
    let (recorded, report) = recorded(|| {
        let mut open: Vec<_> = (0..3_000).filter_map(|_| begin_raw(name, &[])).collect();
        // More than a piece has room for, with so many open.
        (0..20_000).for_each(|_| drop(begin_named(name, &[])));
        let outer = open.remove(0);
        end_raw(outer, &[]);
        while let Some(span) = open.pop() {
            end_raw(span, &[]);
        }
    });
    assert_eq!((report.drops, report.remarks.misnested, report.remarks.misuse), (vec![], 1, 0));
    assert_eq!(replayed(&recorded).0.len(), 2 * 23_000);
}

#[test]
fn the_depth_limit_is_for_spans_alone() {
    let name = intern("deep too", Category::USER_ANNOTATION, Scope::UserScope);
    let key = intern_key("last");
    let (recorded, report) = recorded(|| {
        let mut open: Vec<_> = (0..super::open::DEPTH_MAX).filter_map(|_| begin_raw(name, &[])).collect();
        instant(name, &[]);
        while let Some(span) = open.pop() {
            end_raw(span, &[(key, Value::Bool(true))]);
        }
    });
    assert_eq!(report.drops, []);
    let (ticks, args) = replayed(&recorded);
    assert_eq!((ticks.len(), args.len()), (2 * super::open::DEPTH_MAX + 1, super::open::DEPTH_MAX));
}

#[test]
fn an_end_whose_arguments_find_no_room_says_so_and_is_no_loss() {
    let name = intern("full", Category::USER_ANNOTATION, Scope::UserScope);
    let key = intern_key("much");
    let options = SessionOptions { overflow: Overflow::Stop { max_bytes: 1 }, ..SessionOptions::default() };
    let mut attempted = 0;
    let (recorded, report) = recorded_as(options, || {
        let mut open = Vec::new();
        loop {
            attempted += 1;
            let Some(span) = begin_raw(name, &[]) else { break };
            open.push(span);
            attempted += 1;
            instant(name, &[(key, Value::Text(&"x".repeat(1000)))]);
        }
        while let Some(span) = open.pop() {
            end_raw(span, &[(key, Value::Text(&"y".repeat(30_000)))]);
        }
    });
    assert_eq!(report.events() + report.dropped(), attempted);
    let (_, args) = replayed(&recorded);
    assert!(args.iter().any(|arg| arg.ends_with("Cut { true_len: 1 }")), "{:?}", args.last());
}

#[test]
fn the_end_of_an_older_recording_leaves_the_lane_in_its_own() {
    let name = intern("between", Category::USER_ANNOTATION, Scope::UserScope);
    let mut old = None;
    recorded(|| old = Some(begin_async(name, &[])));
    let (recorded, report) = recorded(|| {
        let _span = begin_named(name, &[]);
        drop(old.take());
    });
    // `replayed` sees that the span ended.
    assert_eq!((replayed(&recorded).0.len(), report.dropped()), (2, 0));
}
