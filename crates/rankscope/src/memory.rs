//! Giving memory back between reading and judging.
//!
//! Threads that read traces leave their arenas of the heap full of holes, from which the one thread that judges takes nothing: without
//! this, a job of many collectives takes half as much memory again. No other allocator than glibc's is helped.

/// Gives what is free back to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() {
    #[expect(
        unsafe_code,
        reason = "a function of the C library that takes a number, and may be called at any time from any thread"
    )]
    // SAFETY: malloc_trim has no requirements.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Nothing to do.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
