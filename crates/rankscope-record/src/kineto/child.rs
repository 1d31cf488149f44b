//! Threads that join and leave the profiler (recorder specification, section 1.4.5).
//!
//! The events of every thread are recorded whether it joins or not, so joining does nothing; the contract is kept nevertheless,
//! because code that polls and joins relies on its errors. A thread that never left an earlier profiler may join the next.

use std::cell::Cell;

use super::{KinetoError, current_thread_id, slot};

thread_local! {
    /// The profiler this thread joined; zero for none.
    static JOINED: Cell<u64> = const { Cell::new(0) };
}

/// Joins the profiler.
///
/// # Errors
/// [`KinetoError::MainNotEnabled`], and [`KinetoError::AlreadyJoined`] also for the thread that enabled it.
pub fn enable_profiler_in_child_thread() -> Result<(), KinetoError> {
    let slot = slot::lock();
    let active = slot.joinable().ok_or(KinetoError::MainNotEnabled)?;
    if JOINED.get() == active.generation || active.thread == current_thread_id() {
        return Err(KinetoError::AlreadyJoined);
    }
    JOINED.set(active.generation);
    Ok(())
}

/// Leaves the profiler, which may have been disabled by now.
///
/// # Errors
/// [`KinetoError::NotJoined`].
pub fn disable_profiler_in_child_thread() -> Result<(), KinetoError> {
    if JOINED.replace(0) == 0 { Err(KinetoError::NotJoined) } else { Ok(()) }
}
