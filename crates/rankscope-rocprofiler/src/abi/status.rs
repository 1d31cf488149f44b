//! [`Status`]: what a call into rocprofiler returns, with names of our own.

use rankscope_devices::statuses;

statuses! {
    /// What a call into rocprofiler returned.
    Status {
        0 => "success",
        1 => "unspecified",
        2 => "no such context",
        3 => "no such buffer",
        4 => "no such kind",
        5 => "no such operation",
        7 => "no such agent",
        9 => "the context failed",
        10 => "the context is not valid",
        11 => "the context does not start",
        12 => "another context is in the way",
        14 => "the buffer is busy",
        15 => "configured already",
        16 => "it can be configured no more",
        17 => "not implemented",
        18 => "incompatible structures",
        19 => "invalid argument",
        21 => "it has ended",
        28 => "the kernel's driver is too old",
        29 => "out of resources",
        37 => "not available",
        39 => "the GPU's architecture is not supported",
        40 => "permission denied",
    }
}

impl Status {
    /// This version has no such service.
    pub(crate) const NO_SUCH_KIND: Self = Self(4);
    /// rocprofiler has ended.
    pub(crate) const ENDED: Self = Self(21);
    /// A tool may only be configured before the first runtime is up.
    pub const LOCKED: Self = Self(16);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_nobody_knows_is_still_a_number() {
        assert_eq!(Status::LOCKED.to_string(), "error 16 (it can be configured no more)");
        assert_eq!(Status(1234).to_string(), "error 1234");
    }
}
