//! [`guarded`]: what every function runs in, so that a panic ends at the border, and what failed is known to the thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::last_error;
use crate::status::{Error, Status};

/// Panics that ended here.
pub(crate) static PANICS: AtomicU64 = AtomicU64::new(0);

/// Calls that were refused, among them those that cannot say so.
pub(crate) static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Runs `call`; where it panics, the answer is `otherwise`.
#[inline(always)]
pub(crate) fn guarded<T>(otherwise: T, call: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer,
        Err(panic) => {
            panicked(panic);
            otherwise
        }
    }
}

/// As [`guarded`], for functions that answer with a code.
pub(crate) fn answered(call: impl FnOnce() -> Result<(), Error>) -> Status {
    guarded(Status::Panicked, || call().map_or_else(|error| refused(&error), |()| Status::Ok))
}

/// As [`guarded`], for functions that have no code to return: what was refused is counted.
#[inline(always)]
pub(crate) fn counted<T>(otherwise: T, call: impl FnOnce() -> Option<T>) -> T
where
    T: Copy,
{
    guarded(otherwise, || {
        call().unwrap_or_else(|| {
            REFUSED.fetch_add(1, Ordering::Relaxed);
            otherwise
        })
    })
}

#[cold]
fn refused(error: &Error) -> Status {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    last_error::set(error.to_string());
    error.status()
}

#[cold]
fn panicked(panic: Box<dyn std::any::Any + Send>) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    last_error::set(format!("a bug of the library: it panicked: {}", text.unwrap_or("no reason was given")));
    // What a panic carries may panic when it is dropped.
    std::mem::forget(panic);
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_becomes_an_answer_and_the_last_error_of_its_thread() {
        let before = PANICS.load(Ordering::Relaxed);
        assert_eq!(answered(|| panic!("for a test")), Status::Panicked);
        assert_eq!(guarded(7, || panic!("as it happens")), 7);
        assert!(PANICS.load(Ordering::Relaxed) >= before + 2);
        // SAFETY: the text lasts until this thread fails again.
        let text = unsafe { CStr::from_ptr(last_error::rankscope_last_error()) };
        assert_eq!(text.to_str(), Ok("a bug of the library: it panicked: as it happens"));
    }

    /// The border is where functions are exported: none of them may run outside of a guard.
    #[test]
    fn every_exported_function_is_guarded() {
        let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("the sources are there");
        let mut count = 0;
        for source in sources {
            let text = std::fs::read_to_string(source.expect("a file").path()).expect("text");
            for function in text.split("#[unsafe(no_mangle)]\npub ").skip(1).filter(|after| !after.starts_with("static")) {
                let body = function.split_once("{\n").expect("a body").1.trim_start();
                let is_guarded = ["guarded(", "answered(", "counted("].iter().any(|guard| body.starts_with(guard));
                assert!(is_guarded, "not guarded: {}", function.lines().next().unwrap_or_default());
                count += 1;
            }
        }
        assert!(count > 25, "only {count} functions were found");
    }
}
