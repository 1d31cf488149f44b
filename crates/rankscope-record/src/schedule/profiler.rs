//! [`ScheduledProfiler`]: a schedule carried out with sessions of the recorder.
//!
//! Each step is a span `ProfilerStep#N` on the thread that steps, begun after the recorder is as the step wants it and ended
//! before that changes: a step that is recorded is recorded whole, and N counts steps of the program, never of a cycle. In
//! warm-up a session runs like any other, so that memory is mapped, names are interned and clocks have settled; its events are
//! left out of the cycle's. A recorder that cannot start never stops the program: the cycle goes by without a trace.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Move, ProfilerAction, Schedule, ScheduleWarning, StepError, Stepper};
use crate::session::{Session, SessionOptions, StartError, StopError, Stopped};
use crate::span::{SpanGuard, begin_step};

/// Records the steps that a schedule names.
///
/// ```
/// use rankscope_record::SessionOptions;
/// use rankscope_record::schedule::{Schedule, ScheduledProfiler};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Of every five steps: wait for two, warm up in one, record two.
/// let schedule = Schedule::cycle(2, 1, 2)?;
/// let mut profiler = ScheduledProfiler::new(SessionOptions::default(), schedule).on_trace_ready(|cycle| {
///     if let Some(stopped) = &cycle.stopped {
///         println!("steps {:?}: {} events", cycle.steps, stopped.report.events());
///     }
/// });
/// profiler.start()?;
/// for _step in 0..10 {
///     // ... train ...
///     profiler.step()?;
/// }
/// profiler.stop()?;
/// # Ok(())
/// # }
/// ```
///
/// It stays on the thread that steps, as the spans of its steps do.
pub struct ScheduledProfiler<'a> {
    stepper: Stepper<Box<dyn FnMut(u64) -> ProfilerAction + 'a>>,
    options: SessionOptions,
    on_trace_ready: Option<OnTraceReady<'a>>,
    keeps_all: bool,
    device: DeviceStop,
    step_span: Option<SpanGuard>,
    warmup: Option<Session>,
    session: Option<Session>,
    first_step: u64,
    stopped: Option<Stopped>,
    handed_over: u64,
    cycles: Vec<Cycle>,
    warnings: Vec<ScheduleWarning>,
}

type OnTraceReady<'a> = Box<dyn FnMut(&Cycle) + 'a>;

/// What was recorded from one start to one stop.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Its number, from zero.
    pub number: u64,
    /// The steps that were recorded; none if a device stopped in warm-up.
    pub steps: Range<u64>,
    /// The events and the report; `None` if the recorder could not start, which [`ScheduledProfiler::step`] has said.
    pub stopped: Option<Stopped>,
}

/// Says that a device has stopped recording, from any thread: the cycle is handed over at the next step, as far as it got.
#[derive(Clone, Debug, Default)]
pub struct DeviceStop(Arc<AtomicBool>);

/// What went wrong in a step. The steps go on nevertheless.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfilerError {
    /// The step was not taken.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The recorder could not start: this cycle has no trace.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Somebody else stopped the session of this cycle: it has no trace.
    #[error(transparent)]
    Stop(#[from] StopError),
}

impl<'a> ScheduledProfiler<'a> {
    /// Records as `schedule` says. If the options name a file, every cycle gets a live file of its own there, and those of the cycles
    /// before it are put aside as [`SessionOptions::keep_earlier`] says.
    pub fn new(options: SessionOptions, schedule: Schedule) -> Self {
        let mut profiler = Self::with_plan(options, move |step| schedule.action(step));
        profiler.warnings.extend(schedule.warning());
        profiler
    }

    /// Records every step, and hands over once, at the end.
    pub fn unscheduled(options: SessionOptions) -> Self {
        Self::with_plan(options, |_| ProfilerAction::Record)
    }

