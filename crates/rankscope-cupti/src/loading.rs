//! Symbols of libraries, and what the loader says.
#![expect(unsafe_code, reason = "a symbol has the type that its caller says")]

use std::error::Error;

use libloading::os::unix::Library;

/// A function of a library that stays loaded; none if the library lacks it.
///
/// # Safety
/// `F` is the type of a function pointer, and the function's.
pub(crate) unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Option<F> {
    // SAFETY: the caller knows the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.ok().map(|symbol| *symbol)
}

/// What the loader said, which is in the source alone.
pub(crate) fn said(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
