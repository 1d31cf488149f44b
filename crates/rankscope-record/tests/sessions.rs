//! Sessions: who may start and stop them, and what each one gets out of the one stream they share.
//!
//! One process has one recorder, so these tests take turns.

#![expect(clippy::unwrap_used, reason = "a test")]

mod tree;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, mpsc};
use std::thread;

use proptest::prelude::*;
use rankscope_formats::recording::What;
use rankscope_record::{
    Categories, Category, NameId, Overflow, Recorded, Scope, Session, SessionOptions, StartError, StopError, Storage,
    ThreadFilter, begin_named, begin_raw, end_raw, instant, intern, record_function, record_op,
};
use tree::tree;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn tree_of(recorded: &Recorded) -> Vec<String> {
    tree(&recorded.open().unwrap(), recorded.cut())
}

#[test]
fn one_thread_starts_and_another_stops() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| drop(record_function!("worker")));
    });
    drop(record_function!("main"));
    let stopped = thread::spawn(move || session.stop().unwrap()).join().unwrap();
    assert_eq!(tree_of(&stopped.recorded), ["thread", "  worker [user_annotation]", "thread", "  main [user_annotation]"]);
    assert_eq!(stopped.report.events(), 2);
    assert_eq!(stopped.report.threads.len(), 2);
    assert_eq!(stopped.report.empty, None);
}

#[test]
fn a_second_stop_and_a_change_after_it_are_refused() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let other = session.clone();
    session.stop().unwrap();
    let refused = StopError::AlreadyStopped { id: session.id() };
    assert_eq!(other.stop().unwrap_err(), refused);
    assert_eq!(other.set_categories(Categories::ALL).unwrap_err(), refused);
    assert!(!other.is_active());
}

#[test]
fn a_session_of_nothing_is_refused() {
    let _turn = turn();
    let nothing = SessionOptions::default().with_categories(Categories::NONE);
    assert!(matches!(Session::start(nothing), Err(StartError::NoCategories)));
}

#[test]
fn a_session_stops_with_its_last_handle() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let clone = session.clone();
    drop(session);
    assert!(clone.is_active() && rankscope_record::is_on(Category::CPU_OP));
    let found = Session::all();
    assert_eq!(found.iter().map(Session::id).collect::<Vec<_>>(), [clone.id()]);
    drop(clone);
    assert!(found[0].is_active(), "what was found is a handle as well");
    drop(found);
    assert!(Session::all().is_empty() && !rankscope_record::is_on(Category::CPU_OP));
}

#[test]
fn a_detached_session_runs_until_it_is_found_and_stopped() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let id = session.id();
    session.detach();
    drop(record_function!("nobody holds it"));
    drop(Session::all());
    let [found] = &Session::all()[..] else { panic!("one session runs") };
    assert_eq!(found.id(), id);
    assert_eq!(tree_of(&found.stop().unwrap().recorded), ["nobody holds it [user_annotation]"]);
}

#[test]
fn a_handle_may_be_dropped_anywhere() {
    thread_local!(static KEPT: std::cell::RefCell<Option<Session>> = const { std::cell::RefCell::new(None) });
    let _turn = turn();
    let start = || Session::start(SessionOptions::default()).unwrap();
    let unwound = thread::spawn(move || {
        let _session = start();
        let _span = record_function!("unwound");
        std::panic::resume_unwind(Box::new(()));
    });
    unwound.join().unwrap_err();
    assert!(Session::all().is_empty());
    // By the destructors of a thread.
    thread::spawn(move || KEPT.set(Some(start()))).join().unwrap();
    assert!(Session::all().is_empty());
}

