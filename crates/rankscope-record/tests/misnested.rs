//! Guards that go in any order, ends that nobody should have asked for, and ends that are the begin of the next: every span has its own
//! begin and its own end.
//!
//! One process has one recorder, so these tests take turns.
#![expect(clippy::unwrap_used, reason = "a test")]

mod tree;

use std::collections::BTreeMap;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::{Barrier, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread;

use proptest::prelude::*;
use rankscope_formats::recording::{Cut, LiveFile, Recording, What};
use rankscope_record::{
    Category, OpenSpan, Overflow, Recorded, Scope, Session, SessionOptions, Site, SpanGuard, Stopped, Value, begin_named,
    begin_raw, end_raw, intern, intern_key, record_function, record_next, ticks,
};
use tree::tree;

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A span as it was recorded.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    name: String,
    begin: u64,
    end: u64,
    finished: bool,
    args: usize,
}

/// All spans, by their correlation id.
fn spans(recorded: &Recorded) -> BTreeMap<u64, Found> {
    let recording = recorded.open().unwrap();
    let mut spans = BTreeMap::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        let mut open = Vec::new();
        while let Some((event, args)) = replay.next() {
            match event.what {
                What::Begin { id, .. } => open.push((id, event, args.iter().count())),
                What::End { unfinished, above } => {
                    let (id, begin, begun_with) = open.remove(open.len() - 1 - above as usize);
                    let name = recording.names()[begin.name.0 as usize].text.to_string();
                    let args = begun_with + args.iter().count();
                    let found = Found { name, begin: begin.tick, end: event.tick, finished: !unfinished, args };
                    assert_eq!(spans.insert(id, found), None, "a span comes once");
                }
                _ => {}
            }
        }
        assert!(open.is_empty(), "every begin has an end or a cut");
    }
    spans
}

fn tree_of(recorded: &Recorded) -> Vec<String> {
    tree(&recorded.open().unwrap(), recorded.cut())
}

fn recorded(record: impl FnOnce()) -> (BTreeMap<u64, Found>, Stopped) {
    let session = Session::start(SessionOptions::default()).unwrap();
    record();
    let stopped = session.stop().unwrap();
    assert_eq!(stopped.report.dropped(), 0);
    (spans(&stopped.recorded), stopped)
}

fn named<'a>(spans: &'a BTreeMap<u64, Found>, name: &str) -> &'a Found {
    let mut found = spans.values().filter(|span| span.name == name);
    let first = found.next().unwrap();
    assert!(found.next().is_none(), "one span is called {name}");
    first
}

#[test]
fn a_guard_that_is_assigned_to_ends_the_span_it_held() {
    let _turn = turn();
    let mut at = Vec::new();
    let (spans, stopped) = recorded(|| {
        at.push(ticks());
        let mut _phase = record_function!("phase 1");
        at.push(ticks());
        _phase = record_function!("phase 2");
        at.push(ticks());
        _phase = record_function!("phase 3");
        at.push(ticks());
        drop(_phase);
        at.push(ticks());
    });
    for (number, name) in (0..).zip(["phase 1", "phase 2", "phase 3"]) {
        let phase = named(&spans, name);
        assert!((at[number]..=at[number + 1]).contains(&phase.begin), "{name} began when it did: {phase:?} {at:?}");
        assert!((at[number + 1]..=at[number + 2]).contains(&phase.end), "{name} ended when it did: {phase:?} {at:?}");
    }
    assert_eq!(
        tree_of(&stopped.recorded),
        [
            "phase 1 [user_annotation] (overlaps phase 2)",
            "  phase 2 [user_annotation] (overlaps phase 3)",
            "    phase 3 [user_annotation]",
        ]
    );
    assert_eq!((stopped.report.remarks.misnested, stopped.report.remarks.misuse), (2, 0));
    assert_eq!(stopped.report.remarks.to_string(), "2 spans ended out of order (with their true ends)");
}

