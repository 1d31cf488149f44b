//! What is called and read of rocprofiler-sdk 1.x: numbers, signatures and offsets, written by hand.
//!
//! The one idea is that a record is bytes with fields at known places, so that nothing is read which a record is too short for. Handles of
//! rocprofiler are structures of one word, which are passed as that word. What is not here: calling anything.

use std::ffi::{c_char, c_int, c_void};

mod record;
mod status;

pub use record::layouts;
pub(crate) use record::{
    Agent, AgentUuid, Allocation, AllocationAfterAncestor, Copy, Dispatch, GraphCall, HipCall, HipCallAfterAncestor, HipStream,
    RecordStart, Scratch, ScratchAfterAncestor,
};
pub use status::Status;

/// A context, a buffer, an agent, a thread.
pub(crate) type Handle = u64;

/// The category of records that are read.
pub(crate) const TRACING: u32 = 1;

/// An agent that is a host.
pub(crate) const CPU: u32 = 1;

/// An agent that is a GPU.
pub(crate) const GPU: u32 = 2;

/// The version of agents' structures.
pub(crate) const AGENT_VERSION: c_int = 1;

/// A full buffer has its writers wait until the other half of it is free, which takes as long as a copy. The other policy has only one
/// half, and loses whatever comes while that is handed over.
pub(crate) const LOSSLESS: c_int = 2;

/// Tables of the runtimes that give work to devices: HSA's, and HIP's.
pub(crate) const RUNTIME_TABLES: c_int = 1 | 2;

/// A service that puts records into a buffer, by the number of their kind. What such a record belongs to is asked by the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    HipCall = 5,
    Copy = 10,
    Dispatch = 11,
    Scratch = 12,
    Memory = 16,
    GraphCall = 21,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Dispatch, Self::Copy, Self::HipCall, Self::Scratch, Self::Memory, Self::GraphCall];

    /// Those whose records bring what they belong to.
    pub(crate) const TIED: [Self; 3] = [Self::Dispatch, Self::Copy, Self::HipCall];

    pub(crate) fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// What the library calls the service, where versions before 1.0 had another one under its number.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::HipCall | Self::Copy | Self::Dispatch => None,
            Self::Scratch => Some("SCRATCH_MEMORY"),
            Self::Memory => Some("MEMORY_ALLOCATION"),
            // Calls with their arguments, of which only launches of graphs are asked for.
            Self::GraphCall => Some("HIP_RUNTIME_API_EXT"),
        }
    }
}

/// The service that tells of code objects, and of those the symbols of kernels, while they are loaded.
pub(crate) const CODE_OBJECT: c_int = 10;
pub(crate) const KERNEL_SYMBOL: c_int = 2;
pub(crate) const LOAD: c_int = 1;

/// The service that tells which stream of HIP a call is about, before it and after it, and what it is called where there is one.
pub(crate) const HIP_STREAM: c_int = 20;
pub(crate) const HIP_STREAM_NAME: &str = "HIP_STREAM";
pub(crate) const STREAM_SET: c_int = 3;
pub(crate) const ENTER: c_int = 1;
pub(crate) const EXIT: c_int = 2;

/// What a service tells at once.
#[repr(C)]
pub(crate) struct Told {
    pub(crate) context: Handle,
    pub(crate) thread: u64,
    pub(crate) internal: u64,
    pub(crate) external: u64,
    pub(crate) ancestor: u64,
    pub(crate) kind: c_int,
    pub(crate) operation: c_int,
    pub(crate) phase: c_int,
    pub(crate) payload: *const c_void,
}

/// The symbol of a kernel.
#[repr(C)]
pub(crate) struct KernelSymbol {
    pub(crate) size: u64,
    pub(crate) kernel: u64,
    pub(crate) code_object: u64,
    pub(crate) name: *const c_char,
}

/// A record in a buffer.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) category: u32,
    pub(crate) kind: u32,
    pub(crate) payload: *const u8,
}

/// Who a tool is.
#[repr(C)]
pub(crate) struct Client {
    pub(crate) name: *const c_char,
    pub(crate) handle: u32,
}

/// What a tool answers when it is asked to be configured.
#[repr(C)]
pub(crate) struct Configured {
    pub(crate) size: usize,
    pub(crate) initialize: Option<unsafe extern "C" fn(*const c_void, *mut c_void) -> c_int>,
    pub(crate) finalize: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(crate) tool_data: *mut c_void,
}

/// Asks a tool to be configured: the version, what that is called, how many were asked before, who it is.
pub(crate) type Configure = unsafe extern "C" fn(u32, *const c_char, u32, *mut Client) -> *mut Configured;
/// Is handed records: the context, the buffer, the records and their number, a word of ours, how many were dropped so far.
pub(crate) type Received = unsafe extern "C" fn(Handle, Handle, *const *const Header, usize, *mut c_void, u64);
/// Is asked for an external id: the thread, the context, of what, of which operation, rocprofiler's own id, the place for it, a word of ours.
pub(crate) type Asked = unsafe extern "C" fn(u64, Handle, c_int, c_int, u64, *mut u64, *mut c_void) -> c_int;
/// Is told something at once.
pub(crate) type ToldAtOnce = unsafe extern "C" fn(Told, *mut u64, *mut c_void);
/// Is told that a runtime is there: which, its version, the how many-th, its tables and their number, a word of ours.
pub(crate) type Registered = unsafe extern "C" fn(c_int, u64, u64, *mut *mut c_void, u64, *mut c_void);
/// Is told an operation of a kind.
pub(crate) type Operation = unsafe extern "C" fn(c_int, c_int, *mut c_void) -> c_int;
/// Is told all agents: the version, pointers to them and their number, a word of ours.
pub(crate) type Agents = unsafe extern "C" fn(c_int, *const *const u8, usize, *mut c_void) -> c_int;

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Told>() == 64 && offset_of!(Told, kind) == 40 && offset_of!(Told, payload) == 56);
    assert!(size_of::<Header>() == 16 && offset_of!(Header, payload) == 8);
    assert!(size_of::<Client>() == 16 && size_of::<Configured>() == 32 && offset_of!(KernelSymbol, name) == 24);
};
