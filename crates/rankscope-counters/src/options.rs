//! [`CountersOptions`]: how often, of what, and where vendors' libraries lie.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Samples a second, from 1 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hz(u32);

/// A number that is no rate of sampling.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a whole number from 1 to 100")]
pub struct NotAHz(String);

impl Hz {
    /// So many samples a second.
    ///
    /// # Errors
    /// [`NotAHz`] below 1 and above 100.
    pub fn new(hz: u32) -> Result<Self, NotAHz> {
        if (1..=100).contains(&hz) { Ok(Self(hz)) } else { Err(NotAHz(hz.to_string())) }
    }

    /// As a number.
    pub fn get(self) -> u32 {
        self.0
    }

    /// From one sample to the next.
    pub fn period(self) -> Duration {
        Duration::from_secs(1) / self.0
    }
}

impl Default for Hz {
    /// Ten: a step of a training job is seen, and the kernel's own counters change no faster than a hundred times a second.
    fn default() -> Self {
        Self(10)
    }
}

impl FromStr for Hz {
    type Err = NotAHz;

    fn from_str(text: &str) -> Result<Self, NotAHz> {
        text.parse().map_err(|_| NotAHz(text.to_owned())).and_then(Self::new)
    }
}

impl fmt::Display for Hz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whose counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Those of this process.
    #[default]
    Process,
    /// Those of the node, of which one process of the node is to take care.
    Node,
}

/// What [`Counters`](crate::Counters) samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountersOptions {
    /// How often.
    pub hz: Hz,
    /// Of what.
    pub scope: Scope,
    /// The file of NVML, where it is not the driver's. `RANKSCOPE_NVML_LIBRARY` says the same.
    pub nvml: Option<PathBuf>,
    /// The file of ROCm SMI, where it is not that of the system or of `ROCM_PATH`. `RANKSCOPE_ROCM_SMI_LIBRARY` says the same.
    pub rocm_smi: Option<PathBuf>,
}

impl CountersOptions {
    /// The same, so often.
    #[must_use]
    pub fn with_hz(mut self, hz: Hz) -> Self {
        self.hz = hz;
        self
    }

    /// The same, of these.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// The same with NVML from this file.
    #[must_use]
    pub fn with_nvml(mut self, nvml: impl Into<PathBuf>) -> Self {
        self.nvml = Some(nvml.into());
        self
    }

    /// The same with ROCm SMI from this file.
    #[must_use]
    pub fn with_rocm_smi(mut self, rocm_smi: impl Into<PathBuf>) -> Self {
        self.rocm_smi = Some(rocm_smi.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_from_one_to_a_hundred() {
        for (text, expected) in
            [("1", Some(1_000)), ("10", Some(100)), ("100", Some(10)), ("0", None), ("101", None), ("2.5", None)]
        {
            let period_ms = text.parse::<Hz>().ok().map(|hz| hz.period().as_millis());
            assert_eq!(period_ms, expected, "{text}");
        }
    }
}
