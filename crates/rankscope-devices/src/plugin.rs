//! [`SourcePlugin`]: what a program adds to its session, whichever vendor's profiler is behind it.
//!
//! A profiler is looked for when the session gets ready, begins and ends with it, and hands its work over when the session is exported. That
//! there is none is no error: it is said once, in the recording and in the [`SourceState`], and the session runs as without. What there is
//! of it is said as soon as it runs, so that it is known also of a program that is killed.

use std::fmt;

use rankscope_record::plugins::{DeviceSource, PluginError, ProfilerPlugin, TraceSink};
use rankscope_record::{SessionOptions, set_metadata};
use serde::Serialize;

use crate::SourceState;

/// A vendor's profiler, as its options tell it to work.
pub trait Profiler: fmt::Debug + Default + Send + 'static {
    /// What the plugin is called, and what its metadata begins with.
    const NAME: &'static str;
    /// Why there is nothing.
    type Absent: fmt::Display + Clone + Send;
    /// What became of records.
    type Counts: Serialize + Clone + Send;
    /// What there is of it in this process.
    type Found: Copy + Send;
    /// A session of it.
    type Running: Send;

    /// Looks for it.
    ///
    /// # Errors
    /// There is none that could be used.
    fn find(&self) -> Result<Self::Found, Self::Absent>;

    /// Begins a session.
    ///
    /// # Errors
    /// Why there will be nothing. Then nothing was begun.
    fn begin(&self, found: Self::Found) -> Result<Self::Running, Self::Absent>;

    /// Says in the recording what there is.
    fn tell(running: &Self::Running);

    /// Ends a session, and returns what came of it.
    fn end(&self, running: Self::Running) -> Ended<Self::Absent, Self::Counts>;

    /// Whether a callback of it panicked, so that none does anything any more.
    fn is_off() -> bool;
}

/// What a session left: who handed its work over, and what became of it.
#[derive(Debug)]
pub struct Collected<C> {
    /// Where work was handed over.
    pub source: DeviceSource,
    /// What became of records.
    pub counts: C,
}

/// What came of a session.
#[derive(Debug)]
pub struct Ended<A, C> {
    /// None if the thread that has it does not answer.
    pub collected: Option<Collected<C>>,
    /// What was refused of what could be recorded, in words.
    pub refused: Vec<String>,
    /// Nothing could come.
    pub absent: Option<A>,
}

/// Records the work of a vendor's devices.
///
/// Where there is no such profiler, the session runs as without, and the recording says why under its name and `absent`.
pub struct SourcePlugin<P: Profiler> {
    profiler: P,
    state: SourceState<P::Absent, P::Counts>,
    phase: Phase<P>,
}

enum Phase<P: Profiler> {
    Idle,
    Ready(P::Found),
    Running(P::Running),
    Ended(Ended<P::Absent, P::Counts>),
}

impl<P: Profiler> SourcePlugin<P> {
    /// One with these options.
    pub fn new(options: P) -> Self {
        Self { profiler: options, state: SourceState::default(), phase: Phase::Idle }
    }

    /// How it goes, also when a session has the plugin.
    pub fn state(&self) -> SourceState<P::Absent, P::Counts> {
        self.state.clone()
    }

    /// It is absent, which is said once.
    fn stand_back(&mut self, absent: &P::Absent) {
        self.phase = Phase::Idle;
        set_metadata(&format!("{}.absent", P::NAME), &absent.to_string());
        self.state.set_absent(absent);
    }

    fn end(&mut self) {
        if let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.phase = Phase::Ended(self.profiler.end(running));
        }
    }
}

impl<P: Profiler> Default for SourcePlugin<P> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl<P: Profiler> ProfilerPlugin for SourcePlugin<P> {
    fn name(&self) -> &str {
        P::NAME
    }

    fn initialize(&mut self, _: &SessionOptions) -> Result<(), PluginError> {
        match self.profiler.find() {
            Ok(found) => self.phase = Phase::Ready(found),
            Err(absent) => self.stand_back(&absent),
        }
        Ok(())
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        let Phase::Ready(found) = self.phase else { return Ok(()) };
        match self.profiler.begin(found) {
            Ok(running) => {
                P::tell(&running);
                self.phase = Phase::Running(running);
            }
            Err(absent) => self.stand_back(&absent),
        }
        Ok(())
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        self.end();
        Ok(())
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        let Phase::Ended(Ended { collected, refused, absent }) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return Ok(());
        };
        if let Some(absent) = absent {
            self.stand_back(&absent);
        }
        if !refused.is_empty() {
            sink.metadata("refused_kinds", &serde_json::to_string(&refused)?);
        }
        let Collected { source, counts } = collected.ok_or("the thread that decodes records does not answer")?;
        self.state.set_counts(&counts);
        sink.metadata("counts", &serde_json::to_string(&counts)?);
        sink.device_work(&source);
        if P::is_off() {
            return Err("a callback panicked, and nothing is recorded of devices any more".into());
        }
        Ok(())
    }
}

impl<P: Profiler> Drop for SourcePlugin<P> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<P: Profiler> fmt::Debug for SourcePlugin<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourcePlugin").field("options", &self.profiler).finish_non_exhaustive()
    }
}
