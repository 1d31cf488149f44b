//! What rocprofiler looks for: `rocprofiler_configure`, in whichever library has it; and where a session finds a tool.
//!
//! Of a program that records itself, the session has its own copy called ([`crate::probe`]). `librankscope_rocprofiler.so` is for programs
//! whose session begins later than HIP: ROCm loads it where `ROCP_TOOL_LIBRARIES` names it, and the session finds the tool by a function
//! of that library.
#![expect(unsafe_code, reason = "functions that other libraries find by their names")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use rankscope_devices::{ApiCalls, file_name, mapped_files, symbol, text};

use crate::abi::{Client, Configured};
use crate::absent::Absent;
use crate::library::Library;
use crate::places::Places;
use crate::tool::{self, Tool, VERSION};

/// Where ROCm is told of tools: files, with colons between them.
pub(crate) const TOOLS: &str = "ROCP_TOOL_LIBRARIES";

/// The major version that is read, as rocprofiler numbers versions for tools.
const MAJOR: u32 = 1;
const PER_MAJOR: u32 = 10_000;

/// Which calls a session of this copy wants, which has to be known before there is a session.
static CALLS: Mutex<ApiCalls> = Mutex::new(ApiCalls::Relevant);

pub(crate) fn want(calls: ApiCalls) {
    *CALLS.lock().unwrap_or_else(PoisonError::into_inner) = calls;
}

/// rocprofiler asks for tools: it calls this before the first runtime is up, and has the answer's functions called.
///
/// # Safety
/// To be called by rocprofiler, with its version and a place for who this is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_configure(
    version: u32,
    _name: *const c_char,
    _before: u32,
    client: *mut c_void,
) -> *mut c_void {
    if version / PER_MAJOR != MAJOR {
        return ptr::null_mut();
    }
    // SAFETY: the caller says so.
    if let Some(client) = unsafe { client.cast::<Client>().as_mut() } {
        client.name = c"rankscope".as_ptr();
    }
    let configured = Configured {
        size: size_of::<Configured>(),
        initialize: Some(initialize),
        finalize: Some(finalize),
        tool_data: ptr::null_mut(),
    };
    // It copies the answer, and does not say when: the answer stays. It asks once.
    Box::into_raw(Box::new(configured)).cast()
}

/// What [`rocprofiler_configure`] is for rocprofiler.
pub(crate) unsafe extern "C" fn configure(
    version: u32,
    name: *const c_char,
    before: u32,
    client: *mut Client,
) -> *mut Configured {
    // SAFETY: the same function.
    unsafe { rocprofiler_configure(version, name, before, client.cast()).cast() }
}

unsafe extern "C" fn initialize(_finalize: *const c_void, _: *mut c_void) -> c_int {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let calls = *CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        Library::load(&Places::mapped()).is_ok_and(|library| tool::make(library, calls))
    }));
    if made.unwrap_or(false) { 0 } else { -1 }
}

unsafe extern "C" fn finalize(_: *mut c_void) {
    tool::end();
}

/// The tool of this library, for sessions of others in this process; null where it was not configured.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_rocprofiler_tool() -> *const c_void {
    tool::made().map_or(ptr::null(), |tool| ptr::from_ref(tool).cast())
}

/// What our library is called, and the function that finds its tool.
const FILE: &str = "librankscope_rocprofiler.so";
const FIND: &str = "rankscope_rocprofiler_tool";

/// The tool that ROCm has loaded, if it has.
///
/// # Errors
/// It is of another version.
pub(crate) fn loaded_tool() -> Result<Option<&'static Tool>, Absent> {
    let Some(file) = mapped_files().into_iter().find(|path| file_name(path) == FILE) else { return Ok(None) };
    // SAFETY: nothing is loaded that is not loaded already.
    let Ok(library) = (unsafe { Loaded::open(Some(&file), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) }) else {
        return Ok(None);
    };
    // SAFETY: the function has this type in all versions.
    let find: Option<extern "C" fn() -> *const c_void> = unsafe { symbol(&library, FIND) };
    // ROCm may close what it has opened, and the tool is to stay.
    std::mem::forget(library);
    let Some(tool) = find.map(|find| find().cast::<Tool>()).filter(|tool| !tool.is_null()) else { return Ok(None) };
    // SAFETY: it begins with its length and its version in all versions.
    let (size, version) = unsafe { ((*tool).size, text((*tool).version).unwrap_or_default()) };
    if size != size_of::<Tool>() || version.as_bytes() != VERSION.to_bytes() {
        let ours = VERSION.to_str().unwrap_or_default();
        return Err(Absent::OtherTool { file: file.to_string_lossy().into_owned(), theirs: version, ours });
    }
    // SAFETY: it is as long as one of ours and of the same version, and stays.
    Ok(unsafe { tool.as_ref() })
}

/// What a tool was refused that it cannot do without.
pub(crate) fn failure(tool: &Tool) -> Option<(String, crate::abi::Status)> {
    if tool.failed_call.is_null() {
        return None;
    }
    // SAFETY: a text of the tool's that lasts as long as the process.
    let call = unsafe { CStr::from_ptr(tool.failed_call) }.to_string_lossy().into_owned();
    Some((call, crate::abi::Status(tool.failed_status)))
}
