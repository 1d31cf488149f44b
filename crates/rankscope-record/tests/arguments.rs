//! What the macros take as names and as arguments, read back from the recording.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod tree;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use rankscope_record::{
    Category, Scope, Session, SessionOptions, ThreadFilter, Value, begin_with, record_function, record_op, span_at,
};
use tree::tree;

/// Held while a session runs: one of the tests needs to know that none does.
static RECORDING: Mutex<()> = Mutex::new(());

/// What `program` records on this thread.
fn recorded(program: impl FnOnce()) -> Vec<String> {
    let _alone = RECORDING.lock().unwrap();
    let session = Session::start(SessionOptions::default().with_threads(ThreadFilter::Current)).unwrap();
    program();
    let recorded = session.stop().unwrap().recorded;
    tree(&recorded.open().unwrap(), recorded.cut())
}

#[derive(Debug)]
struct Pair(i32, &'static str);

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.0, self.1)
    }
}

#[test]
fn values_are_taken_as_they_are_by_display_and_by_debug() {
    let pair = Pair(3, "kind");
    let lines = recorded(|| {
        let _span = record_function!("format", plain = 1, shown = %pair, raw = ?pair, last = "x",);
        let _list = record_op!("list", long = ?vec!["abcdefghij"; 20], shape = [2, 3], half = 1 + 1);
    });
    let long = format!("{:?}", vec!["abcdefghij"; 20]);
    assert_eq!(
        lines,
        [
            "format [user_annotation] plain=1 shown='3 of kind' raw='Pair(3, \"kind\")' last='x'",
            &format!("  list [cpu_op] long='{long}' shape=[2, 3] half=2"),
        ]
    );
}

#[test]
fn owned_texts_options_and_durations_are_values_and_nothing_is_moved() {
    let (owned, cow, none) = (String::from("owned"), Cow::from("cow"), None::<u32>);
    let lines = recorded(|| {
        let _span = record_function!(
            "values",
            owned = owned,
            lent = &owned,
            cow = cow,
            none = none,
            some = Some("some"),
            took = Duration::from_micros(1_500),
            small = 7_u8,
            letter = 'µ'
        );
    });
    assert_eq!(
        lines,
        ["values [user_annotation] owned='owned' lent='owned' cow='cow' some='some' took='1.5ms' small=7 letter='µ'"]
    );
    assert_eq!((owned.len(), cow.len()), (5, 3));
}

#[test]
fn values_convert_for_the_functions_too() {
    static SITE: rankscope_record::Site = rankscope_record::Site::new("call", Category::CPU_OP);
    static KEY: rankscope_record::Site = rankscope_record::Site::key("key");
    let text = String::from("text");
    let cow = Cow::from("cow");
    let values: [Value<'_>; 5] =
        [(&text).into(), Some(4_i64).into(), None::<bool>.into(), Duration::from_secs(2).into(), (&cow).into()];
    let lines = recorded(|| values.iter().for_each(|value| drop(begin_with(&SITE, &[(KEY.id(), *value)]))));
    let call = |args: &str| format!("call [cpu_op]{args}");
    assert_eq!(lines, [" key='text'", " key=4", "", " key='2s'", " key='cow'"].map(call));
}

#[test]
fn names_may_be_any_expression_of_a_text() {
    let layer = String::from("attention");
    let lines = recorded(|| {
        for round in 0..2 {
            let _lent = record_function!(&layer, round = round);
            let _moved_in = record_op!(layer);
            let _made = record_function!(format!("{layer}.{round}"));
            let _part = span_at!(&layer[..4], Category::CPU_OP, Scope::Function, round = round);
            let _made_of_a_literal = record_function!("a".to_string());
        }
    });
    let round = |round: u32| {
        [
            format!("attention [user_annotation] round={round}"),
            "  attention [cpu_op]".into(),
            format!("    attention.{round} [user_annotation]"),
            format!("      atte [cpu_op] round={round}"),
            "        a [user_annotation]".into(),
        ]
    };
    assert_eq!(lines, [round(0), round(1)].concat());
}

#[test]
fn nothing_is_evaluated_while_nothing_is_recorded() {
    struct Watched<'a>(&'a Cell<u32>);
    impl fmt::Display for Watched<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.set(self.0.get() + 1);
            f.write_str("seen")
        }
    }
    let seen = Cell::new(0);
    let work = || {
        let name = || {
            seen.set(seen.get() + 10);
            "name"
        };
        let _span = span_at!(name(), Category::CPU_OP, Scope::Function, shown = %Watched(&seen));
    };
    {
        let _nobody_records = RECORDING.lock().unwrap();
        work();
        assert_eq!(seen.get(), 0);
    }
    assert_eq!(recorded(work), ["name [cpu_op] shown='seen'"]);
    assert_eq!(seen.get(), 11);
}
