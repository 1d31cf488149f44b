//! [`Status`]: what a call into CUPTI returns, with names of our own.
//!
//! The library can say a number in words, but versions that find no driver answer that question with an error, too.

use rankscope_devices::statuses;

statuses! {
    /// What a call into CUPTI returned.
    Status {
        0 => "success",
        1 => "invalid parameter",
        2 => "invalid device",
        3 => "invalid context",
        7 => "invalid operation",
        8 => "out of memory",
        11 => "not implemented",
        12 => "no more records",
        13 => "not ready",
        14 => "not compatible with how CUPTI is used already",
        15 => "not initialised",
        19 => "invalid handle",
        21 => "invalid kind",
        23 => "disabled",
        26 => "the hardware is busy",
        27 => "not supported",
        33 => "virtualised devices are not supported",
        35 => "insufficient privileges: the driver lets only administrators profile",
        39 => "another profiler is subscribed",
        40 => "insufficient privileges on a virtualised device",
        41 => "confidential computing",
        43 => "MIG devices are not supported",
        45 => "not supported under WSL",
        47 => "hardware events are not supported under MPS",
        999 => "unknown error",
    }
}

impl Status {
    pub(crate) const MAX_LIMIT_REACHED: Self = Self(12);
    /// Another user of the library has chosen a mode in which this call has no meaning.
    pub const NOT_COMPATIBLE: Self = Self(14);
    /// The driver is not up yet, or cannot be had.
    pub const NOT_INITIALIZED: Self = Self(15);
    /// Another profiler is there already.
    pub const MULTIPLE_SUBSCRIBERS: Self = Self(39);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_nobody_knows_is_still_a_number() {
        assert_eq!(Status(999).to_string(), "error 999 (unknown error)");
        assert_eq!(Status(1234).to_string(), "error 1234");
    }
}
