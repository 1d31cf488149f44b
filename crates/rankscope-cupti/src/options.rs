//! [`CuptiOptions`]: how much memory is taken, which calls are recorded, and where the libraries lie.

use std::path::PathBuf;
use std::time::Duration;

use rankscope_devices::ApiCalls;

/// What records CUPTI is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Records {
    /// Where the library can do it (CUDA 13.3 and later), those of the fields that are read, and beside other profilers that do the same.
    /// Elsewhere, whole ones.
    #[default]
    ChosenFields,
    /// Whole ones, which one profiler of a process can have.
    Whole,
}

/// The variable that says the same as [`Records::Whole`], if it is `whole`.
const RECORDS: &str = "RANKSCOPE_CUPTI_RECORDS";

/// What a [`Cupti`](crate::Cupti) does.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CuptiOptions {
    /// Buffers that CUPTI may have or that wait to be decoded, up to 64. The first session of a process decides.
    pub buffers: u32,
    /// Bytes of one buffer. The first session of a process decides.
    pub buffer_bytes: usize,
    /// Calls that are recorded.
    pub calls: ApiCalls,
    /// Records that CUPTI is asked for. `RANKSCOPE_CUPTI_RECORDS=whole` says [`Records::Whole`].
    pub records: Records,
    /// How often CUPTI is asked for what is complete in buffers that are not full yet: what a process that is killed may lose.
    pub flush_every: Duration,
    /// How long the end of a session waits for buffers that CUPTI still has.
    pub patience: Duration,
    /// The file of CUPTI, where it is not to be looked for. One that is loaded already comes before it. `RANKSCOPE_CUPTI_LIBRARY` says the
    /// same.
    pub library: Option<PathBuf>,
    /// The file of the driver, for tests. `RANKSCOPE_CUDA_LIBRARY` says the same.
    pub driver: Option<PathBuf>,
}

impl Default for CuptiOptions {
    /// Sixteen buffers of 4 MiB, of which only what is written to takes memory; every second; half a second.
    fn default() -> Self {
        Self {
            buffers: 16,
            buffer_bytes: 4 << 20,
            calls: ApiCalls::default(),
            records: Records::default(),
            flush_every: Duration::from_secs(1),
            patience: Duration::from_millis(500),
            library: None,
            driver: None,
        }
    }
}

impl CuptiOptions {
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

    /// The same with these records.
    #[must_use]
    pub fn with_records(mut self, records: Records) -> Self {
        self.records = records;
        self
    }

    /// Whether fields are chosen where that is possible.
    pub(crate) fn choose_fields(&self) -> bool {
        self.records == Records::ChosenFields && std::env::var_os(RECORDS).is_none_or(|said| said != "whole")
    }

    /// The same, asking so often for what is complete.
    #[must_use]
    pub fn with_flush_every(mut self, flush_every: Duration) -> Self {
        self.flush_every = flush_every;
        self
    }

    /// The same, waiting so long at the end.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The same with CUPTI from this file.
    #[must_use]
    pub fn with_library(mut self, library: impl Into<PathBuf>) -> Self {
        self.library = Some(library.into());
        self
    }

    /// The same with the driver from this file.
    #[must_use]
    pub fn with_driver(mut self, driver: impl Into<PathBuf>) -> Self {
        self.driver = Some(driver.into());
        self
    }
}
