//! What a report counts is what its session exports: of its window, its categories and its threads, whoever else records.
#![expect(clippy::unwrap_used, reason = "a test of reports")]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use proptest::prelude::*;
use rankscope_formats::recording::What;
use rankscope_record::{
    Categories, Category, OpenSpan, Overflow, Recorded, Scope, Session, SessionOptions, Stopped, ThreadFilter, begin_raw,
    end_raw, instant, intern, record_function, record_op,
};

const CATEGORIES: [Category; 3] = [Category::USER_ANNOTATION, Category::CPU_OP, Category::CPU_INSTANT_EVENT];

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Events in what is exported.
fn exported(recorded: &Recorded) -> u64 {
    let recording = recorded.open().unwrap();
    let mut events = 0;
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, _)) = replay.next() {
            events += u64::from(!matches!(event.what, What::End { .. }));
        }
    }
    events
}

fn only(category: Category) -> SessionOptions {
    SessionOptions::default().with_categories(category)
}

#[test]
fn a_session_counts_its_own_categories_beside_one_of_all() {
    let _turn = turn();
    let (all, ops) = (Session::start(SessionOptions::default()).unwrap(), Session::start(only(Category::CPU_OP)).unwrap());
    drop(record_function!("function"));
    drop(record_op!("op"));
    let (ops, all) = (ops.stop().unwrap(), all.stop().unwrap());
    assert_eq!([all.report.events(), ops.report.events()], [2, 1]);
    assert_eq!([exported(&all.recorded), exported(&ops.recorded)], [2, 1]);
}

#[test]
fn a_session_that_got_nothing_of_what_others_did_says_so() {
    let _turn = turn();
    let (all, ops) = (Session::start(SessionOptions::default()).unwrap(), Session::start(only(Category::CPU_OP)).unwrap());
    drop(record_function!("function"));
    let empty = ops.stop().unwrap().report.empty.unwrap().to_string();
    assert!(empty.contains("categories that other sessions asked for"), "{empty}");
    let here = Session::start(SessionOptions::default().with_threads(ThreadFilter::Current)).unwrap();
    thread::spawn(|| drop(record_function!("elsewhere"))).join().unwrap();
    let empty = here.stop().unwrap().report.empty.unwrap().to_string();
    assert!(empty.contains("on threads that the session's filter leaves out"), "{empty}");
    assert_eq!(all.stop().unwrap().report.events(), 2);
}

#[test]
fn a_ring_counts_what_it_still_has() {
    let _turn = turn();
    let overflow = Overflow::Ring { max_bytes: 1 << 20, keep: std::time::Duration::from_secs(600) };
    let session = Session::start(SessionOptions::default().with_overflow(overflow)).unwrap();
    const SPANS: u64 = 200_000;
    (0..SPANS).for_each(|_| drop(record_function!("lap")));
    let Stopped { report, recorded } = session.stop().unwrap();
    assert_eq!(report.events(), exported(&recorded));
    assert!(report.events() + report.overwritten() == SPANS && report.overwritten() > 0, "{report:?}");
}

/// What somebody does next.
#[derive(Clone, Debug)]
enum Step {
    Start { categories: u8, threads: u8 },
    Stop(usize),
    Change(usize, u8),
    Begin { thread: usize, category: usize },
    End { thread: usize },
    Instant { thread: usize, category: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let (thread, category) = (0..2_usize, 0..CATEGORIES.len());
    prop_oneof![
        2 => (1..8_u8, 0..4_u8).prop_map(|(categories, threads)| Step::Start { categories, threads }),
        1 => (0..4_usize).prop_map(Step::Stop),
        1 => (0..4_usize, 1..8_u8).prop_map(|(at, categories)| Step::Change(at, categories)),
        4 => (thread.clone(), category.clone()).prop_map(|(thread, category)| Step::Begin { thread, category }),
        3 => thread.clone().prop_map(|thread| Step::End { thread }),
        2 => (thread, category).prop_map(|(thread, category)| Step::Instant { thread, category }),
    ]
}

/// A thread that does one thing at a time; the first of them is the test's own.
struct Worker {
    tid: u64,
    deeds: Sender<Deed>,
    done: Receiver<()>,
}

#[derive(Clone, Copy)]
enum Deed {
    Begin(usize),
    End,
    Instant(usize),
    /// The recording is over, and with it what was open.
    Forget,
}

fn act(deed: Deed, open: &mut Vec<OpenSpan>) {
    let named = |category: usize| intern("event", CATEGORIES[category], Scope::Function);
    match deed {
        Deed::Begin(category) => open.extend(begin_raw(named(category), &[])),
        Deed::End => open.pop().into_iter().for_each(|span| end_raw(span, &[])),
        Deed::Instant(category) => instant(named(category), &[]),
        Deed::Forget => open.clear(),
    }
}

impl Worker {
    fn spawn() -> Self {
        let ((deeds, received), (finished, done), (said, tid)) = (channel(), channel(), channel());
        thread::spawn(move || {
            said.send(own_tid()).unwrap();
            let mut open = Vec::new();
            for deed in received {
                act(deed, &mut open);
                finished.send(()).unwrap();
            }
        });
        Self { tid: tid.recv().unwrap(), deeds, done }
    }

