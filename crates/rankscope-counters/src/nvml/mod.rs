//! GPUs of NVIDIA, through NVML: power, clocks, temperature, how busy they are, and what slows them down.
//!
//! NVML comes with the driver and is loaded at run time. It is initialised once in a process and never shut down, because nobody can know whether
//! the program uses it as well. Each GPU is a source of its own, as the driver may take a millisecond for one of them.

mod device;
mod library;
mod status;

use std::path::PathBuf;

use device::Device;
use library::Library;
pub(crate) use library::said;
pub use status::NvmlStatus;

use crate::source::{Opened, of};

/// The variable that names the library.
const LIBRARY: &str = "RANKSCOPE_NVML_LIBRARY";

/// What GPUs are called where they are absent.
const NAME: &str = "nvml";

/// All GPUs of the host; why there are none.
pub(crate) fn open(named: Option<PathBuf>) -> Vec<Opened> {
    let named = named.or_else(|| std::env::var_os(LIBRARY).map(PathBuf::from));
    match Library::load(named).and_then(|library| Device::all(&library)) {
        Ok(devices) => devices.into_iter().map(|device| of(NAME, Ok(device))).collect(),
        Err(absent) => vec![(NAME, Err(absent))],
    }
}
