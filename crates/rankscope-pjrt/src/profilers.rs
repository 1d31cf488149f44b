//! [`Profilers`]: all sessions and errors of this process. A child of a fork has none of its parent's.
#![expect(unsafe_code, reason = "the system calls back after a fork, and what was there before must not be touched")]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Once};

use crate::failure::Told;
use crate::handles::Handles;
use crate::profiler::Profiler;

/// What a host holds numbers of.
#[derive(Debug, Default)]
pub(crate) struct Profilers {
    pub(crate) profilers: Handles<Arc<Profiler>>,
    pub(crate) errors: Handles<Told>,
}

/// Null until it is needed, and never freed.
static OWN: AtomicPtr<Profilers> = AtomicPtr::new(ptr::null_mut());

/// Those of this process.
pub(crate) fn own() -> &'static Profilers {
    static ONCE: Once = Once::new();
    // SAFETY: the function has the type that is wanted and lives for ever, for the library is never unloaded.
    ONCE.call_once(|| unsafe {
        libc::pthread_atfork(None, None, Some(in_child));
    });
    // SAFETY: it is null or was leaked below.
    if let Some(own) = unsafe { OWN.load(Ordering::Acquire).as_ref() } {
        return own;
    }
    let new = Box::into_raw(Box::<Profilers>::default());
    match OWN.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: it was leaked just now, and nobody frees it.
        Ok(_) => unsafe { &*new },
        // SAFETY: another thread was first, and leaked it; ours nobody has seen.
        Err(first) => unsafe {
            drop(Box::from_raw(new));
            &*first
        },
    }
}

/// Another thread of the parent may have held a lock, and threads that take anchors are not there.
extern "C" fn in_child() {
    OWN.store(ptr::null_mut(), Ordering::Release);
}
