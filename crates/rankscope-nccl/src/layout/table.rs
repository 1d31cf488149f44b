//! The tables of functions that NCCL looks for, and what is passed to those beside descriptors.

use std::ffi::{c_char, c_int, c_void};

/// Starts an event: context, where its handle goes, descriptor.
pub type StartEvent = unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *mut c_void) -> c_int;
/// Stops an event.
pub type StopEvent = unsafe extern "C" fn(*mut c_void) -> c_int;
/// Tells that an event has come to a state; the arguments may be null.
pub type RecordState = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void) -> c_int;
/// Ends what an init began.
pub type Finalize = unsafe extern "C" fn(*mut c_void) -> c_int;
/// NCCL's own log; null where none is given.
pub type Logger = *mut c_void;

/// Begins, in versions 1 to 3: where the context goes, where the mask goes.
pub type InitOf1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
/// Begins, in version 4: context, mask, name, hash, nodes, ranks, rank, log.
pub type InitOf4 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *const c_char, u64, c_int, c_int, c_int, Logger) -> c_int;
/// Begins, in versions 5 to 7: context, id, mask, name, nodes, ranks, rank, log.
pub type InitOf5 = unsafe extern "C" fn(*mut *mut c_void, u64, *mut c_int, *const c_char, c_int, c_int, c_int, Logger) -> c_int;

macro_rules! profiler {
    ($(#[$doc:meta])* $name:ident, $init:ty) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name {
            /// What the plugin is called.
            pub name: *const c_char,
            /// A communicator begins.
            pub init: $init,
            /// An event starts.
            pub start_event: StartEvent,
            /// An event stops.
            pub stop_event: StopEvent,
            /// An event has come to a state.
            pub record_state: RecordState,
            /// A communicator ends.
            pub finalize: Finalize,
        }

        const _: () = assert!(std::mem::size_of::<$name>() == 48);

        #[expect(unsafe_code, reason = "a table that nobody changes may be read by every thread")]
        // SAFETY: the name is a constant text, and functions are shared by all threads anyway.
        unsafe impl Sync for $name {}
    };
}

profiler! {
    /// The table of versions 1 to 3.
    ProfilerOf1, InitOf1
}
profiler! {
    /// The table of version 4.
    ProfilerOf4, InitOf4
}
profiler! {
    /// The table of versions 5 to 7.
    ProfilerOf5, InitOf5
}

/// Arguments of a state in versions 1 to 3.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StateArgs1 {
    /// Bytes that were transferred, or operations that were appended.
    pub transferred: usize,
    /// Steps that were done.
    pub steps: c_int,
}
const _: () = assert!(std::mem::size_of::<StateArgs1>() == 16 && std::mem::offset_of!(StateArgs1, steps) == 8);

/// Arguments of a state from version 4 on: which of them is meant, the state says.
#[repr(C)]
#[derive(Clone, Copy)]
pub union StateArgs4 {
    /// Bytes that were transferred.
    pub transferred: usize,
    /// Operations that were appended.
    pub appended: c_int,
    /// Data of a network's plugin.
    pub data: *mut c_void,
    /// The GPU's clock when a channel or a phase stopped.
    pub gpu_ns: u64,
}
const _: () = assert!(std::mem::size_of::<StateArgs4>() == 8);

/// Arguments of a state in RCCL's version 6, of which the first word is that of [`StateArgs4`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StateArgsRccl6 {
    /// As in version 4, or which diagnosis of a proxy and its flags.
    pub common: StateArgs4,
    /// A value of the diagnosis.
    pub value: i64,
    /// Another one.
    pub second: i64,
}
const _: () = assert!(std::mem::size_of::<StateArgsRccl6>() == 24 && std::mem::offset_of!(StateArgsRccl6, value) == 8);
