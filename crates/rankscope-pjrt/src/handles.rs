//! [`Handles`]: what a host gets instead of a place in memory. A number that was never given, or not any more, finds nothing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Things by the numbers that were given for them.
#[derive(Debug)]
pub(crate) struct Handles<T>(Mutex<Held<T>>);

#[derive(Debug)]
struct Held<T> {
    last: usize,
    things: BTreeMap<usize, T>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self(Mutex::new(Held { last: 0, things: BTreeMap::new() }))
    }
}

impl<T> Handles<T> {
    /// Keeps `thing`; its number, which is no other's and not 0.
    pub(crate) fn put(&self, thing: T) -> usize {
        let mut held = self.lock();
        held.last += 1;
        let number = held.last;
        held.things.insert(number, thing);
        number
    }

    /// What `look` makes of the thing; none where there is none. Nothing else may be asked meanwhile.
    pub(crate) fn with<R>(&self, number: usize, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.lock().things.get(&number).map(look)
    }

    /// The thing, whose number finds nothing from now on.
    pub(crate) fn take(&self, number: usize) -> Option<T> {
        self.lock().things.remove(&number)
    }

    fn lock(&self) -> MutexGuard<'_, Held<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_given_once() {
        let handles = Handles::default();
        let (a, b) = (handles.put("a"), handles.put("b"));
        assert!(a != b && a > 0 && b > 0);
        assert_eq!((handles.with(a, |thing| thing.len()), handles.with(77, |thing| thing.len())), (Some(1), None));
        assert_eq!((handles.take(a), handles.take(a)), (Some("a"), None));
        assert!(handles.put("c") > b);
    }
}
