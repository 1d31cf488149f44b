//! [`SourceState`]: how it goes, for who gave a source of device work away to a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How it goes with a source of device work, to be looked at from anywhere and at any time: why it is absent (`A`), and what became of
/// what was recorded (`C`).
#[derive(Debug)]
pub struct SourceState<A, C>(Arc<Mutex<State<A, C>>>);

#[derive(Debug)]
struct State<A, C> {
    absent: Option<A>,
    counts: Option<C>,
}

impl<A: Clone, C: Clone> SourceState<A, C> {
    /// Why device work is not recorded; none where it is, and before the session begins.
    pub fn absent(&self) -> Option<A> {
        self.lock().absent.clone()
    }

    /// What became of what was recorded, once the session has ended.
    pub fn counts(&self) -> Option<C> {
        self.lock().counts.clone()
    }

    /// For the source: why there is nothing.
    pub fn set_absent(&self, absent: &A) {
        self.lock().absent = Some(absent.clone());
    }

    /// For the source: what became of records.
    pub fn set_counts(&self, counts: &C) {
        self.lock().counts = Some(counts.clone());
    }

    fn lock(&self) -> MutexGuard<'_, State<A, C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// By hand: neither asks anything of what is in it.
impl<A, C> Clone for SourceState<A, C> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<A, C> Default for SourceState<A, C> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(State { absent: None, counts: None })))
    }
}
