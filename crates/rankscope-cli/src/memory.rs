//! Giving memory back: large blocks at once, the rest between reading and judging. And keeping to what rows may take.
//!
//! Threads that read traces leave their arenas of the heap full of holes, from which the one thread that judges takes nothing: without
//! this, a job of many collectives takes half as much memory again. No other allocator than glibc's is helped.

use std::sync::{Arc, Mutex, PoisonError};

use rankscope_pipeline::ScratchFiles;

use crate::output;

static SCRATCH: Mutex<Option<Arc<ScratchFiles>>> = Mutex::new(None);

/// Rows of collectives take `bytes` of memory at most from now on, or a share of the machine's, and go to files beyond half of that.
pub fn bound_rows(bytes: Option<u64>) {
    *SCRATCH.lock().unwrap_or_else(PoisonError::into_inner) = Some(ScratchFiles::install(bytes));
}

/// Says why rows took more memory than they should have, if they did.
pub fn say_what_was_not_bound() {
    let scratch = SCRATCH.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(failure) = scratch.as_ref().and_then(|files| files.failure()) {
        output::remark(&format!(
            "rankscope: rows were kept in memory, as no temporary file could be made: {failure}; RANKSCOPE_SCRATCH names another folder"
        ));
    }
}

/// Blocks of so many bytes are mapped by themselves, and go back to the system as soon as they are free. Left to itself glibc takes
/// ever larger ones from its heap, once one of their size was freed: the columns of traces leave it full of holes then.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED_BYTES: libc::c_int = 1 << 20;

/// What a heap keeps at its end of what was freed: room for one file, which the next one takes again. Left to itself glibc gives it back after
/// each, and it comes anew as pages that the system clears first.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 1 << 20;

/// To be called before any other thread runs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn map_large_blocks() {
    #[expect(unsafe_code, reason = "a function of the C library that takes two numbers")]
    // SAFETY: mallopt has no requirements.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_BYTES);
    }
}

/// Nothing to do.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn map_large_blocks() {}

/// Gives what is free back to the system. One thread judges from now on, and uses again what it gives back to its heap: blocks that
/// are mapped by themselves would come as pages that the system clears first, each time anew.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    #[expect(
        unsafe_code,
        reason = "functions of the C library that take numbers, and may be called at any time from any thread"
    )]
    // SAFETY: neither malloc_trim nor mallopt has requirements.
    unsafe {
        libc::malloc_trim(0);
        libc::mallopt(libc::M_MMAP_THRESHOLD, HEAP_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, HEAP_BYTES);
    }
}

/// The largest that the C library takes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAP_BYTES: libc::c_int = 32 << 20;

/// Nothing to do.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}
