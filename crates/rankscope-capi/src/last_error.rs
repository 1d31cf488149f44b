//! Why the last call of a thread failed, in words. A thread that is ending has no place for words any more, and gets none.

use std::cell::RefCell;
use std::ffi::{CString, c_char};

use crate::guard::guarded;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Keeps it for the calling thread.
pub(crate) fn set(text: String) {
    let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(text));
}

/// Why the last call of this thread failed, in words: what was wrong, where, and what to do. Never null, and empty where none
/// failed. The text stays as it is until the next call of this thread that fails, and at most as long as the thread.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_last_error() -> *const c_char {
    guarded(c"".as_ptr(), || LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr()))
}