#[test]
fn a_struct_that_holds_guards_ends_each_in_its_turn() {
    struct Both {
        _first: SpanGuard,
        _second: SpanGuard,
    }
    let _turn = turn();
    let (_, stopped) = recorded(|| {
        let both = Both { _first: record_function!("first"), _second: record_function!("second") };
        drop(both);
        drop(record_function!("after"));
    });
    assert_eq!(
        tree_of(&stopped.recorded),
        ["first [user_annotation] (overlaps second)", "  second [user_annotation]", "after [user_annotation]"]
    );
    assert_eq!(stopped.report.remarks.misnested, 1);
}

/// Is pending until it was polled so often.
struct Polls(usize);

impl Future for Polls {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[test]
fn futures_that_hold_guards_and_take_turns_keep_their_lengths() {
    async fn held(name: &'static str, polls: usize) -> (u64, u64) {
        let name = intern(name, Category::USER_ANNOTATION, Scope::UserScope);
        let begun = ticks();
        let span = begin_named(name, &[]);
        Polls(polls).await;
        drop(span);
        (begun, ticks())
    }
    let _turn = turn();
    let mut truth = Vec::new();
    let (spans, stopped) = recorded(|| {
        let mut both = [(pin!(held("short", 2)), None), (pin!(held("long", 9)), None)];
        let mut context = Context::from_waker(Waker::noop());
        while both.iter().any(|(_, done)| done.is_none()) {
            for (future, done) in both.iter_mut().filter(|(_, done)| done.is_none()) {
                if let Poll::Ready(times) = future.as_mut().poll(&mut context) {
                    *done = Some(times);
                }
            }
        }
        truth.extend(both.map(|(_, done)| done.unwrap()));
    });
    let [short, long] = ["short", "long"].map(|name| named(&spans, name));
    for (span, (begun, ended)) in [(short, truth[0]), (long, truth[1])] {
        assert!(begun <= span.begin && span.end <= ended);
    }
    assert_eq!(tree_of(&stopped.recorded), ["short [user_annotation] (overlaps long)", "  long [user_annotation]"]);
}

#[test]
fn an_end_on_another_thread_or_a_second_one_ends_nothing() {
    let _turn = turn();
    let [raw, outer, inner] = ["raw", "outer", "mine"].map(|name| intern(name, Category::CPU_OP, Scope::Function));
    let mut truth = (0, 0);
    let (spans, stopped) = recorded(|| {
        let span = begin_raw(raw, &[]).unwrap();
        // On a thread that records, on one that never has, and then where it belongs, twice.
        thread::scope(|scope| {
            scope.spawn(|| {
                let mine = begin_raw(inner, &[]).unwrap();
                end_raw(span, &[]);
                truth.0 = ticks();
                end_raw(mine, &[]);
            });
        });
        thread::scope(|scope| {
            scope.spawn(|| {
                end_raw(OpenSpan::NONE, &[]);
                end_raw(span, &[]);
            });
        });
        let around = begin_named(outer, &[]);
        drop(around);
        let around = begin_raw(outer, &[]).unwrap();
        end_raw(span, &[]);
        end_raw(span, &[]);
        truth.1 = ticks();
        end_raw(around, &[]);
    });
    assert_eq!((stopped.report.remarks.misuse, stopped.report.remarks.misnested), (3, 1));
    assert!(named(&spans, "mine").end >= truth.0);
    let raw = named(&spans, "raw");
    assert!(raw.end <= truth.1);
    assert_eq!(
        tree_of(&stopped.recorded),
        ["thread", "  raw [cpu_op] (overlaps outer)", "    outer [cpu_op]", "    outer [cpu_op]", "thread", "  mine [cpu_op]",]
    );
    let last = spans.values().filter(|span| span.name == "outer").map(|span| span.end).max();
    assert!(last >= Some(truth.1));
    let said =
        stopped.recorded.open().unwrap().remarks().iter().map(|(remark, _, count)| (remark.name(), *count)).collect::<Vec<_>>();
    let misuse: u64 = said.iter().filter(|(name, _)| *name == "misuse").map(|(_, count)| count).sum();
    assert!(misuse >= 3 && said.iter().any(|(name, _)| *name == "misnested"), "the recording says so too: {said:?}");
}

#[test]
fn a_span_is_of_the_thread_that_began_it_until_it_is_ended() {
    let _turn = turn();
    let name = intern("raw", Category::CPU_OP, Scope::Function);
    recorded(|| {
        let (outer, inner) = (begin_raw(name, &[]).unwrap(), begin_raw(name, &[]).unwrap());
        let (recording, correlation_id) = outer.parts();
        assert_eq!(OpenSpan::of_parts(recording, correlation_id), outer);
        assert!(outer.is_of_this_thread() && inner.is_of_this_thread() && !OpenSpan::NONE.is_of_this_thread());
        assert!(!OpenSpan::of_parts(recording + 1, correlation_id).is_of_this_thread(), "that recording is another one");
        thread::scope(|scope| {
            let elsewhere = scope.spawn(|| {
                let own = begin_raw(name, &[]).unwrap();
                let found = (own.is_of_this_thread(), outer.is_of_this_thread());
                end_raw(own, &[]);
                found
            });
            assert_eq!(elsewhere.join().unwrap(), (true, false));
        });
        end_raw(outer, &[]);
        assert!(!outer.is_of_this_thread() && inner.is_of_this_thread());
        end_raw(inner, &[]);
    });
}

#[test]
fn a_guard_that_is_forgotten_takes_no_other_span_with_it() {
    let _turn = turn();
    let (_, stopped) = recorded(|| {
        let around = record_function!("around");
        mem::forget(record_function!("forgotten"));
        drop(record_function!("inside"));
        drop(around);
        drop(record_function!("behind"));
    });
    assert_eq!(
        tree_of(&stopped.recorded),
        [
            "around [user_annotation] (overlaps forgotten)",
            "  forgotten [user_annotation] (unfinished)",
            "    inside [user_annotation]",
            "    behind [user_annotation]",
        ]
    );
}

#[test]
fn guards_of_an_older_recording_end_nothing_in_the_next() {
    let _turn = turn();
    let mut old = Vec::new();
    let (_, first) = recorded(|| old.extend([record_function!("old"), record_function!("older")]));
    assert_eq!(first.report.remarks.misnested, 0);
    let (_, stopped) = recorded(|| {
        let outer = record_function!("outer");
        // Two sessions over one recording: what began under the first ends under the second.
        let second = Session::start(SessionOptions::default()).unwrap();
        let inner = record_function!("inner");
        drop(old.remove(0));
        drop(outer);
        second.stop().unwrap();
        drop(inner);
        drop(mem::take(&mut old));
    });
    assert_eq!((stopped.report.remarks.misnested, stopped.report.remarks.misuse), (1, 0));
    assert_eq!(tree_of(&stopped.recorded), ["outer [user_annotation] (overlaps inner)", "  inner [user_annotation]"]);
}

#[test]
fn a_guard_knows_its_own_correlation_id() {
    let _turn = turn();
    let mut ids = Vec::new();
    let (spans, _) = recorded(|| {
        let outer = record_function!("outer");
        let inner = record_function!("inner");
        ids.extend([outer.correlation_id().unwrap(), inner.correlation_id().unwrap()]);
        drop((inner, outer));
    });
    assert_eq!([&spans[&ids[0]].name[..], &spans[&ids[1]].name], ["outer", "inner"]);
}

#[test]
fn a_live_file_has_the_ends_that_came_out_of_order() {
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.live");
    let session = Session::start(SessionOptions::to_file(&file)).unwrap();
    let (outer, inner) = (record_function!("outer"), record_function!("inner"));
    drop(outer);
    // What a kill would leave at this moment.
    let live = LiveFile::open(std::fs::File::open(&file).unwrap()).unwrap();
    let recording = Recording::open(live).unwrap();
    assert_eq!(
        tree(&recording, &Cut::everything()),
        ["outer [user_annotation] (overlaps inner)", "  inner [user_annotation] (unfinished)"]
    );
    drop(inner);
    session.stop().unwrap();
}

/// What a thread does.
#[derive(Clone, Debug)]
enum Deed {
    Begin { raw: bool },
    End { which: usize, args: usize },
    EndAgain,
    Forget { which: usize },
    EndOfNeighbour,
}

/// A span a thread holds.
enum Held {
    Guard(SpanGuard),
    Raw(OpenSpan),
}

/// When a span began and ended, as nearly as can be told from outside.
#[derive(Clone, Copy, Debug)]
struct Shadow {
    begin: (u64, u64),
    end: Option<(u64, u64)>,
    args: usize,
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        6 => any::<bool>().prop_map(|raw| Deed::Begin { raw }),
        4 => (any::<usize>(), 0_usize..3).prop_map(|(which, args)| Deed::End { which, args }),
        2 => Just(Deed::End { which: usize::MAX, args: 0 }),
        1 => Just(Deed::EndAgain),
        1 => any::<usize>().prop_map(|which| Deed::Forget { which }),
        1 => Just(Deed::EndOfNeighbour),
    ]
}

