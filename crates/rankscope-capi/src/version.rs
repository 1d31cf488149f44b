//! Which library this is.

use std::ffi::c_char;

use crate::guard::guarded;

/// Rises when a function or the meaning of one goes away. What is added does not raise it.
pub const ABI_VERSION: u32 = 1;

/// The version of the library, as in `0.1.0`. Compare it with what `pkg-config --modversion rankscope` said when the program was built.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_version() -> *const c_char {
    guarded(c"".as_ptr(), || concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast())
}

/// The library's `RANKSCOPE_ABI_VERSION`: a program that was built with another one must not go on.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_abi_version() -> u32 {
    guarded(0, || ABI_VERSION)
}
