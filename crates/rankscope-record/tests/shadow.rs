//! Whatever threads record comes out again as they recorded it: a log kept beside says what that was.
#![expect(clippy::unwrap_used, reason = "a test of recordings")]

use std::thread;

use proptest::prelude::*;
use rankscope_formats::recording::{ArgView, Args, Chunks, CounterValue, Cut, FlowStage, Recording, Thread, What};
use rankscope_record::{
    Category, Scope, Session, SessionOptions, Value, begin_named, counter_f64, counter_i64, flow, instant, intern, intern_key,
    set_thread_name,
};

const NAMES: [&str; 5] = ["forward", "rückwärts", "a \"quoted\"\nname", "", "all_reduce"];
const KEYS: [&str; 3] = ["rows", "Input Dims", "λ"];
const DEPTH_MAX: usize = 64;

/// What a thread is told to do.
#[derive(Clone, Debug)]
enum Deed {
    Begin(usize, Vec<(usize, Given)>),
    End(Vec<(usize, Given)>),
    Instant(usize, Vec<(usize, Given)>),
    Count(usize, i64),
    Measure(usize, f64),
    Flow(usize, u64),
}

/// A value of an argument, owned.
#[derive(Clone, Debug, PartialEq)]
enum Given {
    I64(i64),
    U64(u64),
    F64(f64),
    Bool(bool),
    Name(usize),
    Text(String),
    Bytes(Vec<u8>),
    I64s(Vec<i64>),
}

/// An event as the log has it and as the recording must have it: names as texts.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    what: &'static str,
    name: String,
    value: Option<f64>,
    args: Vec<(String, String)>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn recordings_equal_the_log_kept_beside_them(threads in prop::collection::vec(prop::collection::vec(deed(), 0..400), 1..5)) {
        let session = Session::start(SessionOptions::default()).unwrap();
        let logs: Vec<Vec<Entry>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..).zip(&threads).map(|(index, deeds)| scope.spawn(move || act(index, deeds))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let stopped = session.stop().unwrap();
        prop_assert_eq!(stopped.report.dropped(), 0);
        let recording = stopped.recorded.open().unwrap();
        for (index, log) in (0..).zip(&logs) {
            let thread = recording.threads().iter().find(|thread| thread.name == name_of(index));
            let found = thread.map_or_else(Vec::new, |thread| read(&recording, thread, stopped.recorded.cut()));
            prop_assert_eq!(&found, log, "thread {}", index);
        }
        prop_assert_eq!(recording.lost_chunks(), 0);
    }
}

fn name_of(index: usize) -> String {
    format!("shadowed {index}")
}

/// Does what it is told and logs it. An end with nothing open, or a begin too deep, is not done.
fn act(index: usize, deeds: &[Deed]) -> Vec<Entry> {
    set_thread_name(&name_of(index));
    let names = NAMES.map(|name| intern(name, Category::CPU_OP, Scope::Function));
    let keys = KEYS.map(intern_key);
    let lent = |args: &'_ [(usize, Given)]| -> Vec<(rankscope_record::NameId, Value<'static>)> {
        // Leaked: a few kilobytes, and values that live as long as the test needs no second kind of value.
        args.iter().map(|(key, given)| (keys[*key], given.clone().leaked(&names))).collect()
    };
    let (mut open, mut log) = (Vec::new(), Vec::new());
    for deed in deeds {
        match deed {
            Deed::Begin(name, args) if open.len() < DEPTH_MAX => {
                open.push(begin_named(names[*name], &lent(args)));
                log.push(entry("begin", NAMES[*name], None, args));
            }
            Deed::End(args) if !open.is_empty() => {
                let span = open.pop().unwrap();
                if args.is_empty() {
                    drop(span)
                } else {
                    span.end_with(&lent(args))
                }
                log.push(entry("end", "", None, args));
            }
            Deed::Begin(..) | Deed::End(_) => {}
            Deed::Instant(name, args) => {
                instant(names[*name], &lent(args));
                log.push(entry("instant", NAMES[*name], None, args));
            }
            Deed::Count(name, value) => {
                counter_i64(names[*name], *value);
                log.push(entry("count", NAMES[*name], Some(*value as f64), &[]));
            }
            Deed::Measure(name, value) => {
                counter_f64(names[*name], *value);
                log.push(entry("measure", NAMES[*name], Some(*value), &[]));
            }
            Deed::Flow(name, id) => {
                flow(names[*name], *id, FlowStage::Start);
                log.push(entry("flow", NAMES[*name], Some(*id as f64), &[]));
            }
        }
    }
    while let Some(span) = open.pop() {
        drop(span);
        log.push(entry("end", "", None, &[]));
    }
    log
}