/// Does what it is told, and keeps a log beside. `neighbour` is a span of another thread.
fn act(deeds: &[Deed], neighbour: OpenSpan) -> (BTreeMap<u64, Shadow>, u64) {
    let name = intern("any order", Category::CPU_OP, Scope::Function);
    let key = intern_key("argument");
    let (mut held, mut ended, mut log, mut misuse) = (Vec::<(u64, Held)>::new(), None, BTreeMap::new(), 0);
    for deed in deeds {
        let before = ticks();
        match deed {
            // Spilled: more than the levels that a lane has of its own.
            Deed::Begin { .. } if held.len() >= 60 => {}
            Deed::Begin { raw } => {
                let span = if *raw { Held::Raw(begin_raw(name, &[]).unwrap()) } else { Held::Guard(begin_named(name, &[])) };
                let id = match &span {
                    Held::Guard(guard) => guard.correlation_id().unwrap(),
                    Held::Raw(open) => open.correlation_id(),
                };
                held.push((id, span));
                log.insert(id, Shadow { begin: (before, ticks()), end: None, args: 0 });
            }
            Deed::End { .. } | Deed::Forget { .. } if held.is_empty() => {}
            Deed::End { which, args } => {
                let at = if *which == usize::MAX { held.len() - 1 } else { which % held.len() };
                let (id, span) = held.remove(at);
                let given = vec![(key, Value::Bool(true)); *args];
                match span {
                    Held::Raw(open) => {
                        end_raw(open, &given);
                        ended = Some(open);
                    }
                    Held::Guard(guard) => guard.end_with(&given),
                }
                let of = log.get_mut(&id).unwrap();
                (of.end, of.args) = (Some((before, ticks())), *args);
            }
            Deed::Forget { which } => {
                let at = which % held.len();
                mem::forget(held.remove(at));
            }
            Deed::EndAgain => {
                if let Some(open) = ended {
                    end_raw(open, &[]);
                    misuse += 1;
                }
            }
            Deed::EndOfNeighbour => {
                end_raw(neighbour, &[]);
                misuse += 1;
            }
        }
    }
    // What is left is never ended by its thread.
    held.into_iter().for_each(mem::forget);
    (log, misuse)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_span_has_the_begin_and_the_end_of_its_own(
        threads in prop::collection::vec(prop::collection::vec(deed(), 0..250), 1..4)
    ) {
        let _turn = turn();
        let session = Session::start(SessionOptions::default()).unwrap();
        let name = intern("neighbour", Category::CPU_OP, Scope::Function);
        let neighbour = begin_raw(name, &[]).unwrap();
        let together = Barrier::new(threads.len());
        let logs: Vec<_> = thread::scope(|scope| {
            let start = |deeds: &'static [Deed]| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    act(deeds, neighbour)
                })
            };
            // Leaked: a few kilobytes.
            let workers: Vec<_> = threads.into_iter().map(|deeds| start(deeds.leak())).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        end_raw(neighbour, &[]);
        let stopped = session.stop().unwrap();
        let mut found = spans(&stopped.recorded);
        prop_assert!(found.remove(&neighbour.correlation_id()).unwrap().finished);
        prop_assert_eq!(stopped.report.remarks.misuse, logs.iter().map(|(_, misuse)| misuse).sum::<u64>());
        for (id, shadow) in logs.iter().flat_map(|(log, _)| log) {
            let span = found.remove(id).unwrap();
            prop_assert!((shadow.begin.0..=shadow.begin.1).contains(&span.begin), "{:?} {:?}", span, shadow);
            prop_assert_eq!((span.finished, span.args), (shadow.end.is_some(), shadow.args));
            if let Some(end) = shadow.end {
                prop_assert!((end.0..=end.1).contains(&span.end), "{:?} {:?}", span, shadow);
            }
        }
        prop_assert!(found.is_empty(), "nothing else was recorded: {:?}", found);
    }
}

