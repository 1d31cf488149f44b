//! [`ProfilerResult`]: what a disabled profiler leaves (recorder specification, section 1.6).
//!
//! Kineto's can be saved once, and its events are gone when the process is. This one keeps the recording: it can be saved any
//! number of times, each time to the same bytes.

use super::KinetoError;
use super::convert::{Converted, Reported};
use super::event::KinetoEvent;
use super::tree::EventTree;
use crate::{Recorded, Report, Stopped};

/// What was recorded.
#[derive(Debug)]
pub struct ProfilerResult {
    /// None for a profiler that was asked for the trace only.
    converted: Option<Converted>,
    stopped: Option<Stopped>,
    empty: Option<String>,
}

impl ProfilerResult {
    pub(super) fn new(converted: Converted, stopped: Stopped) -> Self {
        let empty = stopped.report.empty.clone().filter(|_| converted.events.is_empty());
        Self { converted: Some(converted), stopped: Some(stopped), empty }
    }

    pub(super) fn trace_only(stopped: Stopped, reported: &[Reported]) -> Self {
        let empty = stopped.report.empty.clone().filter(|_| reported.is_empty());
        Self { converted: None, stopped: Some(stopped), empty }
    }

    pub(super) fn nothing(why: String) -> Self {
        let converted = Some(Converted::default());
        Self { converted, stopped: None, empty: Some(why) }
    }

    /// When recording began, in nanoseconds since 1970; zero if nothing was recorded.
    pub fn trace_start_ns(&self) -> i64 {
        self.converted.as_ref().map_or(0, |converted| converted.start_ns)
    }

    /// The events, thread by thread, in the order each thread recorded them.
    ///
    /// # Errors
    /// [`KinetoError::TraceOnly`] if the profiler was asked for the trace only.
    pub fn events(&self) -> Result<&[KinetoEvent], KinetoError> {
        self.converted.as_ref().map(|converted| &*converted.events).ok_or(KinetoError::TraceOnly)
    }

    /// Their tree: node `n` is event `n`. Roots and children are in order of start.
    ///
    /// # Errors
    /// [`KinetoError::TraceOnly`] if the profiler was asked for the trace only.
    pub fn event_tree(&self) -> Result<&EventTree, KinetoError> {
        self.converted.as_ref().map(|converted| &converted.tree).ok_or(KinetoError::TraceOnly)
    }

    /// How recording went; none if nothing recorded.
    pub fn report(&self) -> Option<&Report> {
        self.stopped.as_ref().map(|stopped| &stopped.report)
    }

    /// Why there are no events; none if there are some.
    pub fn why_empty(&self) -> Option<&str> {
        self.empty.as_deref()
    }

    /// The recording beneath; none if nothing recorded. Events that backends reported are not in it.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.stopped.as_ref().map(|stopped| &stopped.recorded)
    }
}
