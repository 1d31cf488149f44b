//! [`RocmSmiStatus`]: what ROCm SMI's functions return, in words of our own (`rsmi_status_t` of rocm_smi.h).

use std::fmt;

/// What a function of ROCm SMI's returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocmSmiStatus(pub u32);

impl RocmSmiStatus {
    pub(super) fn done(self) -> Result<(), Self> {
        if self.0 == 0 { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for RocmSmiStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.0 {
            1 => "invalid argument",
            2 => "not supported",
            3 => "a file of the driver cannot be read",
            4 => "no permission",
            5 => "out of resources",
            6 => "an exception within the library",
            7 => "out of bounds",
            8 => "the library is not initialised",
            10 => "not found",
            14 => "no data",
            15 => "unexpected data",
            16 => "the device is busy",
            _ => return write!(f, "error {}", self.0),
        };
        write!(f, "error {} ({words})", self.0)
    }
}
