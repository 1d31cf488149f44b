//! [`ProfilerResult`]: what a disabled profiler leaves (recorder specification, section 1.6).
//!
//! Kineto's can be saved once, after which its buffer is gone. This one keeps the recording: it can be saved any number of times,
//! each time to the same bytes.

use std::io;
use std::path::Path;

use super::amend::{self, Additions};
use super::convert::{Converted, Reported};
use super::event::{EventType, KinetoEvent};
use super::tree::EventTree;
use super::{KinetoError, ProfilerState, WhyEmpty};
use crate::export::ExportFormat;
use crate::export::write_whole;
use crate::recorded::Recorded;
use crate::report::Report;
use crate::session::Stopped;

/// What was recorded.
#[derive(Debug)]
pub struct ProfilerResult {
    /// None for a profiler that was asked for the trace only.
    converted: Option<Converted>,
    /// None of a profiler in a state that records nothing.
    stopped: Result<Stopped, ProfilerState>,
    reported: Vec<Reported>,
    resolved: bool,
    empty: Option<WhyEmpty>,
}

impl ProfilerResult {
    pub(super) fn new(converted: Converted, stopped: Stopped, reported: Vec<Reported>, resolved: bool) -> Self {
        let empty = stopped.report.empty.map(WhyEmpty::Session).filter(|_| converted.events.is_empty());
        Self { converted: Some(converted), stopped: Ok(stopped), reported, resolved, empty }
    }

    pub(super) fn trace_only(stopped: Stopped, reported: Vec<Reported>) -> Self {
        let empty = stopped.report.empty.map(WhyEmpty::Session).filter(|_| reported.is_empty());
        Self { converted: None, stopped: Ok(stopped), reported, resolved: false, empty }
    }

    pub(super) fn nothing(state: ProfilerState) -> Self {
        let converted = Some(Converted::default());
        Self { converted, stopped: Err(state), reported: Vec::new(), resolved: false, empty: Some(WhyEmpty::State(state)) }
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
        self.stopped.as_ref().ok().map(|stopped| &stopped.report)
    }

    /// Why there are no events; none if there are some.
    pub fn why_empty(&self) -> Option<WhyEmpty> {
        self.empty
    }

    /// The recording beneath; none if nothing recorded. Events that backends reported are not in it.
    pub fn recorded(&self) -> Option<&Recorded> {
        self.stopped.as_ref().ok().map(|stopped| &stopped.recorded)
    }

    /// Writes the trace as Kineto's JSON, compressed if `path` ends in `.gz` or `.zst`. Memory is a few chunks, unless backends
    /// reported events or handles were resolved: those have to be put into the trace, which then is held in memory meanwhile.
    ///
    /// It can be called as often as wanted, and writes the same each time; Kineto's own refuses the second call.
    ///
    /// # Errors
    /// [`KinetoError::NothingToSave`] where nothing recorded, and what the file system refuses; then no file is left half
    /// written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), KinetoError> {
        let path = path.as_ref();
        let stopped = self.stopped.as_ref().map_err(|state| KinetoError::NothingToSave { state: *state })?;
        if self.reported.is_empty() && !self.resolved {
            return Ok(stopped.recorded.export(ExportFormat::KinetoJson, path)?);
        }
        let trace = amend::amended(&stopped.recorded, self.additions())?;
        Ok(write_whole(path, |output| Ok(serde_json::to_writer(output, &trace).map_err(io::Error::from)?))?)
    }

    fn additions(&self) -> Additions<'_> {
        let events = self.converted.as_ref().map_or(&[][..], |converted| &converted.events);
        let resolved = events.iter().filter(|event| self.resolved && event.correlation_id != 0);
        // After a resolution the events reported are the resolved ones, not those that came in.
        let resolved_reported = events.iter().filter(|event| self.resolved && event.kind == EventType::Backend);
        let reported = self.reported.iter().filter(|_| !self.resolved).map(|reported| &reported.event);
        Additions { resolved: resolved.collect(), reported: reported.chain(resolved_reported).collect() }
    }
}
