//! How a session ends: what it leaves is cut out of the recording and counted.

use std::sync::Arc;
use std::time::Instant;

use super::{StopError, Stopped};
use crate::control::{Active, Companion, Handle};
use crate::lane::registry;
use crate::lane::tally::Tally;
use crate::lease::Lease;
use crate::quiet::Quiet;
use crate::recorded::Recorded;
use crate::report::{Facts, PluginFailure, Report, counted};
use crate::store::Overflow;
use crate::ticks::ticks;
use crate::{anchors, control, keeper, names};

impl Handle {
    /// The session among those that run, and everything locked.
    pub(super) fn find(&self) -> Result<(Quiet<'static, control::Control>, usize), StopError> {
        if self.process != std::process::id() {
            return Err(StopError::OtherProcess { id: self.id });
        }
        let control = control::lock();
        let at = control.sessions.iter().position(|session| session.id == self.id);
        at.map(|at| (control, at)).ok_or(StopError::AlreadyStopped { id: self.id })
    }

    /// Ends the session.
    pub(super) fn end(&self) -> Result<Ended, StopError> {
        let began = Instant::now();
        // Plugins record, so nothing may be locked while they stop.
        let plugins = self.find().map(|(mut control, at)| control.sessions[at].plugins.take())?;
        let failures = plugins.map_or_else(Vec::new, Companion::finish);
        let to_tick = ticks();
        let (mut control, at) = self.find()?;
        let session = control.sessions.remove(at);
        let lease = control.current.clone().ok_or(StopError::AlreadyStopped { id: self.id })?;
        control.publish();
        let store = lease.store();
        let anchors = anchors::take(store.test_clock.as_ref());
        store.system(|system| {
            system.anchors(&anchors);
            system.session_stop(self.id, to_tick);
        });
        keeper::write_drops(store);
        let after = registry::lock().tallies();
        if control.sessions.is_empty() {
            control.current = None;
            registry::lock().forget_departed();
            store.close();
        }
        drop(control);
        Ok(Ended { session, lease, began, to_tick, after, failures })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // In the child of a fork the session is the parent's, which `end` would say as well, had it not to ask first.
        if !self.is_detached() && self.process == std::process::id() {
            // Most often it was stopped already, and what it recorded nobody wants now.
            let _ = self.end();
        }
    }
}

/// A session that has ended, and nobody has looked at yet.
pub(super) struct Ended {
    session: Active,
    lease: Arc<Lease>,
    began: Instant,
    to_tick: u64,
    after: Vec<Tally>,
    failures: Vec<PluginFailure>,
}

impl Ended {
    /// What it leaves, and how it went.
    pub(super) fn report(self) -> Stopped {
        let Self { session, lease, began, to_tick, after, failures } = self;
        let cut = session.cut(to_tick, &after);
        let store = lease.store().clone();
        let recorded = Recorded::new(lease, cut.clone());
        // Threads count what they record, for whichever session; and what a ring lets go of, they do not know.
        let is_told_by_threads = !session.has_shared && matches!(store.overflow, Overflow::Stop { .. });
        let facts = Facts {
            before: &session.before,
            after: &after,
            streams: cut.streams.as_deref(),
            counted: if is_told_by_threads { None } else { counted(&recorded) },
            overwritten: store.overwritten() - session.overwritten_before,
            names_full: names::full().map_or(0, |(count, _)| count),
            names_cut: store.names_cut(),
            exhausted: store.exhausted(),
            anchors: &store.anchors(),
            bytes: store.bytes(),
            began,
        };
        Stopped { report: Report { plugins: failures, ..Report::of(&facts) }, recorded }
    }
}
