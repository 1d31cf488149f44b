//! Who records at the moment: the store that is current and the sessions over it. Taken when sessions come and go and when a
//! thread joins, never per event.
//!
//! Locks are taken in this order: names, control, registry, a store's own.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, Once};

use crate::lane::quiet::{self, Quiet};
use crate::lane::registry;
use crate::lease::Lease;
use crate::names;
use crate::session::Active;
use crate::store::Store;
use crate::{Categories, state};

/// What is going on.
#[derive(Default)]
pub(crate) struct Control {
    /// The recording that runs.
    pub(crate) current: Option<Arc<Lease>>,
    pub(crate) sessions: Vec<Active>,
    pub(crate) last_session: u64,
    pub(crate) last_epoch: u32,
}

static CONTROL: Mutex<Control> = Mutex::new(Control { current: None, sessions: Vec::new(), last_session: 0, last_epoch: 0 });

/// Everything, locked.
pub(crate) fn lock() -> Quiet<'static, Control> {
    quiet::lock(&CONTROL)
}

/// The store of the recording `epoch`, while it runs.
pub(crate) fn current_store(epoch: u32) -> Option<Arc<Store>> {
    lock().current.as_ref().map(|lease| lease.store()).filter(|store| store.epoch == epoch).cloned()
}

/// The store of the recording that runs.
pub(crate) fn any_store() -> Option<Arc<Store>> {
    lock().current.as_ref().map(|lease| lease.store().clone())
}

impl Control {
    /// Tells all threads what the sessions want now.
    pub(crate) fn publish(&self) {
        let wanted = self.sessions.iter().fold(Categories::NONE, |all, session| all | session.categories);
        let epoch = self.current.as_ref().map_or(0, |lease| lease.store().epoch);
        state::set(epoch, if epoch == 0 { Categories::NONE } else { wanted });
    }
}

/// Makes forks safe, once: the child finds no lock held by a thread that it does not have, and records nothing into its
/// parent's chunks. It may start sessions of its own.
pub(crate) fn prepare_for_forks() {
    static ONCE: Once = Once::new();
    #[expect(unsafe_code, reason = "the system calls back around a fork")]
    ONCE.call_once(|| {
        // SAFETY: the three functions have the type that is wanted and live for ever.
        unsafe { libc::pthread_atfork(Some(before_fork), Some(in_parent), Some(in_child)) };
    });
}

type Held = (Quiet<'static, Option<names::Names>>, Quiet<'static, Control>, Quiet<'static, registry::Registry>);

thread_local! {
    /// Locks held while this thread forks.
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let locks = (names::lock(), lock(), registry::lock());
    // A thread that is ending has no place for them; then they are let go, and the child takes its chance.
    let _ = HELD.try_with(|held| held.replace(Some(locks)));
}

extern "C" fn in_parent() {
    let _ = HELD.try_with(RefCell::take);
}

extern "C" fn in_child() {
    let locks = HELD.try_with(RefCell::take).ok().flatten();
    state::set(0, Categories::NONE);
    if let Some((names, mut control, mut registry)) = locks {
        control.sessions.clear();
        // The parent's memory and file are its own: nothing of them is unmapped or marked here. Only the file's lock must not
        // outlive the parent in its children.
        if let Some(lease) = control.current.take() {
            lease.store().leave_to_parent();
            std::mem::forget(lease);
        }
        registry.after_fork();
        drop((registry, control, names));
    }
    crate::lane::with(crate::lane::Lane::forget_after_fork);
}
