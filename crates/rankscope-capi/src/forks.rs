//! Forks: the child finds the tables of handles and of plugins unlocked. What its parent's handles stand for it may not stop; closing one lets go
//! of it. The recorder looks after itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{MutexGuard, Once};

use crate::plugins::{self, Table};
use crate::sessions::{self, Held};

/// The tables of handles and of plugins. Nothing else takes both.
type Locks = (MutexGuard<'static, BTreeMap<u64, Held>>, MutexGuard<'static, Vec<Table>>);

thread_local! {
    /// The tables, held while this thread forks.
    static HELD: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

/// Makes forks safe, once.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the functions have the type that is wanted and live for ever.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    });
}

extern "C" fn before() {
    let locks = (sessions::lock(), plugins::lock());
    let _ = HELD.try_with(|held| held.replace(Some(locks)));
}

extern "C" fn after() {
    let _ = HELD.try_with(RefCell::take);
}
