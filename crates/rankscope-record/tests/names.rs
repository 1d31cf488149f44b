//! Names: one number for one text, whoever asks, and a bound on how many there are.

mod tree;

use std::collections::BTreeSet;
use std::thread;

use rankscope_formats::recording::NameId;
use rankscope_record::{Category, Scope, Session, SessionOptions, begin_named, intern, record_function};
use tree::tree;

/// More than there may be.
const MANY: usize = 220_000;

const HERE: Category = Category::USER_ANNOTATION;

/// In one test, because the table belongs to the process and is full afterwards.
#[test]
fn one_number_for_one_text_and_a_bound_on_all() {
    let ids: BTreeSet<NameId> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| intern("the same", HERE, Scope::UserScope))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids.len(), 1);
    assert_ne!(intern("the same", Category::CPU_OP, Scope::UserScope), *ids.first().unwrap(), "the category is part of it");

    let session = Session::start(SessionOptions::default()).unwrap();
    let many: Vec<NameId> = (0..MANY).map(|at| intern(&format!("name {at}"), HERE, Scope::UserScope)).collect();
    assert!(many.iter().all(|id| id.0 <= NameId::MAX && id.0 != 0));
    assert_eq!(many[MANY - 1], many[MANY - 2], "what comes too late shares a number");
    assert_eq!(intern("name 5", HERE, Scope::UserScope), many[5], "what came in time keeps its own");
    for at in [5, MANY - 1] {
        drop(begin_named(many[at], &[]));
    }
    let stopped = session.stop().unwrap();
    let lost = many.iter().filter(|id| **id == many[MANY - 1]).count() as u64;
    assert_eq!(stopped.report.names_full, lost);
    let kept = tree(&stopped.recorded.open().unwrap(), stopped.recorded.cut());
    assert_eq!(kept, ["name 5 [user_annotation]", "(more names than a recording keeps) [user_annotation]"]);
    let meta = stopped.recorded.open().unwrap().meta().to_vec();
    assert!(meta.contains(&("names_full".to_owned(), lost.to_string())), "{meta:?}");

    // Whoever comes with a name in its code is not to blame.
    let session = Session::start(SessionOptions::default()).unwrap();
    drop(record_function!("a call site that comes late", and_its_key = 1));
    let recorded = session.stop().unwrap().recorded;
    let kept = tree(&recorded.open().unwrap(), recorded.cut());
    assert_eq!(kept, ["a call site that comes late [user_annotation] and_its_key=1"]);
    assert!(recorded.open().unwrap().meta().iter().any(|(key, _)| key == "pid"), "what the recorder says itself has its names");
}
