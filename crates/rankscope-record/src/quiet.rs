//! Locks of the recorder: while one is held, its thread's lane is busy.
//!
//! Otherwise a signal handler that comes while the lock is held, or an allocator's hook, could record, come into the cold parts,
//! and wait for a lock that its own thread holds. As it is, such an event is dropped and counted.

use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use crate::lane::busy::Busy;

/// A lock that is held, and a lane that is busy.
pub(crate) struct Quiet<'a, T> {
    // Fields are dropped in this order: the lock first.
    guard: MutexGuard<'a, T>,
    busy: Busy,
}

/// Takes a lock. A panic under it cannot have left anything half done that matters to a recording, so poison is ignored.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Quiet<'_, T> {
    let busy = Busy::mark();
    let guard = mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Quiet { guard, busy }
}

impl<'a, T> Quiet<'a, T> {
    /// Waits on `condvar`, for `timeout` at most.
    pub(crate) fn wait(self, condvar: &Condvar, timeout: Duration) -> Self {
        let Self { guard, busy } = self;
        let guard = condvar.wait_timeout(guard, timeout).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        Quiet { guard, busy }
    }
}

impl<T> Deref for Quiet<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Quiet<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}
