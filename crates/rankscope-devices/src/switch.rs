//! [`Switch`]: whether callbacks, which may come at any time, have something to do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Of what callbacks of a profiler reach, one for the process and for good: who uses it.
#[derive(Debug)]
pub struct Switch {
    process: u32,
    /// A session records.
    is_recording: AtomicBool,
    /// A callback panicked; nothing is done in them any more.
    is_off: AtomicBool,
}

impl Switch {
    /// One of this process, which no session uses.
    #[expect(clippy::new_without_default, reason = "it is of the process that makes it, and of none by default")]
    pub fn new() -> Self {
        Self { process: std::process::id(), is_recording: AtomicBool::new(false), is_off: AtomicBool::new(false) }
    }

    /// Whether there was no fork since.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    /// Takes it for a session. False where another has it.
    pub fn begin(&self) -> bool {
        !self.is_recording.swap(true, Ordering::AcqRel)
    }

    /// The session has ended.
    pub fn end(&self) {
        self.is_recording.store(false, Ordering::Release);
    }

    /// Whether a session wants what callbacks have.
    pub fn is_recording(&self) -> bool {
        self.is_recording.load(Ordering::Relaxed) && !self.is_off()
    }

    /// Whether a callback panicked.
    pub fn is_off(&self) -> bool {
        self.is_off.load(Ordering::Relaxed)
    }

    /// Does the `work` of a callback, unless it is off; a panic turns it off.
    pub fn guarded(&self, work: impl FnOnce()) {
        if !self.is_off() && catch_unwind(AssertUnwindSafe(work)).is_err() {
            self.is_off.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_has_it_and_a_panic_ends_it_for_good() {
        let switch = Switch::new();
        assert!(switch.begin() && !switch.begin() && switch.is_recording());
        switch.end();
        assert!(!switch.is_recording() && switch.begin());
        switch.guarded(|| panic!("in a callback"));
        assert!(switch.is_off() && !switch.is_recording());
        switch.guarded(|| unreachable!("nothing is done any more"));
    }
}
