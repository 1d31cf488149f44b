//! The seven tables that NCCL looks for, and the functions in them. Each function translates and does nothing else.
#![expect(unsafe_code, reason = "C calls, and passes pointers")]

use std::ffi::{CStr, c_char, c_int, c_void};

use crate::chain::Chain;
use crate::comms::Comm;
use crate::edge::guarded;
use crate::layout::{
    Descriptor1, Descriptor2, Descriptor3, Descriptor4, Descriptor5, Descriptor6, Descriptor7, Logger, ProfilerOf1,
    ProfilerOf4, ProfilerOf5, StateArgs4,
};
use crate::library::Library;
use crate::process;
use crate::translate::{Described, read};

/// What every function returns: NCCL reacts to an error of one communicator by ending a profiler that it goes on to call.
const SUCCESS: c_int = 0;

const NAME: *const c_char = c"rankscope".as_ptr();

/// A communicator begins.
///
/// # Safety
/// `context` and `mask` may be written or are null; `name` is null or a text that ends in a zero byte.
unsafe fn begin(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    comm: Comm,
    interface: u8,
    log: Logger,
) -> c_int {
    let (made, wanted) = guarded((u64::MAX, 0), || {
        let place = name;
        let name = if name.is_null() {
            String::new()
        } else {
            // SAFETY: the caller's promise.
            unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
        };
        // SAFETY: the caller's promise.
        let chained = |chain: &Chain, slot| unsafe { chain.begin(slot, comm.hash, place, signed(&comm), log) };
        process::begin(&Comm { name, ..comm.clone() }, interface, || Library::of_logger(log), chained)
    });
    // SAFETY: the caller's promise. The mask is NCCL's own number, which its other threads read.
    unsafe {
        if let Some(context) = context.as_mut() {
            *context = made as *mut c_void;
        }
        if let Some(mask) = mask.as_mut() {
            *mask = wanted;
        }
    }
    SUCCESS
}

fn comm(hash: u64, nodes: c_int, ranks: c_int, rank: c_int) -> Comm {
    let number = |number: c_int| u32::try_from(number).unwrap_or(0);
    Comm { hash, ranks: number(ranks), nodes: number(nodes), rank: number(rank), name: String::new() }
}

/// The numbers as NCCL has them: nodes, ranks, rank.
fn signed(comm: &Comm) -> (c_int, c_int, c_int) {
    (comm.nodes.cast_signed(), comm.ranks.cast_signed(), comm.rank.cast_signed())
}

unsafe extern "C" fn init_1<const INTERFACE: u8>(context: *mut *mut c_void, mask: *mut c_int) -> c_int {
    // SAFETY: NCCL's promise.
    unsafe { begin(context, mask, std::ptr::null(), Comm::default(), INTERFACE, std::ptr::null_mut()) }
}

unsafe extern "C" fn init_4(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    hash: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    log: Logger,
) -> c_int {
    // SAFETY: NCCL's promise.
    unsafe { begin(context, mask, name, comm(hash, nodes, ranks, rank), 4, log) }
}

unsafe extern "C" fn init_5<const INTERFACE: u8>(
    context: *mut *mut c_void,
    id: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    log: Logger,
) -> c_int {
    // SAFETY: NCCL's promise.
    unsafe { begin(context, mask, name, comm(id, nodes, ranks, rank), INTERFACE, log) }
}

unsafe extern "C" fn start_event<D: Described>(
    context: *mut c_void,
    handle: *mut *mut c_void,
    descriptor: *mut c_void,
) -> c_int {
    let made = guarded(0, || {
        let Some(process) = process::get() else { return 0 };
        // SAFETY: NCCL passes a descriptor of the version whose table this function is in.
        let start = unsafe { read::<D>(descriptor) };
        let Some(start) = start else { return 0 };
        let made = process.start_event(context as u64, &start);
        if let Some(chain) = process.chain()
            && D::IS_CHAINED
            && let Some(slot) = process.comm(context as u64)
        {
            let handles = process.handles();
            // SAFETY: the descriptor is NCCL's, of a version that is chained.
            unsafe { chain.start_event(slot, handles.number(made), start.sort, handles, descriptor) };
        }
        made
    });
    // SAFETY: NCCL passes a place for the handle. It is always written: with nothing in it, NCCL would keep what was there.
    if let Some(handle) = unsafe { handle.as_mut() } {
        *handle = made as *mut c_void;
    }
    SUCCESS
}

unsafe extern "C" fn stop_event(handle: *mut c_void) -> c_int {
    guarded((), || {
        if let Some(process) = process::get() {
            process.stop_event(handle as u64);
        }
    });
    SUCCESS
}

/// States of versions 1 to 3, which say nothing of the GPU.
unsafe extern "C" fn record_state_1(handle: *mut c_void, state: c_int, _args: *mut c_void) -> c_int {
    guarded((), || {
        if let Some(process) = process::get() {
            process.record_state(handle as u64, state, None, |_, _| {});
        }
    });
    SUCCESS
}

unsafe extern "C" fn record_state_4(handle: *mut c_void, state: c_int, args: *mut c_void) -> c_int {
    guarded((), || {
        let Some(process) = process::get() else { return };
        // SAFETY: the arguments are null or as long as one word, which is a number whatever it stands for.
        let gpu_ns = unsafe { args.cast::<StateArgs4>().as_ref().map(|args| args.gpu_ns) };
        // SAFETY: NCCL's arguments for this state.
        process.record_state(handle as u64, state, gpu_ns, |chain, number| unsafe { chain.record_state(number, state, args) });
    });
    SUCCESS
}

unsafe extern "C" fn finalize(context: *mut c_void) -> c_int {
    guarded((), || {
        if let Some(process) = process::get() {
            process.end(context as u64);
        }
    });
    SUCCESS
}

macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $profiler:ident, $init:expr, $descriptor:ty, $record_state:expr;)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub static $table: $profiler = $profiler {
                name: NAME,
                init: $init,
                start_event: start_event::<$descriptor>,
                stop_event,
                record_state: $record_state,
                finalize,
            };
        )*
    };
}

tables! {
    /// NCCL 2.23.
    ncclProfiler_v1: ProfilerOf1, init_1::<1>, Descriptor1, record_state_1;
    /// NCCL 2.24 and 2.25.
    ncclProfiler_v2: ProfilerOf1, init_1::<2>, Descriptor2, record_state_1;
    /// NCCL 2.26.
    ncclProfiler_v3: ProfilerOf1, init_1::<3>, Descriptor3, record_state_1;
    /// NCCL 2.27.
    ncclProfiler_v4: ProfilerOf4, init_4, Descriptor4, record_state_4;
    /// NCCL 2.28.
    ncclProfiler_v5: ProfilerOf5, init_5::<5>, Descriptor5, record_state_4;
    /// NCCL 2.29 and 2.30, and RCCL.
    ncclProfiler_v6: ProfilerOf5, init_5::<6>, Descriptor6, record_state_4;
    /// NCCL 2.31 and later.
    ncclProfiler_v7: ProfilerOf5, init_5::<7>, Descriptor7, record_state_4;
}