    /// Records as `plan` says, which gets the number of each step, in order.
    pub fn with_plan(options: SessionOptions, plan: impl FnMut(u64) -> ProfilerAction + 'a) -> Self {
        Self {
            stepper: Stepper::new(Box::new(plan)),
            options,
            on_trace_ready: None,
            keeps_all: false,
            device: DeviceStop::default(),
            step_span: None,
            warmup: None,
            session: None,
            first_step: 0,
            stopped: None,
            handed_over: 0,
            cycles: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Calls `callback` once for each cycle that came to its end, was cut short by a device, or by [`Self::stop`].
    #[must_use]
    pub fn on_trace_ready(mut self, callback: impl FnMut(&Cycle) + 'a) -> Self {
        self.on_trace_ready = Some(Box::new(callback));
        self
    }

    /// Keeps the events of all cycles (`acc_events`), not of the last one only.
    #[must_use]
    pub fn accumulate(mut self) -> Self {
        self.keeps_all = true;
        self
    }

    /// Enters step 0.
    ///
    /// # Errors
    /// See [`ProfilerError`].
    pub fn start(&mut self) -> Result<(), ProfilerError> {
        let moves = self.stepper.start()?;
        let outcome = self.perform(moves, 0);
        self.step_span = Some(begin_step(0));
        outcome
    }

    /// Leaves a step and enters the next. No span that was begun within the step may be open on this thread.
    ///
    /// # Errors
    /// See [`ProfilerError`].
    pub fn step(&mut self) -> Result<(), ProfilerError> {
        let left = self.stepper.step();
        let moves = self.stepper.step_on(self.device.0.swap(false, Ordering::Relaxed))?;
        self.step_span = None;
        let outcome = self.perform(moves, left);
        self.step_span = Some(begin_step(self.stepper.step() as i64));
        outcome
    }

    /// Leaves the last step. A cycle that was recording is handed over as far as it got.
    ///
    /// # Errors
    /// See [`ProfilerError`].
    pub fn stop(&mut self) -> Result<(), ProfilerError> {
        let moves = self.stepper.stop()?;
        self.step_span = None;
        self.perform(moves, self.stepper.step())
    }

    /// The number of the step that is under way.
    pub fn step_number(&self) -> u64 {
        self.stepper.step()
    }

    /// What that step is for; `None` where none is under way.
    pub fn action(&self) -> Option<ProfilerAction> {
        self.stepper.action()
    }

    /// What a device's source calls when its buffers are full.
    pub fn device_stop(&self) -> DeviceStop {
        self.device.clone()
    }

    /// The cycles that were handed over and are still kept.
    pub fn cycles(&self) -> &[Cycle] {
        &self.cycles
    }

    /// What the schedule did that its author may not have meant.
    pub fn warnings(&self) -> &[ScheduleWarning] {
        &self.warnings
    }

    /// `left` is the step that ends. All moves are made, whatever fails; the first failure is told.
    fn perform(&mut self, moves: &[Move], left: u64) -> Result<(), ProfilerError> {
        let mut outcome = Ok(());
        for one in moves {
            let made = match one {
                Move::Warn(warning) => {
                    self.warnings.push(*warning);
                    Ok(())
                }
                Move::Prepare => self.prepare(),
                Move::Start => self.begin(),
                Move::Stop => self.end(),
                Move::TraceReady => {
                    self.hand_over(left);
                    Ok(())
                }
            };
            outcome = outcome.and(made);
        }
        outcome
    }

    fn prepare(&mut self) -> Result<(), ProfilerError> {
        if !self.keeps_all {
            self.cycles.clear();
        }
        self.warmup = Some(Session::start(self.options.clone())?);
        Ok(())
    }

    fn begin(&mut self) -> Result<(), ProfilerError> {
        self.first_step = self.stepper.step();
        let started = Session::start(self.options.clone());
        // Only now: with the last session its memory would go, and warming up would have been for nothing.
        let cooled = self.warmup.take().map(|warmup| warmup.discard());
        self.session = Some(started?);
        cooled.transpose()?;
        Ok(())
    }

    fn end(&mut self) -> Result<(), ProfilerError> {
        self.stopped = None;
        if let Some(session) = self.session.take() {
            self.stopped = Some(session.stop()?);
        }
        Ok(())
    }

    fn hand_over(&mut self, left: u64) {
        let cycle = Cycle { number: self.handed_over, steps: self.first_step..left + 1, stopped: self.stopped.take() };
        self.handed_over += 1;
        if let Some(callback) = &mut self.on_trace_ready {
            callback(&cycle);
        }
        self.cycles.push(cycle);
    }
}

impl Drop for ScheduledProfiler<'_> {
    fn drop(&mut self) {
        // Stopped already, or nobody is left to be told.
        let _ = self.stop();
    }
}

impl DeviceStop {
    /// Has an effect if the step under way warms up or records, and is not the last of its cycle.
    pub fn stopped(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
