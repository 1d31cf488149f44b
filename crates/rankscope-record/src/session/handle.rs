//! [`Handle`]: what the clones of a [`Session`](super::Session) share. The session stops with the last of them.

use std::sync::atomic::{AtomicBool, Ordering};

/// One session, by number.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(super) id: u64,
    pub(super) process: u32,
    is_detached: AtomicBool,
}

impl Handle {
    pub(super) fn new(id: u64) -> Self {
        Self::made(id, false)
    }

    pub(super) fn detached(id: u64) -> Self {
        Self::made(id, true)
    }

    fn made(id: u64, is_detached: bool) -> Self {
        Self { id, process: std::process::id(), is_detached: AtomicBool::new(is_detached) }
    }

    pub(super) fn detach(&self) {
        self.is_detached.store(true, Ordering::Relaxed);
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // In the child of a fork the session is the parent's, which `end` would say as well, had it not to ask first.
        if !self.is_detached.load(Ordering::Relaxed) && self.process == std::process::id() {
            // Most often it was stopped already, and what it recorded nobody wants now.
            let _ = self.end();
        }
    }
}
