//! [`Absent`]: why something is not sampled. An absence is no error; the recording says it once.

use std::io;
use std::path::PathBuf;

use crate::amd::RocmSmiStatus;
use crate::nvml::NvmlStatus;

/// Why something is not sampled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Absent {
    /// A file of the kernel's cannot be read.
    #[error("{}: {reason}", path.display())]
    NoFile {
        /// The file, or the folder of such files.
        path: PathBuf,
        /// What the system says.
        reason: io::Error,
    },
    /// A file of the kernel's has something else in it than it should.
    #[error("{}: not what the kernel writes there", path.display())]
    OtherText {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing of the kind.
    #[error("{}: none on this host", path.display())]
    None {
        /// Where such things are listed.
        path: PathBuf,
    },
    /// The kernel opens no performance counter: it has none of the kind, or `kernel.perf_event_paranoid` keeps them from this user.
    #[error("perf_event_open({what}): {reason}")]
    NoPerf {
        /// What was to be counted.
        what: String,
        /// What the system says.
        reason: io::Error,
    },
    /// NVML cannot be loaded: no driver of NVIDIA's, or a container without it.
    #[error("NVML is not installed: {said}")]
    NoNvml {
        /// What the loader says.
        said: String,
    },
    /// A library that calls itself NVML lacks a function.
    #[error("{file} lacks {symbol}")]
    NotNvml {
        /// The library.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// NVML refuses.
    #[error("{call} returned {status}")]
    Refused {
        /// The call.
        call: &'static str,
        /// What it returned.
        status: NvmlStatus,
    },
    /// NVML has no device.
    #[error("NVML knows no GPU")]
    NoGpu,
    /// ROCm SMI cannot be loaded.
    #[error("ROCm SMI is not installed: {said}")]
    NoRocmSmi {
        /// What the loader says.
        said: String,
    },
    /// A library that calls itself ROCm SMI lacks a function.
    #[error("{file} lacks {symbol}")]
    NotRocmSmi {
        /// The library.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// ROCm SMI refuses.
    #[error("{call} returned {status}")]
    RocmSmiRefused {
        /// The call.
        call: &'static str,
        /// What it returned.
        status: RocmSmiStatus,
    },
    /// The kernel has no GPU of AMD's.
    #[error("no GPU of AMD's in {}", path.display())]
    NoAmdCard {
        /// Where it lists them.
        path: PathBuf,
    },
    /// ROCm SMI has no device.
    #[error("ROCm SMI knows no GPU")]
    NoAmdGpu,
    /// A GPU is there and tells nothing.
    #[error("GPU {index} tells nothing")]
    SilentGpu {
        /// Its number.
        index: u32,
    },
    /// The system has no thread to sample on.
    #[error("no thread: {0}")]
    NoThread(io::Error),
}