    fn act(&self, deed: Deed) {
        self.deeds.send(deed).unwrap();
        self.done.recv().unwrap();
    }
}

fn own_tid() -> u64 {
    let link = std::fs::read_link("/proc/thread-self").unwrap();
    link.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

/// An event as the model knows it, in steps.
struct Event {
    thread: usize,
    category: usize,
    from: usize,
    to: usize,
}

/// A session as the model knows it.
struct Model {
    session: Session,
    start: usize,
    changes: Vec<(usize, u8)>,
    threads: u8,
}

impl Model {
    fn wants(&self, event: &Event, now: usize) -> bool {
        // What began before the session falls under what it asked for first.
        let change = self.changes.iter().rev().find(|(at, _)| *at <= event.from).unwrap_or(&self.changes[0]);
        let in_window = event.to > self.start && event.from < now;
        in_window && change.1 & (1 << event.category) != 0 && self.has(event.thread)
    }

    fn has(&self, thread: usize) -> bool {
        match self.threads {
            1 => thread == 0,
            2 => thread == 1,
            _ => true,
        }
    }
}

fn asked(bits: u8) -> Categories {
    let wanted = CATEGORIES.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0);
    wanted.fold(Categories::NONE, |all, (_, category)| all | category.alone())
}

/// Whose events there are, by a model that knows steps and no ticks.
fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let worker = Worker::spawn();
    let (mut own, mut sessions) = (Vec::new(), Vec::<Model>::new());
    let (mut events, mut open) = (Vec::<Event>::new(), [const { Vec::<usize>::new() }; 2]);
    for (now, step) in (1..).zip(steps) {
        let union = sessions.iter().fold(0, |all, model| all | model.changes.last().unwrap().1);
        let mut tell = |thread: usize, deed| if thread == 0 { act(deed, &mut own) } else { worker.act(deed) };
        match *step {
            Step::Start { categories, threads } => {
                let filter = match threads {
                    1 => ThreadFilter::Current,
                    2 => ThreadFilter::Only(vec![worker.tid]),
                    _ => ThreadFilter::All,
                };
                let options = SessionOptions::default().with_categories(asked(categories)).with_threads(filter);
                let session = Session::start(options).unwrap();
                sessions.push(Model { session, start: now, changes: vec![(now, categories)], threads });
            }
            Step::Stop(at) if at < sessions.len() => {
                stopped(sessions.remove(at), &events, now)?;
                if sessions.is_empty() {
                    (0..2).for_each(|thread| tell(thread, Deed::Forget));
                    (events, open) = (Vec::new(), [const { Vec::new() }; 2]);
                }
            }
            Step::Change(at, categories) if at < sessions.len() => {
                sessions[at].session.set_categories(asked(categories)).unwrap();
                sessions[at].changes.push((now, categories));
            }
            Step::Begin { thread, category } => {
                tell(thread, Deed::Begin(category));
                if union & (1 << category) != 0 {
                    open[thread].push(events.len());
                    events.push(Event { thread, category, from: now, to: usize::MAX });
                }
            }
            Step::End { thread } => {
                tell(thread, Deed::End);
                open[thread].pop().into_iter().for_each(|at| events[at].to = now);
            }
            Step::Instant { thread, category } => {
                tell(thread, Deed::Instant(category));
                if union & (1 << category) != 0 {
                    events.push(Event { thread, category, from: now, to: now });
                }
            }
            _ => {}
        }
    }
    sessions.into_iter().try_for_each(|model| stopped(model, &events, usize::MAX))
}

fn stopped(model: Model, events: &[Event], now: usize) -> Result<(), TestCaseError> {
    let Stopped { report, recorded } = model.session.stop().unwrap();
    let expected = events.iter().filter(|event| model.wants(event, now)).count() as u64;
    prop_assert_eq!((report.events(), exported(&recorded)), (expected, expected));
    prop_assert_eq!(report.empty.is_some(), expected == 0);
    prop_assert_eq!(report.dropped(), 0);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: proptest::test_runner::RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_report_counts_what_its_session_exports(steps in prop::collection::vec(step(), 1..60)) {
        let _turn = turn();
        check(&steps)?;
    }
}
