//! Which library calls: NCCL or RCCL, and which version, found by the one function of it that it passes.
#![expect(unsafe_code, reason = "the loader is asked about an address")]

use std::ffi::{CStr, c_int, c_void};

use crate::layout::Logger;

/// The library that loaded this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Library {
    /// Its file; empty where it cannot be told.
    pub(crate) path: String,
    /// As it numbers itself, 2.30.7 as 23007; zero where it cannot be told.
    pub(crate) version: u32,
}

impl Library {
    /// The one that `logger` is a function of.
    pub(crate) fn of_logger(logger: Logger) -> Self {
        if logger.is_null() {
            return Self::default();
        }
        // SAFETY: all-zero is a value of this struct, which the call fills in.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is only looked up.
        if unsafe { libc::dladdr(logger, &raw mut found) } == 0 || found.dli_fname.is_null() {
            return Self::default();
        }
        // SAFETY: the loader's own text, which lasts as long as the library is loaded.
        let path = unsafe { CStr::from_ptr(found.dli_fname) };
        Self { path: path.to_string_lossy().into_owned(), version: version(path) }
    }

    /// Whether it is AMD's.
    pub(crate) fn is_rccl(&self) -> bool {
        self.path.rsplit('/').next().is_some_and(|name| name.contains("rccl"))
    }
}

/// What the library at `path` says its version is.
fn version(path: &CStr) -> u32 {
    // SAFETY: nothing is loaded that is not loaded already, and the text ends in a zero byte.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return 0;
    }
    let mut version: c_int = 0;
    // SAFETY: the handle is open, and is closed once.
    unsafe {
        let symbol = libc::dlsym(library, c"ncclGetVersion".as_ptr());
        if !symbol.is_null() {
            // SAFETY: a public function of NCCL's, with this type since its first version.
            let get: unsafe extern "C" fn(*mut c_int) -> c_int = std::mem::transmute::<*mut c_void, _>(symbol);
            if get(&raw mut version) != 0 {
                version = 0;
            }
        }
        libc::dlclose(library);
    }
    u32::try_from(version).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_tells_the_file_it_is_of() {
        assert_eq!(Library::of_logger(std::ptr::null_mut()), Library::default());
        let library = Library::of_logger(libc::getpid as *mut c_void);
        assert!(library.path.contains("libc"), "{library:?}");
        assert_eq!((library.version, library.is_rccl()), (0, false));
    }
}
