//! ITT: tasks of one domain, on the calling thread. Names are made into the library's string handles once.

use std::collections::HashMap;
use std::ffi::{OsStr, c_char, c_void};
use std::sync::{Mutex, PoisonError};

use libloading::Library;

use super::{absent, c_string, open};
use crate::kineto::KinetoError;

pub(super) const LIBRARY: &str = "libittnotify.so";
pub(super) const VARIABLE: &str = "INTEL_LIBITTNOTIFY64";

/// The name under which Intel's tools show what torch sends.
const DOMAIN: &str = "PyTorch";

/// `__itt_id`: three words, all zero for no id.
#[repr(C)]
#[derive(Clone, Copy)]
struct Id([u64; 3]);

type Create = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type Begin = unsafe extern "C" fn(*const c_void, Id, Id, *mut c_void);
type End = unsafe extern "C" fn(*const c_void);

#[derive(Debug)]
pub(super) struct Itt {
    domain: Handle,
    create_name: Create,
    begin: Begin,
    end: End,
    names: Mutex<HashMap<Box<str>, Handle>>,
    /// The functions above are in it.
    _library: Library,
}

/// What the library made, and keeps until the process ends.
#[derive(Clone, Copy, Debug)]
struct Handle(*mut c_void);

#[expect(unsafe_code, reason = "the library's handles are used from all threads, as its documentation allows")]
// SAFETY: handles of domains and names are never freed, and the library locks what they lead to.
unsafe impl Send for Handle {}
#[expect(unsafe_code, reason = "the library's handles are used from all threads, as its documentation allows")]
// SAFETY: as above.
unsafe impl Sync for Handle {}

#[expect(unsafe_code, reason = "calls functions of a C library by their documented signatures")]
impl Itt {
    pub(super) fn load(file: &OsStr) -> Result<Self, KinetoError> {
        let library = open("ITT", file)?;
        let absent = |error: libloading::Error| absent("ITT", file, &error);
        // SAFETY: these are the signatures of the functions in ittnotify.h, and the library is kept beside them.
        unsafe {
            let create_domain: Create = *library.get(b"__itt_domain_create\0").map_err(absent)?;
            let create_name: Create = *library.get(b"__itt_string_handle_create\0").map_err(absent)?;
            let begin: Begin = *library.get(b"__itt_task_begin\0").map_err(absent)?;
            let end: End = *library.get(b"__itt_task_end\0").map_err(absent)?;
            let domain = Handle(create_domain(c_string(DOMAIN).as_ptr()));
            Ok(Self { domain, create_name, begin, end, names: Mutex::default(), _library: library })
        }
    }

    pub(super) fn push(&self, name: &str) {
        let handle = self.handle(name);
        // SAFETY: domain and name come from this library; an id of zeros is its `__itt_null`.
        unsafe { (self.begin)(self.domain.0, Id([0; 3]), Id([0; 3]), handle.0) };
    }

    pub(super) fn pop(&self) {
        // SAFETY: the domain comes from this library.
        unsafe { (self.end)(self.domain.0) };
    }

    fn handle(&self, name: &str) -> Handle {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = names.get(name) {
            return *handle;
        }
        // SAFETY: the text ends in zero and is copied by the library.
        let handle = Handle(unsafe { (self.create_name)(c_string(name).as_ptr()) });
        names.insert(name.into(), handle);
        handle
    }
}
