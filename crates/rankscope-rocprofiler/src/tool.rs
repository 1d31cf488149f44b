//! [`Tool`]: what rocprofiler was asked to record, and what may be done with it afterwards.
//!
//! Everything is asked for once, while rocprofiler has its tools configured, which is before the first runtime is up; nothing can be asked
//! for later. So the tool is there before any session: two contexts, of which the one for names of kernels runs from then on, and the one
//! for work only while a session records. A session hands in whom records go to.
//!
//! The tool may be in another library than the session: `librankscope_rocprofiler.so`, which ROCm loads, has a copy of all of this, and a
//! program that records itself has its own. So a tool is a table of functions with C's calling convention, behind its length and version.
#![expect(unsafe_code, reason = "rocprofiler calls with pointers of its own, and a tool may be in another library")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rankscope_devices::{ApiCalls, CallSort};

use crate::abi::{CODE_OBJECT, Handle, Header, KERNEL_SYMBOL, KernelSymbol, Kind, LOAD, Status, Told};
use crate::library::Library;
use crate::names::Names;
use crate::streams::{self, Streams};

/// The version of rankscope, which both sides of a table have to be of.
pub(crate) const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

/// Bytes of rocprofiler's own buffer, of which it has two, and at how many it hands them over: some eleven thousand kernels.
const BUFFER_BYTES: usize = 4 << 20;
const HANDED_OVER_BYTES: usize = BUFFER_BYTES / 2;

/// Whom records go to while a session lasts. Neither may panic.
#[repr(C)]
pub(crate) struct Receivers {
    /// Records, so many, and how many rocprofiler has dropped so far.
    pub(crate) records: unsafe extern "C" fn(*const *const Header, usize, u64),
    /// What work of this kind belongs to that this thread gives to a device right now; zero is nothing.
    pub(crate) external: extern "C" fn(c_int) -> u64,
}

/// A tool, as whoever records sees it.
#[repr(C)]
pub(crate) struct Tool {
    /// Bytes of this.
    pub(crate) size: usize,
    pub(crate) version: *const c_char,
    /// What was refused: the call, and what it returned. Null is nothing that matters.
    pub(crate) failed_call: *const c_char,
    pub(crate) failed_status: c_int,
    /// What was refused of the services that work can do without.
    pub(crate) copies_status: c_int,
    pub(crate) calls_status: c_int,
    pub(crate) ties_status: c_int,
    pub(crate) streams_status: c_int,
    pub(crate) memory_status: c_int,
    pub(crate) scratch_status: c_int,
    pub(crate) graphs_status: c_int,
    /// Whether it knows which runtimes are up.
    pub(crate) tells_of_runtimes: c_int,
    pub(crate) receive: unsafe extern "C" fn(*const Receivers),
    pub(crate) start: extern "C" fn() -> c_int,
    pub(crate) stop: extern "C" fn() -> c_int,
    pub(crate) flush: extern "C" fn() -> c_int,
    pub(crate) kernel_name: extern "C" fn(u64) -> *const c_char,
    /// The stream of HIP and one that work of this call is on; zero where that is not known.
    pub(crate) stream: extern "C" fn(u64) -> u64,
    /// How many runtimes came up since.
    pub(crate) runtimes: extern "C" fn() -> u64,
}

// SAFETY: its pointers lead to texts that last as long as the process, and nothing in it changes.
unsafe impl Send for Tool {}
// SAFETY: as above.
unsafe impl Sync for Tool {}

/// What this copy of the code made.
struct Made {
    library: Library,
    work: Handle,
    buffer: Handle,
    tool: Tool,
}

static MADE: OnceLock<Made> = OnceLock::new();
static NAMES: Names = Names::new();
static STREAMS: Streams = Streams::new();
static RECEIVERS: AtomicPtr<Receivers> = AtomicPtr::new(ptr::null_mut());
static RUNTIMES: AtomicU64 = AtomicU64::new(0);
/// rocprofiler has ended, or is about to: it may not be asked for anything any more. Held while it is.
static ENDED: Mutex<bool> = Mutex::new(false);

/// That of this copy, if it was configured.
pub(crate) fn made() -> Option<&'static Tool> {
    MADE.get().map(|made| &made.tool)
}

