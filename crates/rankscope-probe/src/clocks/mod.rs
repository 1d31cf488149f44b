//! The clocks of this host: reading them, reading two at once, and taking stamps from one to another.
//!
//! Kernel software stamps are on `CLOCK_REALTIME`, which time daemons step and slew. Probes are fitted on the *host clock*
//! instead: `CLOCK_MONOTONIC_RAW`, moved once so that it looks like the epoch, which nothing steers. [`Series`] holds
//! snapshots of both and converts between them; [`HostTime`] takes the snapshots.
//!
//! No clock is ever set here.

pub mod chrony;
mod host;
pub mod kernel;
pub mod phc;
pub mod ptp;
mod sandwich;
mod series;

pub use host::{HostTime, HostTimeOptions, NoStamp, TraceRun};
pub use sandwich::{Sandwich, sandwich};
pub use series::{Change, Reading, Series, Snapshot, Unknown};

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_getres, clock_gettime};

/// A clock of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Since 1970, as the time daemons will have it.
    Realtime,
    /// Since some moment, slewed but never stepped.
    Monotonic,
    /// Since some moment, at the rate of the oscillator.
    MonotonicRaw,
    /// As `Monotonic`, counting suspension too.
    Boottime,
    /// As `Realtime`, without leap seconds.
    Tai,
}

impl Clock {
    /// What the clock shows now.
    pub fn now_ns(self) -> i64 {
        let read = clock_gettime(self.id()).expect("Linux has had these clocks since 3.10 and lets everyone read them");
        nanos(read)
    }

    /// The step in which the clock counts.
    pub fn resolution_ns(self) -> i64 {
        let step = clock_getres(self.id()).expect("Linux has had these clocks since 3.10 and lets everyone read them");
        nanos(step)
    }

    fn id(self) -> ClockId {
        match self {
            Self::Realtime => ClockId::CLOCK_REALTIME,
            Self::Monotonic => ClockId::CLOCK_MONOTONIC,
            Self::MonotonicRaw => ClockId::CLOCK_MONOTONIC_RAW,
            Self::Boottime => ClockId::CLOCK_BOOTTIME,
            Self::Tai => ClockId::CLOCK_TAI,
        }
    }
}

fn nanos(time: TimeSpec) -> i64 {
    crate::nanos(time.tv_sec(), time.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_go_forward_and_keep_their_epochs() {
        for clock in [Clock::Realtime, Clock::Monotonic, Clock::MonotonicRaw, Clock::Boottime, Clock::Tai] {
            let first = clock.now_ns();
            assert!(clock.now_ns() >= first, "{clock:?}");
        }
        assert!(Clock::Realtime.now_ns() > 1_600_000_000_000_000_000);
        assert!(Clock::Monotonic.now_ns() < Clock::Realtime.now_ns());
    }
}
