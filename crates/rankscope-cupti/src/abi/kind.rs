//! Kinds of records, and of external correlations.

use std::ffi::c_int;

/// A kind of record that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
    Memcpy = 1,
    Memset = 2,
    Driver = 4,
    Runtime = 5,
    ConcurrentKernel = 10,
    Overhead = 17,
    MemcpyPeer = 22,
    Synchronization = 38,
    ExternalCorrelation = 39,
    Memory = 49,
}

/// The kind that serialises kernels. It is never asked for, but its records are those of [`Kind::ConcurrentKernel`].
const SERIALISED_KERNEL: u32 = 3;

impl Kind {
    /// All of them, in the order in which they are asked for: ties before calls, because a call that is recorded while ties are not
    /// yet has none.
    pub(crate) const ALL: [Self; 10] = [
        Self::ExternalCorrelation,
        Self::Runtime,
        Self::Driver,
        Self::ConcurrentKernel,
        Self::Memcpy,
        Self::MemcpyPeer,
        Self::Memset,
        Self::Synchronization,
        Self::Overhead,
        Self::Memory,
    ];

    /// The kind with this number, if its records are read.
    pub(crate) fn of(number: u32) -> Option<Self> {
        if number == SERIALISED_KERNEL {
            return Some(Self::ConcurrentKernel);
        }
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// Where it stands in [`Self::ALL`].
    pub(crate) fn place(self) -> usize {
        // It is one of them, as the tests say.
        Self::ALL.into_iter().position(|kind| kind == self).unwrap_or_default()
    }

    /// Whether without it nothing is learned of devices.
    pub(crate) fn is_work(self) -> bool {
        matches!(self, Self::ConcurrentKernel | Self::Memcpy | Self::Memset)
    }

    /// In words, for what is said of it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memcpy => "memcpy",
            Self::Memset => "memset",
            Self::Driver => "driver",
            Self::Runtime => "runtime",
            Self::ConcurrentKernel => "kernel",
            Self::Overhead => "overhead",
            Self::MemcpyPeer => "memcpy between devices",
            Self::Synchronization => "synchronization",
            Self::ExternalCorrelation => "external correlation",
            Self::Memory => "memory",
        }
    }
}

/// A stack of external ids. The first two custom ones are those that PyTorch's profiler uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum ExternalKind {
    /// Ranges that the program names.
    Annotations = 4,
    /// Spans.
    Spans = 5,
}

impl ExternalKind {
    pub(crate) fn of(number: c_int) -> Option<Self> {
        [Self::Annotations, Self::Spans].into_iter().find(|kind| *kind as c_int == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_number() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind as u32), Some(kind), "{}", kind.name());
            assert_eq!(Kind::ALL[kind.place()], kind);
        }
        assert_eq!((Kind::of(3), Kind::of(0), Kind::of(46)), (Some(Kind::ConcurrentKernel), None, None));
    }
}