/// Asks for everything. To be called while rocprofiler has tools configured. False where there will be nothing.
pub(crate) fn make(library: Library, which: ApiCalls) -> bool {
    let asked = ask(&library, which);
    let tool = Tool::of(&asked);
    let is_fine = tool.failed_call.is_null();
    let Asked { work, buffer, .. } = asked;
    MADE.set(Made { library, work, buffer, tool }).is_ok() && is_fine
}

/// rocprofiler ends: waits for who asks it for something, and has nobody ask any more.
pub(crate) fn end() {
    *ENDED.lock().unwrap_or_else(PoisonError::into_inner) = true;
}

/// What was asked for, and what came of it.
#[derive(Default)]
struct Asked {
    work: Handle,
    buffer: Handle,
    failed: Option<(&'static CStr, Status)>,
    copies: Option<Status>,
    calls: Option<Status>,
    ties: Option<Status>,
    streams: Option<Status>,
    memory: Option<Status>,
    scratch: Option<Status>,
    graphs: Option<Status>,
    /// One that does not tell has nobody know that it came too late.
    tells_of_runtimes: bool,
}

fn ask(library: &Library, which: ApiCalls) -> Asked {
    let mut asked = Asked::default();
    if let Err(failed) = ask_for_work(library, which, &mut asked) {
        asked.failed = Some(failed);
    }
    asked
}

fn ask_for_work(library: &Library, which: ApiCalls, asked: &mut Asked) -> Result<(), (&'static CStr, Status)> {
    let names = library.create_context().map_err(|status| (c"rocprofiler_create_context", status))?;
    let told = library.tell_at_once(names, CODE_OBJECT, &[KERNEL_SYMBOL], told);
    told.map_err(|status| (c"rocprofiler_configure_callback_tracing_service", status))?;
    asked.work = library.create_context().map_err(|status| (c"rocprofiler_create_context", status))?;
    let buffer = library.create_buffer(asked.work, BUFFER_BYTES, HANDED_OVER_BYTES, received);
    asked.buffer = buffer.map_err(|status| (c"rocprofiler_create_buffer", status))?;
    let trace = |kind, operations: &[c_int]| library.trace_into(asked.buffer, asked.work, kind, operations);
    trace(Kind::Dispatch, &[]).map_err(|status| (c"rocprofiler_configure_buffer_tracing_service", status))?;
    asked.copies = trace(Kind::Copy, &[]).err();
    asked.calls = trace(Kind::HipCall, &recorded(library, which)).err();
    asked.memory = trace(Kind::Memory, &[]).err();
    asked.scratch = trace(Kind::Scratch, &[]).err();
    asked.graphs = match &graph_launches(library)[..] {
        // An empty list would mean all calls.
        [] => Some(Status::NO_SUCH_KIND),
        calls => trace(Kind::GraphCall, calls).err(),
    };
    asked.ties = library.ask_for_external(asked.work, &Kind::TIED.map(|kind| kind as c_int), asked_for).err();
    asked.streams = library.tell_streams(asked.work, streams::told).err();
    asked.tells_of_runtimes = library.at_registration(registered);
    library.start(names).map_err(|status| (c"rocprofiler_start_context", status))
}

/// The calls that are to be recorded: those that are wanted, and those that launch work, whatever is wanted, because they have its ranges.
fn recorded(library: &Library, which: ApiCalls) -> Vec<c_int> {
    let is_recorded = |name: String| {
        let sort = CallSort::of(&name);
        sort == CallSort::Launch || which.records(sort)
    };
    let mut calls = library.hip_calls();
    calls.retain(|operation| library.hip_call(*operation).is_some_and(is_recorded));
    calls
}

/// The calls that launch graphs.
fn graph_launches(library: &Library) -> Vec<c_int> {
    let mut calls = library.hip_calls();
    calls.retain(|operation| library.hip_call(*operation).is_some_and(|name| name.starts_with("hipGraphLaunch")));
    calls
}

impl Tool {
    fn of(asked: &Asked) -> Self {
        let number = |status: Option<Status>| status.map_or(0, |status| status.0);
        Self {
            size: size_of::<Self>(),
            version: VERSION.as_ptr(),
            failed_call: asked.failed.map_or(ptr::null(), |(call, _)| call.as_ptr()),
            failed_status: number(asked.failed.map(|(_, status)| status)),
            copies_status: number(asked.copies),
            calls_status: number(asked.calls),
            ties_status: number(asked.ties),
            streams_status: number(asked.streams),
            memory_status: number(asked.memory),
            scratch_status: number(asked.scratch),
            graphs_status: number(asked.graphs),
            tells_of_runtimes: asked.tells_of_runtimes.into(),
            receive,
            start,
            stop,
            flush,
            kernel_name,
            stream,
            runtimes,
        }
    }
}

/// From now on these are called; they live as long as the process.
unsafe extern "C" fn receive(receivers: *const Receivers) {
    RECEIVERS.store(receivers.cast_mut(), Ordering::Release);
}

extern "C" fn start() -> c_int {
    unless_ended(|made| made.library.start(made.work))
}

extern "C" fn stop() -> c_int {
    unless_ended(|made| made.library.stop(made.work))
}

extern "C" fn flush() -> c_int {
    unless_ended(|made| made.library.flush(made.buffer))
}

extern "C" fn kernel_name(kernel: u64) -> *const c_char {
    NAMES.find(kernel)
}

extern "C" fn stream(call: u64) -> u64 {
    STREAMS.find(call)
}

extern "C" fn runtimes() -> u64 {
    RUNTIMES.load(Ordering::Relaxed)
}

fn unless_ended(ask: impl FnOnce(&Made) -> Result<(), Status>) -> c_int {
    let ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    match MADE.get() {
        Some(made) if !*ended => ask(made).map_or_else(|status| status.0, |()| Status::SUCCESS.0),
        _ => Status::ENDED.0,
    }
}

fn receivers() -> Option<&'static Receivers> {
    // SAFETY: null, or what a session handed in for good.
    unsafe { RECEIVERS.load(Ordering::Acquire).as_ref() }
}

