//! [`CuptiState`]: how it goes, for who gave the plugin away to a session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::absent::Absent;
use crate::counts::Counts;

/// How it goes with a [`Cupti`](crate::Cupti), to be looked at from anywhere and at any time.
#[derive(Clone, Debug, Default)]
pub struct CuptiState(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    absent: Option<Absent>,
    counts: Option<Counts>,
}

impl CuptiState {
    /// Why device work is not recorded; none where it is, and before the session begins.
    pub fn absent(&self) -> Option<Absent> {
        self.lock().absent.clone()
    }

    /// What became of what was recorded, once the session has ended.
    pub fn counts(&self) -> Option<Counts> {
        self.lock().counts.clone()
    }

    pub(crate) fn set_absent(&self, absent: &Absent) {
        self.lock().absent = Some(absent.clone());
    }

    pub(crate) fn set_counts(&self, counts: &Counts) {
        self.lock().counts = Some(counts.clone());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
