//! [`Failure`]: why a call did nothing, as a host may ask for it.

use std::fmt;

use crate::unforwarded::NoVendor;
use crate::vendor::{VARIABLE, vendor};

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The call came without arguments.
    NoArguments,
    /// Its arguments are shorter than they must be, and were not looked at.
    ShortArguments { has: usize, needs: usize },
    /// There is no such profiler, or not any more.
    NoProfiler,
    /// There is no such error, or not any more.
    NoError,
    /// It runs already.
    Running,
    /// It does not run.
    NotRunning,
    /// It has not run, or still does, so there is nothing to collect.
    NotStopped,
    /// What was passed to write into is too small.
    SmallBuffer { has: usize, needs: usize },
    /// It was taken for a back end, which it has none of.
    NoBackEnd,
    /// Something panicked.
    Panicked,
}

impl Failure {
    /// Its number among those of `absl::StatusCode`.
    pub(crate) fn code(self) -> i32 {
        const INVALID_ARGUMENT: i32 = 3;
        const FAILED_PRECONDITION: i32 = 9;
        const UNIMPLEMENTED: i32 = 12;
        const INTERNAL: i32 = 13;
        match self {
            Self::NoArguments | Self::ShortArguments { .. } | Self::NoProfiler | Self::NoError | Self::SmallBuffer { .. } => {
                INVALID_ARGUMENT
            }
            Self::Running | Self::NotRunning | Self::NotStopped => FAILED_PRECONDITION,
            Self::NoBackEnd => UNIMPLEMENTED,
            Self::Panicked => INTERNAL,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rankscope: ")?;
        match self {
            Self::NoArguments => f.write_str("the call has no arguments"),
            Self::ShortArguments { has, needs } => write!(f, "the arguments are {has} bytes long and must be {needs}"),
            Self::NoProfiler => f.write_str("there is no such profiler, or it was destroyed"),
            Self::NoError => f.write_str("there is no such error, or it was destroyed"),
            Self::Running => f.write_str("the profiler runs already"),
            Self::NotRunning => f.write_str("the profiler does not run"),
            Self::NotStopped => f.write_str("nothing can be collected before the profiler was started and stopped"),
            Self::SmallBuffer { has, needs } => write!(f, "the buffer has {has} bytes and {needs} are needed"),
            Self::NoBackEnd => match vendor() {
                Err(why) if *why != NoVendor::NotNamed => write!(f, "there is no back end: {VARIABLE}: {why}"),
                _ => write!(f, "there is no back end: name the plugin that is to be forwarded to in {VARIABLE}"),
            },
            Self::Panicked => f.write_str("the profiler failed inside, and this call did nothing"),
        }
    }
}

/// What a host holds on to: the failure, and the text that it may read until it destroys the error.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) text: Box<str>,
}

impl From<Failure> for Told {
    fn from(failure: Failure) -> Self {
        Self { code: failure.code(), text: failure.to_string().into() }
    }
}