/// rocprofiler hands records over, on a thread of its own.
unsafe extern "C" fn received(
    _context: Handle,
    _buffer: Handle,
    records: *const *const Header,
    count: usize,
    _: *mut c_void,
    dropped: u64,
) {
    if let Some(receivers) = receivers() {
        // SAFETY: what rocprofiler was given, with what it gave.
        unsafe { (receivers.records)(records, count, dropped) };
    }
}

/// rocprofiler asks what a call or some work belongs to, on the thread that makes it.
unsafe extern "C" fn asked_for(
    _thread: u64,
    _context: Handle,
    kind: c_int,
    _operation: c_int,
    internal: u64,
    external: *mut u64,
    _: *mut c_void,
) -> c_int {
    if kind != Kind::HipCall as c_int {
        STREAMS.note(internal);
    }
    // SAFETY: the place for the answer, or null.
    if let Some(external) = unsafe { external.as_mut() } {
        *external = receivers().map_or(0, |receivers| (receivers.external)(kind));
    }
    0
}

/// rocprofiler tells of the symbol of a kernel, on the thread that loads it.
unsafe extern "C" fn told(record: Told, _: *mut u64, _: *mut c_void) {
    if (record.kind, record.operation, record.phase) != (CODE_OBJECT, KERNEL_SYMBOL, LOAD) {
        return;
    }
    // SAFETY: of this kind and operation it is such a symbol, which says how long it is.
    let symbol = unsafe { record.payload.cast::<KernelSymbol>().as_ref() };
    let Some(symbol) = symbol.filter(|symbol| symbol.size >= size_of::<KernelSymbol>() as u64) else { return };
    if !symbol.name.is_null() {
        // SAFETY: a text of the code object's, which ends in a zero byte.
        NAMES.keep(symbol.kernel, unsafe { CStr::from_ptr(symbol.name) });
    }
}

/// A runtime is up.
unsafe extern "C" fn registered(_: c_int, _: u64, _: u64, _: *mut *mut c_void, _: u64, _: *mut c_void) {
    RUNTIMES.fetch_add(1, Ordering::Relaxed);
}
