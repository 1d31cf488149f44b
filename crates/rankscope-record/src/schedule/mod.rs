//! Recording some steps of many: wait a while, warm up, record a few steps, hand them over, and so again.
//!
//! The idea: [`Schedule`] says for every step what it is for, as a pure function; [`transition`] says what to do between two
//! steps; [`Stepper`] puts both together and counts; [`ScheduledProfiler`] does it, with sessions of the recorder. The rules
//! are torch's (recorder specification, section 4.1), so that a schedule means the same in both. What is not here: steps
//! found in a trace afterwards, and devices, which stop a cycle through [`DeviceStop`].

mod plan;
mod profiler;
mod stepper;
mod transition;

pub use plan::{Schedule, ScheduleError, ScheduleWarning};
pub use profiler::{Cycle, DeviceStop, ProfilerError, ScheduledProfiler};
pub use stepper::{StepError, Stepper};
pub use transition::{Move, ProfilerAction, Unreachable, leave, transition};
