//! [`RocprofilerOptions`]: how much memory is taken, which calls are recorded, and where the libraries lie.

use std::path::PathBuf;
use std::time::Duration;

use rankscope_devices::ApiCalls;

/// What a [`Rocprofiler`](crate::Rocprofiler) does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RocprofilerOptions {
    /// Buffers for what rocprofiler hands over and was not decoded yet, up to 64. The first session of a process decides.
    pub buffers: u32,
    /// Bytes of one buffer. The first session of a process decides.
    pub buffer_bytes: usize,
    /// Calls that are recorded. [`ApiCalls::All`] needs that the session itself configures rocprofiler, and the first one decides.
    pub calls: ApiCalls,
    /// How often rocprofiler is asked for what is complete in a buffer that is not half full: what a process that is killed may lose.
    pub flush_every: Duration,
    /// The file of rocprofiler-sdk, where it is not to be looked for. One that is loaded already comes before it.
    /// `RANKSCOPE_ROCPROFILER_LIBRARY` says the same.
    pub library: Option<PathBuf>,
    /// The file that says whether the kernel has a driver, for tests. `RANKSCOPE_KFD` says the same.
    pub driver: Option<PathBuf>,
}

impl Default for RocprofilerOptions {
    /// Sixteen buffers of 4 MiB, of which only what is written to takes memory; every second.
    fn default() -> Self {
        Self {
            buffers: 16,
            buffer_bytes: 4 << 20,
            calls: ApiCalls::default(),
            flush_every: Duration::from_secs(1),
            library: None,
            driver: None,
        }
    }
}

impl RocprofilerOptions {
    /// The same with this room for records that were not decoded yet.
    #[must_use]
    pub fn with_buffers(mut self, buffers: u32, buffer_bytes: usize) -> Self {
        (self.buffers, self.buffer_bytes) = (buffers, buffer_bytes);
        self
    }

    /// The same with these calls.
    #[must_use]
    pub fn with_calls(mut self, calls: ApiCalls) -> Self {
        self.calls = calls;
        self
    }

    /// The same, asking so often for what is complete.
    #[must_use]
    pub fn with_flush_every(mut self, flush_every: Duration) -> Self {
        self.flush_every = flush_every;
        self
    }

    /// The same with rocprofiler-sdk from this file.
    #[must_use]
    pub fn with_library(mut self, library: impl Into<PathBuf>) -> Self {
        self.library = Some(library.into());
        self
    }

    /// The same with this file for the driver's.
    #[must_use]
    pub fn with_driver(mut self, driver: impl Into<PathBuf>) -> Self {
        self.driver = Some(driver.into());
        self
    }
}