#[test]
fn overlapping_sessions_get_what_meets_their_window() {
    let _turn = turn();
    let a = Session::start(SessionOptions::default()).unwrap();
    let before = record_function!("only_a");
    drop(before);
    let across = record_function!("across_the_start_of_b");
    let b = Session::start(SessionOptions::default()).unwrap();
    drop(across);
    drop(record_function!("both"));
    let open = record_function!("open_at_the_stop_of_a");
    let a = a.stop().unwrap();
    drop(open);
    drop(record_function!("only_b"));
    let b = b.stop().unwrap();
    drop(record_function!("nobody"));
    assert_eq!(
        tree_of(&a.recorded),
        [
            "only_a [user_annotation]",
            "across_the_start_of_b [user_annotation]",
            "both [user_annotation]",
            "open_at_the_stop_of_a [user_annotation] (unfinished)",
        ]
    );
    assert_eq!(
        tree_of(&b.recorded),
        [
            "across_the_start_of_b [user_annotation]",
            "both [user_annotation]",
            "open_at_the_stop_of_a [user_annotation]",
            "only_b [user_annotation]",
        ]
    );
}

#[test]
fn each_session_has_its_own_categories() {
    let _turn = turn();
    let only = |category: Category| SessionOptions::default().with_categories(category);
    let annotations = Session::start(only(Category::USER_ANNOTATION)).unwrap();
    let operators = Session::start(only(Category::CPU_OP)).unwrap();
    drop(record_function!("annotation"));
    drop(record_op!("operator"));
    assert_eq!(tree_of(&annotations.stop().unwrap().recorded), ["annotation [user_annotation]"]);
    drop(record_function!("later annotation"));
    assert_eq!(tree_of(&operators.stop().unwrap().recorded), ["operator [cpu_op]"]);
}

#[test]
fn nothing_begins_while_a_category_is_off_and_the_stack_survives() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let outer = record_function!("outer");
    session.set_categories(Categories::ALL - Category::USER_ANNOTATION.into()).unwrap();
    drop(record_function!("in the gap"));
    drop(record_op!("operator in the gap"));
    session.set_categories(Categories::ALL).unwrap();
    drop(record_function!("inner"));
    drop(outer);
    let stopped = session.stop().unwrap();
    assert_eq!(
        tree_of(&stopped.recorded),
        ["outer [user_annotation]", "  operator in the gap [cpu_op]", "  inner [user_annotation]"]
    );
}

#[test]
fn a_filter_keeps_its_threads() {
    let _turn = turn();
    let options = SessionOptions::default().with_threads(ThreadFilter::Current);
    let session = Session::start(options.clone()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| drop(record_function!("elsewhere")));
    });
    drop(record_function!("here"));
    assert_eq!(tree_of(&session.stop().unwrap().recorded), ["here [user_annotation]"]);

    let session = Session::start(options).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| drop(record_function!("elsewhere")));
    });
    let empty = session.stop().unwrap().report.empty.unwrap().to_string();
    assert!(empty.contains("threads that the session's filter leaves out: 1"), "{empty}");
}

#[test]
fn an_empty_recording_says_why() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let empty = session.stop().unwrap().report.empty.unwrap().to_string();
    assert!(empty.contains("no event of the session's categories began"), "{empty}");
}

#[test]
fn two_sessions_cannot_have_two_files() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a.rkr"), folder.path().join("b.rkr"));
    let session = Session::start(SessionOptions::to_file(&first)).unwrap();
    let refused = Session::start(SessionOptions::to_file(&second)).unwrap_err();
    assert!(matches!(refused, StartError::StorageInUse { .. }), "{refused}");
    assert!(!second.exists());
    let shared = Session::start(SessionOptions::default()).unwrap();
    drop(record_function!("shared"));
    assert_eq!(tree_of(&shared.stop().unwrap().recorded), ["shared [user_annotation]"]);
    assert_eq!(tree_of(&session.stop().unwrap().recorded), ["shared [user_annotation]"]);
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_and_not_the_end() {
    let _turn = turn();
    let refused = Session::start(SessionOptions::to_file("/proc/no/such/place.rkr")).unwrap_err();
    assert!(matches!(refused, StartError::Storage { .. }), "{refused}");
    let session = Session::start(SessionOptions::default()).unwrap();
    session.stop().unwrap();
}

