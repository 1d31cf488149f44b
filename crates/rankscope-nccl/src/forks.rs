//! A child that was forked and did not become another program records nothing: rings, threads and handles are its parent's.
#![expect(unsafe_code, reason = "the system calls back after a fork")]

use std::sync::Once;

/// Sees to that, once.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function has the type that is wanted and lives for ever, for the library is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

extern "C" fn in_child() {
    crate::process::turn_off();
}
