//! [`Library`]: the functions of rocprofiler-sdk that are called, found once, and called from nowhere else.
//!
//! A library that is loaded stays loaded to the end of the process. What may only be called while a tool is configured is in
//! [`crate::tool`], by these functions.
#![expect(unsafe_code, reason = "functions of another library are called by their documented signatures")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use rankscope_devices::{functions, open_first, text};

use crate::abi::{Agents, Asked, Configure, Handle, Kind, Operation, Received, Registered, Status, ToldAtOnce};
use crate::absent::Absent;
use crate::agents::Gpus;
use crate::places::Places;

functions! {
    /// The functions, as they were found.
    Functions
    needed {
        get_version: "rocprofiler_get_version" = fn(*mut u32, *mut u32, *mut u32);
        get_timestamp: "rocprofiler_get_timestamp" = fn(*mut u64);
        force_configure: "rocprofiler_force_configure" = fn(Configure);
        query_agents: "rocprofiler_query_available_agents" = fn(c_int, Agents, usize, *mut c_void);
        create_context: "rocprofiler_create_context" = fn(*mut Handle);
        start_context: "rocprofiler_start_context" = fn(Handle);
        stop_context: "rocprofiler_stop_context" = fn(Handle);
        create_buffer: "rocprofiler_create_buffer" = fn(Handle, usize, usize, c_int, Received, *mut c_void, *mut Handle);
        flush_buffer: "rocprofiler_flush_buffer" = fn(Handle);
        trace_into: "rocprofiler_configure_buffer_tracing_service" = fn(Handle, c_int, *const c_int, usize, Handle);
        tell_at_once: "rocprofiler_configure_callback_tracing_service"
            = fn(Handle, c_int, *const c_int, usize, ToldAtOnce, *mut c_void);
        ask_for_external: "rocprofiler_configure_external_correlation_id_request_service"
            = fn(Handle, *const c_int, usize, Asked, *mut c_void);
        iterate_operations: "rocprofiler_iterate_buffer_tracing_kind_operations" = fn(c_int, Operation, *mut c_void);
        operation_name: "rocprofiler_query_buffer_tracing_kind_operation_name"
            = fn(c_int, c_int, *mut *const c_char, *mut u64);
    }
    known {
        buffer_kind_name: "rocprofiler_query_buffer_tracing_kind_name" = fn(c_int, *mut *const c_char, *mut u64);
        callback_kind_name: "rocprofiler_query_callback_tracing_kind_name" = fn(c_int, *mut *const c_char, *mut u64);
        at_registration: "rocprofiler_at_intercept_table_registration" = fn(Registered, c_int, *mut c_void);
    }
}

/// rocprofiler-sdk, loaded.
pub(crate) struct Library {
    /// The file it is in.
    pub(crate) file: String,
    functions: Functions,
}