#[test]
fn what_is_recorded_outlives_the_session_and_the_next() {
    let _turn = turn();
    let stop = |name: &'static str| {
        let session = Session::start(SessionOptions::default()).unwrap();
        let name = intern(name, Category::USER_ANNOTATION, Scope::UserScope);
        for _ in 0..50_000 {
            drop(begin_named(name, &[]));
        }
        session.stop().unwrap().recorded
    };
    let (first, second) = (stop("first"), stop("second"));
    assert!(tree_of(&first) == ["first [user_annotation]"; 50_000]);
    assert!(tree_of(&second) == ["second [user_annotation]"; 50_000]);
}

#[test]
fn correlation_ids_are_unique_over_threads_and_sessions() {
    let _turn = turn();
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        let session = Session::start(SessionOptions::default()).unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..4 {
                let sender = sender.clone();
                scope.spawn(move || {
                    for _ in 0..100 {
                        let span = record_function!("span");
                        sender.send(span.correlation_id().unwrap()).unwrap();
                    }
                });
            }
        });
        drop(sender);
        let handed_out: Vec<u64> = receiver.iter().collect();
        let stopped = session.stop().unwrap();
        let recording = stopped.recorded.open().unwrap();
        let mut recorded = BTreeSet::new();
        for thread in recording.threads() {
            let mut replay = recording.replay(thread, stopped.recorded.cut());
            while let Some((event, _)) = replay.next() {
                if let What::Begin { id, .. } = event.what {
                    recorded.insert(id);
                }
            }
        }
        assert_eq!(recorded, handed_out.iter().copied().collect());
        for id in handed_out {
            assert!(seen.insert(id), "{id} twice");
        }
    }
}

#[test]
fn a_snapshot_is_a_prefix_of_what_a_thread_records() {
    let _turn = turn();
    let session = Session::start(SessionOptions::default()).unwrap();
    let name = intern("tick", Category::CPU_INSTANT_EVENT, Scope::Function);
    let key = intern("count", Category::CPU_OP, Scope::Function);
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            for count in 0..400_000_i64 {
                instant(name, &[(key, count.into())]);
            }
        });
        let mut seen = 0;
        while !writer.is_finished() {
            let snapshot = session.snapshot().unwrap();
            let counts = counts(&snapshot, key);
            assert!(counts.iter().copied().eq(0..counts.len() as i64), "a prefix, in order");
            assert!(counts.len() >= seen, "snapshots only grow");
            seen = counts.len();
        }
    });
    assert_eq!(counts(&session.stop().unwrap().recorded, key).len(), 400_000);
}

fn counts(recorded: &Recorded, key: NameId) -> Vec<i64> {
    use rankscope_formats::recording::ArgView;
    let recording = recorded.open().unwrap();
    let mut counts = Vec::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((_, args)) = replay.next() {
            counts.extend(args.iter().filter(|(of, _)| *of == key).map(|(_, value)| match value {
                ArgView::I64(count) => count,
                other => panic!("{other:?}"),
            }));
        }
    }
    counts
}

#[test]
fn a_full_recording_drops_whole_spans_and_counts_them() {
    let _turn = turn();
    let overflow = Overflow::Stop { max_bytes: 1 << 20 };
    let session = Session::start(SessionOptions::default().with_overflow(overflow).with_storage(Storage::Memory)).unwrap();
    let attempted = 100_000;
    for _ in 0..attempted {
        let _outer = record_function!("outer");
        let _inner = record_function!("inner");
    }
    let stopped = session.stop().unwrap();
    let kept = tree_of(&stopped.recorded);
    assert!(kept.iter().all(|line| line.ends_with(']')), "a begin that is kept has its end");
    assert_eq!(kept.len() as u64 + stopped.report.dropped(), 2 * attempted);
    assert_eq!(stopped.report.drops[0].0, "full");
}