#[test]
fn what_comes_next_begins_as_the_one_before_ends() {
    let _turn = turn();
    let (spans, stopped) = recorded(|| {
        let _step = record_function!("step");
        let span = record_function!("forward");
        let span = record_next!(span, "backward");
        let inner = record_function!("inner");
        let inner = record_next!(inner, "inner, again");
        drop(inner);
        let _span = record_next!(span, "optimizer", fused = true);
    });
    let [step, forward, backward, inner, again, optimizer] =
        ["step", "forward", "backward", "inner", "inner, again", "optimizer"].map(|name| named(&spans, name));
    assert_eq!((forward.end, inner.end), (backward.begin, again.begin), "one reading of the clock");
    assert!(again.end <= backward.end && backward.end <= optimizer.begin && optimizer.end <= step.end);
    assert_eq!((optimizer.args, spans.values().all(|span| span.finished)), (1, true));
    assert_eq!((stopped.report.events(), stopped.report.remarks.misnested), (6, 0));
}

#[test]
fn what_comes_next_is_recorded_by_its_own_category_and_session() {
    let _turn = turn();
    static CALL: Site = Site::new("call", Category::CUDA_RUNTIME);
    let before = record_function!("before");
    let session = Session::start(SessionOptions::default().with_categories(Category::USER_ANNOTATION.alone())).unwrap();
    let span = record_next!(before, "first");
    assert!(span.is_recording(), "it begins where what was before was not recorded");
    let span = span.then(&CALL);
    assert!(!span.is_recording(), "a category that is not wanted");
    let last = record_next!(span, "last");
    let stopped = session.stop().unwrap();
    assert!(!record_next!(last, "after").is_recording());
    let found = spans(&stopped.recorded);
    assert_eq!(
        found.values().map(|span| (&span.name[..], span.finished)).collect::<Vec<_>>(),
        [("first", true), ("last", false)]
    );
    assert_eq!(stopped.report.dropped(), 0);
}

