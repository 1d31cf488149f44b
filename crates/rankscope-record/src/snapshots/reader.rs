//! [`TracerReader`]: a clock that somebody stamps events with, and how to read it.

use std::ffi::OsStr;
use std::fmt;

use rankscope_trace::ClockScope;

use super::device::{self, ClockAbsent};
use crate::ticks::{clock_ns, tick_source, ticks};

/// A clock of a tracer.
pub struct TracerReader {
    pub(super) name: String,
    pub(super) scope: ClockScope,
    pub(super) read: Box<dyn FnMut() -> Option<i64> + Send>,
}

impl TracerReader {
    /// One that `read` reads, in nanoseconds or ticks; none where the clock gives no answer this time.
    pub fn new(name: impl Into<String>, scope: ClockScope, read: impl FnMut() -> Option<i64> + Send + 'static) -> Self {
        Self { name: name.into(), scope, read: Box::new(read) }
    }

    /// The ticks that this recorder stamps with, `tsc` or `cntvct`.
    pub fn ticks() -> Self {
        Self::new(tick_source().name(), ClockScope::Everything, || i64::try_from(ticks()).ok())
    }

    /// `CLOCK_MONOTONIC`, which many tracers stamp with.
    pub fn monotonic() -> Self {
        Self::new("monotonic", ClockScope::Everything, || Some(clock_ns(libc::CLOCK_MONOTONIC)))
    }

    /// `CLOCK_MONOTONIC_RAW`.
    pub fn monotonic_raw() -> Self {
        Self::new("monotonic_raw", ClockScope::Everything, || Some(clock_ns(libc::CLOCK_MONOTONIC_RAW)))
    }

    /// The clock of CUPTI, with which CUDA's events are stamped.
    ///
    /// # Errors
    /// [`ClockAbsent`] where the library is not installed, or there is no driver, without which it is not touched.
    pub fn cupti() -> Result<Self, ClockAbsent> {
        device::first_of(&device::CUPTI)
    }

    /// The clock of rocprofiler-sdk, with which ROCm's events are stamped.
    ///
    /// # Errors
    /// [`ClockAbsent`] where the library is not installed.
    pub fn rocprofiler() -> Result<Self, ClockAbsent> {
        device::first_of(&device::ROCPROFILER)
    }

    /// The clock of CUPTI in the library of this file.
    ///
    /// # Errors
    /// [`ClockAbsent`] if it cannot be loaded, is another library, or gives no time.
    pub fn cupti_at(file: &OsStr) -> Result<Self, ClockAbsent> {
        device::at(&device::CUPTI, file)
    }

    /// The clock of rocprofiler-sdk in the library of this file.
    ///
    /// # Errors
    /// [`ClockAbsent`] if it cannot be loaded, is another library, or gives no time.
    pub fn rocprofiler_at(file: &OsStr) -> Result<Self, ClockAbsent> {
        device::at(&device::ROCPROFILER, file)
    }

    /// Every clock there is on this machine, and what is absent.
    pub fn available() -> (Vec<Self>, Vec<ClockAbsent>) {
        let (devices, absent) = Self::devices();
        ([Self::ticks(), Self::monotonic()].into_iter().chain(devices).collect(), absent)
    }

    /// The clocks of devices that there are on this machine, and what is absent. What is there is loaded into this process.
    pub fn devices() -> (Vec<Self>, Vec<ClockAbsent>) {
        let (mut readers, mut absent) = (Vec::new(), Vec::new());
        for device in [Self::cupti(), Self::rocprofiler()] {
            match device {
                Ok(reader) => readers.push(reader),
                Err(reason) => absent.push(reason),
            }
        }
        (readers, absent)
    }

    /// What it is called in files.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for TracerReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracerReader").field("name", &self.name).field("scope", &self.scope).finish_non_exhaustive()
    }
}
