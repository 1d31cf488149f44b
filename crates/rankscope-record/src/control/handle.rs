//! [`Handle`]: what the clones of a [`Session`](crate::Session) share. The session stops with the last of them.

use std::sync::atomic::{AtomicBool, Ordering};

/// One session, by number.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) id: u64,
    pub(crate) process: u32,
    is_detached: AtomicBool,
}

impl Handle {
    pub(crate) fn new(id: u64) -> Self {
        Self::made(id, false)
    }

    pub(crate) fn detached(id: u64) -> Self {
        Self::made(id, true)
    }

    fn made(id: u64, is_detached: bool) -> Self {
        Self { id, process: std::process::id(), is_detached: AtomicBool::new(is_detached) }
    }

    pub(crate) fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Relaxed)
    }

    pub(crate) fn detach(&self) {
        self.is_detached.store(true, Ordering::Relaxed);
    }
}