#[test]
fn a_ring_keeps_the_last() {
    let _turn = turn();
    let overflow = Overflow::Ring { max_bytes: 1 << 20, keep: std::time::Duration::from_secs(60) };
    let session = Session::start(SessionOptions::default().with_overflow(overflow)).unwrap();
    let key = intern("count", Category::CPU_OP, Scope::Function);
    let name = intern("lap", Category::USER_ANNOTATION, Scope::UserScope);
    let laps = 300_000_i64;
    for count in 0..laps {
        drop(begin_named(name, &[(key, count.into())]));
    }
    let stopped = session.stop().unwrap();
    let kept = counts(&stopped.recorded, key);
    let first = laps - kept.len() as i64;
    assert!(kept.len() > 20_000 && kept.iter().copied().eq(first..laps), "{} kept from {first}", kept.len());
    assert_eq!(stopped.report.drops[0].0, "overwritten");
    let chunk = rankscope_formats::recording::CHUNK_BYTES as u64;
    assert!(stopped.report.bytes <= (1 << 20) + 2 * chunk, "a ring is as large as it was asked to be");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::default() })]

    /// Any order of starting, stopping, opening and closing: each session has exactly the spans that meet its window.
    #[test]
    fn windows_cut_as_an_oracle_does(steps in prop::collection::vec(0_u8..4, 1..60)) {
        let _turn = turn();
        let mut sessions = Vec::new();
        let mut open: Vec<(usize, _)> = Vec::new();
        // When each span began and ended, and each session started and stopped, in steps; a span only exists if a session ran.
        let mut lives: Vec<(usize, usize)> = Vec::new();
        let mut expected = Vec::new();
        let mut stopped = Vec::new();
        for (now, step) in steps.iter().enumerate() {
            match step {
                0 => sessions.push((now, Session::start(SessionOptions::default()).unwrap())),
                1 if !sessions.is_empty() => {
                    let (start, session) = sessions.remove(0);
                    expected.push((start, now));
                    stopped.push(session.stop().unwrap().recorded);
                }
                2 => {
                    let name = intern(&format!("span {}", lives.len()), Category::USER_ANNOTATION, Scope::UserScope);
                    if let Some(span) = begin_raw(name, &[]) {
                        open.push((lives.len(), span));
                        lives.push((now, usize::MAX));
                    }
                }
                _ => {
                    if let Some((at, span)) = open.pop() {
                        end_raw(span, &[]);
                        lives[at].1 = now;
                    }
                }
            }
            if sessions.is_empty() {
                // The recording is over, and with it what was open.
                open.clear();
            }
        }
        for (_, session) in sessions {
            session.stop().unwrap();
        }
        for ((start, stop), recorded) in expected.iter().zip(&stopped) {
            let meets = lives.iter().enumerate().filter(|(_, (begin, end))| begin < stop && end > start);
            // A span that was left open when an earlier recording ended is not in this one.
            let first = first_of_recording(&steps, *start);
            let cut = |end: usize| if end > *stop { " (unfinished)" } else { "" };
            let wanted: BTreeSet<String> = meets
                .filter(|(_, (begin, _))| *begin > first)
                .map(|(at, (_, end))| format!("span {at} [user_annotation]{}", cut(*end)))
                .collect();
            let lines: BTreeSet<String> = tree_of(recorded).iter().map(|line| line.trim_start().to_owned()).collect();
            prop_assert_eq!(lines, wanted);
        }
    }
}

/// The step at which the recording began that was running right after step `at`.
fn first_of_recording(steps: &[u8], at: usize) -> usize {
    let (mut running, mut first) = (0, 0);
    for (now, step) in steps.iter().enumerate().take(at + 1) {
        match step {
            0 => {
                if running == 0 {
                    first = now;
                }
                running += 1;
            }
            1 if running > 0 => running -= 1,
            _ => {}
        }
    }
    first
}
