//! Forks: the child finds no lock held by a thread that it does not have, and leaves its parent's recording alone.

use std::cell::RefCell;
use std::sync::Once;

use rankscope_recording::Categories;

use crate::control::Control;
use crate::lane::registry;
use crate::quiet::Quiet;
use crate::{control, names, state};

/// Makes forks safe, once: the child finds no lock held by a thread that it does not have, and records nothing into its
/// parent's chunks. It may start sessions of its own.
pub(crate) fn prepare() {
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
    let locks = (names::lock(), control::lock(), registry::lock());
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