#[test]
fn what_comes_next_may_end_one_that_is_not_the_innermost() {
    let _turn = turn();
    let (spans, stopped) = recorded(|| {
        let outer = record_function!("outer");
        let inner = record_function!("inner");
        let next = record_next!(outer, "next");
        drop(inner);
        drop(next);
    });
    let [outer, inner, next] = ["outer", "inner", "next"].map(|name| named(&spans, name));
    assert!(outer.begin <= inner.begin && outer.end <= next.begin && next.begin <= inner.end && inner.end <= next.end);
    assert!(stopped.report.remarks.misnested > 0);
}

#[test]
fn of_what_comes_next_none_is_lost_uncounted_in_a_full_recording() {
    const NEXT: u64 = 50_000;
    let _turn = turn();
    let overflow = Overflow::Stop { max_bytes: 1 << 18 };
    let session = Session::start(SessionOptions::default().with_overflow(overflow)).unwrap();
    let mut span = record_function!("first");
    for _ in 0..NEXT {
        span = record_next!(span, "next");
    }
    drop(span);
    let stopped = session.stop().unwrap();
    let found = spans(&stopped.recorded);
    assert!(stopped.report.dropped() > NEXT / 2 && found.len() > 1_000, "{} recorded", found.len());
    assert_eq!(found.len() as u64 + stopped.report.dropped(), NEXT + 1);
    assert!(found.values().all(|span| span.finished && span.begin <= span.end));
}
