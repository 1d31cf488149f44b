//! No panic gets into jaxlib: it is an error like any other. Every error of a call becomes a number that its host may ask about.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use crate::failure::Failure;
use crate::profilers::own;

/// What a call that does `work` returns: null, or an error.
pub(crate) fn answered(work: impl FnOnce() -> Result<(), Failure>) -> *mut c_void {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Failure::Panicked));
    match done {
        Ok(()) => ptr::null_mut(),
        Err(failure) => guarded(ptr::null_mut(), || ptr::without_provenance_mut(own().errors.put(failure.into()))),
    }
}

/// What `work` returns, or `otherwise` where it panics.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = answered(|| panic!("on purpose"));
        let told = own().errors.take(error.addr()).expect("it was put there");
        assert_eq!(told.code, Failure::Panicked.code());
        assert!(answered(|| Ok(())).is_null());
    }
}
