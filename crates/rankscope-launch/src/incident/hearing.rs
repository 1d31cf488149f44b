//! What is said to a node through the store, one word after the other: the leader's calls, and what other nodes raise.
//!
//! Words are numbered by a counter, so none is heard twice and none before this process came, but for the last one. A word whose number was taken
//! and that never came, because its author is gone, is passed over once there is a later one.

use std::ops::ControlFlow;
use std::thread::sleep;
use std::time::Duration;

use rankscope_probe::rendezvous::{KeyValueStore, StoreError};

use super::nodes::Nodes;

/// Between two questions whether there is a word.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// The store is not there yet, or not any more.
const PAUSE: Duration = Duration::from_secs(2);

/// Hears what `nodes` say under `key` and the numbers that `counter` gives, until `heard` has enough or the store refuses. Who says something asks
/// [`is_heard`] first, if it is to be answered.
pub(super) fn hear(
    nodes: &Nodes,
    counter: &str,
    key: impl Fn(i64) -> String,
    heard: impl FnMut(&mut dyn KeyValueStore, i64, &str) -> ControlFlow<()>,
) {
    if let Ok(mut store) = nodes.store() {
        hear_at(&mut *store, counter, key, ASK_EVERY, heard);
    }
}

/// Whether somebody hears what is numbered by `counter`, now or within a moment.
pub(super) fn is_heard(store: &mut dyn KeyValueStore, counter: &str) -> Result<bool, StoreError> {
    match store.wait(&listens(counter), LISTENS_WITHIN) {
        Ok(_) => Ok(true),
        Err(StoreError::TimedOut { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Longer than a listener takes to find a store that has just come.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);

fn listens(counter: &str) -> String {
    format!("{counter}/listens")
}

fn hear_at(
    store: &mut dyn KeyValueStore,
    counter: &str,
    key: impl Fn(i64) -> String,
    ask_every: Duration,
    mut heard: impl FnMut(&mut dyn KeyValueStore, i64, &str) -> ControlFlow<()>,
) {
    // The last word may have been said while this node came.
    let mut number = loop {
        match store.add(counter, 0) {
            Ok(last) => break last.max(1),
            Err(StoreError::Unreachable { .. } | StoreError::TimedOut { .. }) => sleep(PAUSE),
            Err(_) => return,
        }
    };
    // Without it others think that nobody is here.
    let _unsaid = store.set(&listens(counter), "here");
    loop {
        match store.wait(&key(number), ask_every) {
            Ok(text) => {
                number += 1;
                if heard(store, number - 1, &text).is_break() {
                    return;
                }
            }
            // A number is taken an instant before its word is said.
            Err(StoreError::TimedOut { .. }) if store.add(counter, 0).is_ok_and(|last| last > number) => number += 1,
            Err(StoreError::TimedOut { .. }) => {}
            Err(StoreError::Unreachable { .. }) => sleep(PAUSE),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use rankscope_probe::rendezvous::DirectoryStore;

    use super::*;

    /// What is heard of `said`, by number, up to the last of them, by somebody who came when `before` words had been counted.
    fn heard(said: &[(i64, &str)], before: i64, counted: i64) -> Vec<(i64, String)> {
        let folder = tempfile::tempdir().unwrap();
        let mut store = DirectoryStore::open(folder.path()).unwrap();
        store.add("words", before).unwrap();
        for (number, word) in said {
            store.set(&format!("word/{number}"), word).unwrap();
        }
        let mut all = Vec::new();
        let last = said.last().unwrap().0;
        let mut other = DirectoryStore::open(folder.path()).unwrap();
        let mut pending = counted - before;
        let key = move |number: i64| {
            // The rest is counted once somebody listens.
            other.add("words", std::mem::take(&mut pending)).unwrap();
            format!("word/{number}")
        };
        let key = std::cell::RefCell::new(key);
        hear_at(
            &mut store,
            "words",
            |number| key.borrow_mut()(number),
            Duration::from_millis(1),
            |_, number, word| {
                all.push((number, word.to_owned()));
                if number == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        all
    }

    #[test]
    fn words_are_heard_once_and_in_order() {
        let word = |number: i64, word: &str| (number, word.to_owned());
        assert_eq!(heard(&[(1, "a"), (2, "b")], 0, 2), [word(1, "a"), word(2, "b")]);
        assert_eq!(heard(&[(1, "a"), (2, "b"), (3, "c")], 2, 3), [word(2, "b"), word(3, "c")], "the last one before");
    }

    #[test]
    fn who_hears_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = DirectoryStore::open(folder.path()).unwrap();
        store.set("word/1", "a").unwrap();
        let key = |number| format!("word/{number}");
        hear_at(&mut store, "words", key, Duration::from_millis(1), |_, _, _| ControlFlow::Break(()));
        assert!(is_heard(&mut store, "words").unwrap());
    }

    #[test]
    fn a_word_that_never_comes_is_passed_over() {
        let word = |number: i64, word: &str| (number, word.to_owned());
        assert_eq!(heard(&[(1, "a"), (4, "d")], 0, 4), [word(1, "a"), word(4, "d")]);
    }
}
