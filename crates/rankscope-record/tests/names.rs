//! Names: one number for one text, whoever asks, and a bound on how many there are.

use std::collections::BTreeSet;
use std::thread;

use rankscope_formats::recording::{NameId, What};
use rankscope_record::{Category, Scope, Session, SessionOptions, begin_named, intern};

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
    let many: Vec<NameId> = (0..1_000_000).map(|at| intern(&format!("name {at}"), HERE, Scope::UserScope)).collect();
    assert!(many.iter().all(|id| id.0 <= NameId::MAX && id.0 != 0));
    assert_eq!(many[999_999], many[900_000], "what comes too late shares a number");
    assert_eq!(intern("name 5", HERE, Scope::UserScope), many[5], "what came in time keeps its own");
    for at in [5, 999_999] {
        drop(begin_named(many[at], HERE, &[]));
    }
    let recorded = session.stop().unwrap().recorded;
    let recording = recorded.open().unwrap();
    let mut names = Vec::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, _)) = replay.next() {
            if matches!(event.what, What::Begin { .. }) {
                names.push(recording.names()[event.name.0 as usize].text.to_string());
            }
        }
    }
    assert_eq!(names, ["name 5", "(more names than a recording keeps)"]);
}
