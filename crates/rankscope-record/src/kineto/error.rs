//! [`KinetoError`] and [`Warning`]: where Kineto asserts, prints or keeps quiet, this face returns a value.

use super::{ActivityType, ProfilerState};
use crate::empty::Empty;
use crate::export::ExportError;
use crate::session::{StartError, StopError};

/// Why a call of the face did nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KinetoError {
    /// There is one profiler a process; disable it first. Core sessions nest, this face does not (section 1.4.2).
    #[error("enable the profiler: it is enabled already, as {state:?}")]
    AlreadyEnabled {
        /// What it is.
        state: ProfilerState,
    },
    /// Enable a profiler first.
    #[error("{call}: no profiler is enabled")]
    NotEnabled {
        /// What was called.
        call: &'static str,
    },
    /// Ask for one activity at least.
    #[error("{call}: no activity is asked for")]
    NoActivities {
        /// What was called.
        call: &'static str,
    },
    /// Ask for the host's activity as well, or for no performance events.
    #[error("read performance events: they are read around ops, and the host's activity is not asked for")]
    PerformanceEventsWithoutCpu,
    /// Ask for the host's activity as well.
    #[error("enable the on-demand profiler: the host's activity is not asked for")]
    OnDemandWithoutCpu,
    /// Ask for a state that records.
    #[error("{call}: not in state {state:?}")]
    WrongState {
        /// What was called.
        call: &'static str,
        /// The state asked for.
        state: ProfilerState,
    },
    /// Ask for [`ProfilerState::Kineto`].
    #[error("enable the legacy profiler {state:?}: it is not supported")]
    Legacy {
        /// The state asked for.
        state: ProfilerState,
    },
    /// Nothing offers ranges of such a device in this process.
    #[error("enable ranges of a plugged-in device: no plugin offers them")]
    NoPlugin,
    /// Install the library, or name its file in the variable that the reason tells.
    #[error("find the library of {vendor}: {reason}")]
    VendorAbsent {
        /// Whose ranges were wanted.
        vendor: &'static str,
        /// What was looked for, and what happened.
        reason: String,
    },
    /// Ask for one of the two.
    #[error("record stacks: a profiler of traces only keeps no events to hang them on")]
    StackWithTraceOnly,
    /// Only [`super::ProfilerResult::save`] is possible.
    #[error("read events: the profiler was asked for the trace only")]
    TraceOnly,
    /// Enable the profiler in the main thread first.
    #[error("join the profiler: it is not enabled in the main thread")]
    MainNotEnabled,
    /// Leave first.
    #[error("join the profiler: this thread belongs to it already")]
    AlreadyJoined,
    /// Join first.
    #[error("leave the profiler: this thread never joined it")]
    NotJoined,
    /// The on-demand profiler takes no events from backends.
    #[error("report a backend's event: the active profiler is the global one")]
    GlobalProfiler,
    /// Give the start before the end, both as microseconds since 1970.
    #[error("report a backend's event from {start_us} to {end_us} µs: no span of time")]
    BackendInterval {
        /// Start, as given.
        start_us: i64,
        /// End, as given.
        end_us: i64,
    },
    /// Give a value that is JSON; a text needs its quotes.
    #[error("add metadata {key:?}: {reason}")]
    InvalidJson {
        /// The key.
        key: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// Stop it first.
    #[error("start the memory profile: it is running")]
    MemoryProfileRunning,
    /// Start it first.
    #[error("{call}: no memory profile was started")]
    NoMemoryProfile {
        /// What was called.
        call: &'static str,
    },
    /// The list does not come from [`super::ProfilerConfig::to_values`].
    #[error("read a configuration: value {position} is not {wanted}")]
    ConfigValues {
        /// Where in the list.
        position: usize,
        /// What belongs there.
        wanted: &'static str,
    },
    /// Nothing was recorded, so there is nothing to save.
    #[error("save the trace: {} records nothing of its own", state.name())]
    NothingToSave {
        /// What the profiler was enabled as.
        state: ProfilerState,
    },
    /// Choose another place.
    #[error(transparent)]
    Write(#[from] ExportError),
    /// No session was started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The session was not stopped, or not changed.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// The recording cannot be read.
    #[error("read the recording: {0}")]
    Read(#[from] rankscope_formats::Error),
}

impl From<rankscope_recording::Error> for KinetoError {
    fn from(error: rankscope_recording::Error) -> Self {
        Self::Read(error.into())
    }
}

impl KinetoError {
    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::VendorAbsent { .. } | Self::NoPlugin | Self::Write(_) | Self::Read(_) => Fault::Environment,
            Self::Start(StartError::Storage { .. }) => Fault::Environment,
            Self::InvalidJson { .. } | Self::ConfigValues { .. } | Self::BackendInterval { .. } => Fault::Input,
            _ => Fault::Caller,
        }
    }
}

/// Why a result holds no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhyEmpty {
    /// The profiler was in a state that only tells others.
    #[error("{} records nothing of its own", .0.name())]
    State(ProfilerState),
    /// Its session recorded nothing.
    #[error("{0}")]
    Session(Empty),
}

/// Who can mend an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Who calls, by calling something else first.
    Caller,
    /// Who calls, by giving other values.
    Input,
    /// Who runs the machine.
    Environment,
}

/// What a call did not do, although it did the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// A field of the configuration has no effect.
    NoEffect {
        /// The field.
        field: &'static str,
    },
    /// Nothing in this process records that device by itself; spans that the program records in its categories are kept.
    NoDeviceLibrary {
        /// The activity asked for.
        activity: ActivityType,
    },
    /// One of two linked sides was toggled: arrows between host and device will be missing.
    OneSideToggled,
    /// That activity cannot be toggled.
    CannotToggle {
        /// The activity asked for.
        activity: ActivityType,
    },
}
