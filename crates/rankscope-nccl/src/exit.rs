//! The process ends: the recording is completed by the thread that writes it, while the others wait.
#![expect(unsafe_code, reason = "the C library calls back when the process ends")]

use std::sync::Once;

use crate::process;

/// Sees to that, once.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function has the type that is wanted and lives for ever, for the library is never unloaded.
        unsafe { libc::atexit(at_exit) };
    });
}

extern "C" fn at_exit() {
    // In the child of a fork there is nothing to complete.
    crate::edge::guarded((), || {
        if let Some(keeper) = process::get().and_then(process::Process::keeper) {
            keeper.finish();
        }
    });
}
