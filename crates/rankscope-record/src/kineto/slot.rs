//! The one profiler of the process, while it is enabled. Every entry point goes through this lock; recording does not.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::callbacks::{CallbackHandle, Scopes};
use super::convert::Reported;
use super::{Activities, KinetoError, ProfilerConfig};
use crate::session::Session;

/// Resolves a debug handle into a call stack and a module hierarchy.
pub(super) type PostProcess = Box<dyn FnMut(i64, &mut Vec<String>, &mut Vec<String>) + Send>;

/// The enabled profiler.
pub(super) struct Active {
    /// Tells this profiler from those before it.
    pub(super) generation: u64,
    pub(super) config: ProfilerConfig,
    pub(super) activities: Activities,
    pub(super) scopes: Scopes,
    /// The thread that enabled it.
    pub(super) thread: u64,
    /// None while nothing is recorded: for a vendor's ranges, and for on-demand until somebody demands.
    pub(super) session: Option<Session>,
    pub(super) ranges: Option<CallbackHandle>,
    pub(super) reported: Vec<Reported>,
    pub(super) post_process: Option<PostProcess>,
}

/// What there is between calls.
pub(super) struct Slot {
    pub(super) active: Option<Active>,
    pub(super) last_generation: u64,
    /// Metadata for the next profiler.
    pub(super) preset: Vec<(String, String)>,
}

static SLOT: Mutex<Slot> = Mutex::new(Slot { active: None, last_generation: 0, preset: Vec::new() });

pub(super) fn lock() -> MutexGuard<'static, Slot> {
    SLOT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// The enabled profiler.
    pub(super) fn active(&mut self, call: &'static str) -> Result<&mut Active, KinetoError> {
        self.active.as_mut().ok_or(KinetoError::NotEnabled { call })
    }

    /// The enabled profiler if other threads may join it.
    pub(super) fn joinable(&self) -> Option<&Active> {
        self.active.as_ref().filter(|active| active.config.state.is_kineto() && !active.config.global())
    }
}
