//! [`NvmlStatus`]: what NVML's functions return, in words of our own, as its own text may be what failed.

use std::ffi::c_int;
use std::fmt;

/// What a function of NVML's returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NvmlStatus(pub c_int);

impl NvmlStatus {
    pub(super) fn done(self) -> Result<(), Self> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }

    /// Whether the device is gone, and will not come back in this process.
    pub(super) fn is_gone(self) -> bool {
        self.0 == 15
    }
}

impl fmt::Display for NvmlStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.0 {
            1 => "not initialised",
            2 => "invalid argument",
            3 => "not supported",
            4 => "no permission",
            9 => "the driver is not loaded",
            12 => "a library of the driver is missing",
            15 => "the GPU has fallen off the bus",
            18 => "the library is of another version than the driver",
            _ => return write!(f, "error {}", self.0),
        };
        write!(f, "error {} ({words})", self.0)
    }
}