fn read<C: Chunks>(recording: &Recording<C>, thread: &Thread, cut: &Cut) -> Vec<Entry> {
    let text = |name: rankscope_record::NameId| recording.names()[name.0 as usize].text.to_string();
    let mut replay = recording.replay(thread, cut);
    let (mut found, mut last_tick) = (Vec::new(), 0);
    while let Some((event, args)) = replay.next() {
        assert!(event.tick >= last_tick, "a thread's ticks never fall");
        last_tick = event.tick;
        let (what, value) = match event.what {
            What::Begin { .. } => ("begin", None),
            What::End { unfinished, .. } => (if unfinished { "unfinished" } else { "end" }, None),
            What::Instant => ("instant", None),
            What::Counter(CounterValue::I64(value)) => ("count", Some(value as f64)),
            What::Counter(CounterValue::F64(value)) => ("measure", Some(value)),
            What::Flow { id, .. } => ("flow", Some(id as f64)),
            _ => ("something else", None),
        };
        found.push(Entry { what, name: text(event.name), value, args: read_args(args, text) });
    }
    found
}

fn read_args(args: Args<'_>, text: impl Fn(rankscope_record::NameId) -> String) -> Vec<(String, String)> {
    let shown = |value: ArgView<'_>| match value {
        ArgView::I64(value) => format!("{value}"),
        ArgView::U64(value) => format!("{value}"),
        ArgView::F64(value) => format!("{value:e}"),
        ArgView::Bool(value) => format!("{value}"),
        ArgView::Name(name) => text(name),
        ArgView::Text(value) => value.into_owned(),
        ArgView::Bytes(value) => format!("{value:?}"),
        ArgView::I64s(values) => format!("{:?}", values.collect::<Vec<_>>()),
        other => format!("{other:?}"),
    };
    args.iter().map(|(key, value)| (text(key), shown(value))).collect()
}

fn entry(what: &'static str, name: &str, value: Option<f64>, args: &[(usize, Given)]) -> Entry {
    let args = args.iter().map(|(key, given)| (KEYS[*key].to_owned(), given.shown())).collect();
    Entry { what, name: name.to_owned(), value, args }
}

impl Given {
    fn shown(&self) -> String {
        match self {
            Self::I64(value) => format!("{value}"),
            Self::U64(value) => format!("{value}"),
            Self::F64(value) => format!("{value:e}"),
            Self::Bool(value) => format!("{value}"),
            Self::Name(name) => NAMES[*name].to_owned(),
            Self::Text(value) => value.clone(),
            Self::Bytes(value) => format!("{value:?}"),
            Self::I64s(values) => format!("{values:?}"),
        }
    }

    fn leaked(self, names: &[rankscope_record::NameId]) -> Value<'static> {
        match self {
            Self::I64(value) => Value::I64(value),
            Self::U64(value) => Value::U64(value),
            Self::F64(value) => Value::F64(value),
            Self::Bool(value) => Value::Bool(value),
            Self::Name(name) => Value::Name(names[name]),
            Self::Text(value) => Value::Text(value.leak()),
            Self::Bytes(value) => Value::Bytes(value.leak()),
            Self::I64s(values) => Value::I64s(values.leak()),
        }
    }
}

fn deed() -> impl Strategy<Value = Deed> {
    let name = 0..NAMES.len();
    prop_oneof![
        5 => (name.clone(), args()).prop_map(|(name, args)| Deed::Begin(name, args)),
        4 => args().prop_map(Deed::End),
        1 => (name.clone(), args()).prop_map(|(name, args)| Deed::Instant(name, args)),
        1 => (name.clone(), -(1_i64 << 50)..1 << 50).prop_map(|(name, value)| Deed::Count(name, value)),
        1 => (name.clone(), -1e9..1e9).prop_map(|(name, value)| Deed::Measure(name, value)),
        1 => (name, 0_u64..1 << 50).prop_map(|(name, id)| Deed::Flow(name, id)),
    ]
}

/// Mostly none: that is the fast path.
fn args() -> impl Strategy<Value = Vec<(usize, Given)>> {
    prop_oneof![3 => Just(Vec::new()), 2 => prop::collection::vec((0..KEYS.len(), given()), 1..5)]
}

fn given() -> impl Strategy<Value = Given> {
    prop_oneof![
        any::<i64>().prop_map(Given::I64),
        (-1000_i64..1000).prop_map(Given::I64),
        any::<u64>().prop_map(Given::U64),
        (-1e300..1e300).prop_map(Given::F64),
        any::<bool>().prop_map(Given::Bool),
        (0..NAMES.len()).prop_map(Given::Name),
        ".{0,40}".prop_map(Given::Text),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Given::Bytes),
        prop::collection::vec(any::<i64>(), 0..20).prop_map(Given::I64s),
    ]
}
