//! NVTX, version 2 of its library: ranges by name, on the calling thread.

use std::ffi::{OsStr, c_char, c_int};

use libloading::Library;

use super::{absent, c_string, open};
use crate::kineto::KinetoError;

pub(super) const LIBRARY: &str = "libnvToolsExt.so.1";

type Push = unsafe extern "C" fn(*const c_char) -> c_int;
type Pop = unsafe extern "C" fn() -> c_int;
type Mark = unsafe extern "C" fn(*const c_char);

#[derive(Debug)]
pub(super) struct Nvtx {
    push: Push,
    pop: Pop,
    mark: Mark,
    /// The functions above are in it.
    _library: Library,
}

#[expect(unsafe_code, reason = "calls functions of a C library by their documented signatures")]
impl Nvtx {
    pub(super) fn load(file: &OsStr) -> Result<Self, KinetoError> {
        let library = open("NVTX", file)?;
        let absent = |error: libloading::Error| absent("NVTX", file, &error);
        // SAFETY: these are the signatures of the functions in nvToolsExt.h, and the library is kept beside them.
        unsafe {
            let push: Push = *library.get(b"nvtxRangePushA\0").map_err(absent)?;
            let pop: Pop = *library.get(b"nvtxRangePop\0").map_err(absent)?;
            let mark: Mark = *library.get(b"nvtxMarkA\0").map_err(absent)?;
            Ok(Self { push, pop, mark, _library: library })
        }
    }

    pub(super) fn push(&self, name: &str) {
        // SAFETY: the text ends in zero and is copied by the library.
        unsafe { (self.push)(c_string(name).as_ptr()) };
    }

    pub(super) fn pop(&self) {
        // SAFETY: it takes nothing; without an open range it returns an error number.
        unsafe { (self.pop)() };
    }

    pub(super) fn mark(&self, name: &str) {
        // SAFETY: the text ends in zero and is copied by the library.
        unsafe { (self.mark)(c_string(name).as_ptr()) };
    }
}