impl Library {
    /// The first of `places` that is one.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn load(places: &Places) -> Result<Self, Absent> {
        // SAFETY: the user asked for rocprofiler, and with that for its initialisers to run.
        let opened = unsafe { open_first(&places.mapped, &places.others) };
        let (file, loaded) = opened.map_err(|tried| Absent::NoLibrary { tried })?;
        // SAFETY: these are the types of its public functions, which are fixed within a major version.
        let functions = unsafe { Functions::of(&loaded) };
        // It has threads, and calls us until the end of the process.
        std::mem::forget(loaded);
        match functions {
            Ok(functions) => Ok(Self { file, functions }),
            Err(symbol) => Err(Absent::Incomplete { file, symbol }),
        }
    }

    /// Its version, in three numbers.
    pub(crate) fn version(&self) -> Result<[u32; 3], Status> {
        let [mut major, mut minor, mut patch] = [0; 3];
        // SAFETY: the words are ours; so below wherever only words of ours and numbers are passed.
        let status = unsafe { (self.functions.get_version)(&raw mut major, &raw mut minor, &raw mut patch) };
        Status(status).done().map(|()| [major, minor, patch])
    }

    /// What its clock shows; an error is told as the status.
    pub(crate) fn timestamp_ns(&self) -> Result<u64, Status> {
        let mut ns = 0;
        // SAFETY: see `version`.
        Status(unsafe { (self.functions.get_timestamp)(&raw mut ns) }).done().map(|()| ns)
    }

    /// Has it configured now, by this tool and all others that it finds.
    pub(crate) fn force_configure(&self, tool: Configure) -> Result<(), Status> {
        // SAFETY: the function lives as long as the process.
        Status(unsafe { (self.functions.force_configure)(tool) }).done()
    }

    /// Its GPUs, with as much as this version has of them.
    pub(crate) fn gpus(&self) -> Result<Gpus, Status> {
        let [whole, least] = crate::agents::AGENT_BYTES;
        self.gpus_in(whole).or_else(|_| self.gpus_in(least))
    }

    fn gpus_in(&self, bytes: usize) -> Result<Gpus, Status> {
        let mut gpus = Gpus::default();
        let place = (&raw mut gpus).cast();
        let ask = self.functions.query_agents;
        // SAFETY: the function is called before this returns, with the place that it is for.
        let status = unsafe { ask(crate::abi::AGENT_VERSION, Gpus::told, bytes, place) };
        Status(status).done().map(|()| gpus)
    }

    pub(crate) fn create_context(&self) -> Result<Handle, Status> {
        // It must be zero before.
        let mut context = 0;
        // SAFETY: see `version`.
        Status(unsafe { (self.functions.create_context)(&raw mut context) }).done().map(|()| context)
    }

    pub(crate) fn start(&self, context: Handle) -> Result<(), Status> {
        // SAFETY: a number.
        Status(unsafe { (self.functions.start_context)(context) }).done()
    }

    pub(crate) fn stop(&self, context: Handle) -> Result<(), Status> {
        // SAFETY: a number.
        Status(unsafe { (self.functions.stop_context)(context) }).done()
    }

    /// A buffer of so many bytes, which is handed to `received` when so many are filled.
    pub(crate) fn create_buffer(&self, context: Handle, bytes: usize, filled: usize, to: Received) -> Result<Handle, Status> {
        let mut buffer = 0;
        let create = self.functions.create_buffer;
        // SAFETY: the function lives as long as the process, and the word is ours.
        let status = unsafe { create(context, bytes, filled, crate::abi::LOSSLESS, to, ptr::null_mut(), &raw mut buffer) };
        Status(status).done().map(|()| buffer)
    }

    /// Has a buffer handed over; returns when it was.
    pub(crate) fn flush(&self, buffer: Handle) -> Result<(), Status> {
        // SAFETY: a number.
        Status(unsafe { (self.functions.flush_buffer)(buffer) }).done()
    }

    /// Records of this kind go into the buffer; with operations, only theirs.
    ///
    /// # Errors
    /// This version has another service under the kind's number, or refuses it.
    pub(crate) fn trace_into(&self, buffer: Handle, context: Handle, kind: Kind, operations: &[c_int]) -> Result<(), Status> {
        if kind
            .name()
            .is_some_and(|name| self.kind_name(self.functions.buffer_kind_name, kind as c_int).as_deref() != Some(name))
        {
            return Err(Status::NO_SUCH_KIND);
        }
        let (first, count) = list(operations);
        // SAFETY: a list of so many numbers.
        Status(unsafe { (self.functions.trace_into)(context, kind as c_int, first, count, buffer) }).done()
    }

    /// `told` is told of these operations at once.
    pub(crate) fn tell_at_once(
        &self,
        context: Handle,
        kind: c_int,
        operations: &[c_int],
        told: ToldAtOnce,
    ) -> Result<(), Status> {
        let (first, count) = list(operations);
        // SAFETY: as above, and the function lives as long as the process.
        Status(unsafe { (self.functions.tell_at_once)(context, kind, first, count, told, ptr::null_mut()) }).done()
    }

    /// `told` is told which stream of HIP calls are about, where this version has a service that does so.
    ///
    /// # Errors
    /// It has none of that name under its number, or refuses it.
    pub(crate) fn tell_streams(&self, context: Handle, told: ToldAtOnce) -> Result<(), Status> {
        let name = self.kind_name(self.functions.callback_kind_name, crate::abi::HIP_STREAM);
        match name.filter(|name| name.starts_with(crate::abi::HIP_STREAM_NAME)) {
            Some(_) => self.tell_at_once(context, crate::abi::HIP_STREAM, &[crate::abi::STREAM_SET], told),
            None => Err(Status::NO_SUCH_KIND),
        }
    }

    /// What a service is called.
    fn kind_name(&self, ask: Option<KindName>, kind: c_int) -> Option<String> {
        let (mut name, mut length) = (ptr::null(), 0);
        // SAFETY: the library puts the address of a text of its own there, which ends in a zero byte.
        let status = unsafe { ask?(kind, &raw mut name, &raw mut length) };
        // SAFETY: see above.
        if status == 0 { unsafe { text(name) } } else { None }
    }

    /// `asked` is asked what records of these kinds belong to.
    pub(crate) fn ask_for_external(&self, context: Handle, kinds: &[c_int], asked: Asked) -> Result<(), Status> {
        let (first, count) = list(kinds);
        // SAFETY: as above.
        Status(unsafe { (self.functions.ask_for_external)(context, first, count, asked, ptr::null_mut()) }).done()
    }

    /// `registered` is told when runtimes are up. False where this version tells nobody.
    pub(crate) fn at_registration(&self, registered: Registered) -> bool {
        // SAFETY: the function lives as long as the process.
        let ask = |at: AtRegistration| unsafe { at(registered, crate::abi::RUNTIME_TABLES, ptr::null_mut()) };
        self.functions.at_registration.is_some_and(|at| ask(at) == 0)
    }

    /// The numbers of all calls of the HIP runtime.
    pub(crate) fn hip_calls(&self) -> Vec<c_int> {
        unsafe extern "C" fn keep(_kind: c_int, operation: c_int, numbers: *mut c_void) -> c_int {
            // SAFETY: the place that was passed along, whose owner waits. Numbers are few; the bound is for a library that repeats itself.
            let numbers = unsafe { &mut *numbers.cast::<Vec<c_int>>() };
            if numbers.len() < CALLS_MAX {
                numbers.push(operation);
            }
            0
        }
        let mut numbers: Vec<c_int> = Vec::new();
        // SAFETY: the function is called before this returns. What it returns says nothing that the list does not say.
        unsafe { (self.functions.iterate_operations)(Kind::HipCall as c_int, keep, (&raw mut numbers).cast()) };
        numbers
    }

    /// What a call of the HIP runtime is called.
    pub(crate) fn hip_call(&self, operation: c_int) -> Option<String> {
        let (mut name, mut length) = (ptr::null(), 0);
        let ask = self.functions.operation_name;
        // SAFETY: the library puts the address of a text of its own there, which ends in a zero byte.
        let status = unsafe { ask(Kind::HipCall as c_int, operation, &raw mut name, &raw mut length) };
        // SAFETY: see above.
        if status == 0 { unsafe { text(name) } } else { None }
    }
}

type KindName = unsafe extern "C" fn(c_int, *mut *const c_char, *mut u64) -> c_int;
type AtRegistration = unsafe extern "C" fn(Registered, c_int, *mut c_void) -> c_int;

/// More than a runtime has.
const CALLS_MAX: usize = 1 << 16;

/// As lists are passed: an empty one is null, and means all.
fn list(numbers: &[c_int]) -> (*const c_int, usize) {
    if numbers.is_empty() { (ptr::null(), 0) } else { (numbers.as_ptr(), numbers.len()) }
}
