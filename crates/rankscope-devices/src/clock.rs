//! Which of the host's clocks a profiler's is.
//!
//! It is not taken for granted: the clock is read between two readings of the host's, and a clock that is none of them is not guessed at,
//! because work on a wrong clock is worse than none.
#![expect(unsafe_code, reason = "a clock of the kernel's is read")]

use rankscope_record::recording::ClockId;
use rankscope_record::snapshots::HostReading;

/// Readings, of which the narrowest counts.
const TRIES: u32 = 16;

/// The clocks are hours or decades apart, so that this tells them from each other even on a machine that is busy; how far off the
/// reading really was is kept.
const NEAR_NS: u64 = 1_000_000;

/// The host's clock that a profiler's is, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockFit {
    /// The host's clock.
    pub clock: ClockId,
    /// How far the profiler's was from the middle of the host's.
    pub off_ns: i64,
    /// How much of that may be the reading's own.
    pub half_width_ns: u64,
}

/// Why a profiler's clock is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoClock {
    /// It shows no time.
    NoTime,
    /// It is none of those that it might be.
    Foreign {
        /// How far it is ahead of `CLOCK_REALTIME`.
        from_wall_ns: i64,
    },
}

impl ClockFit {
    /// The first of `clocks` that what `read` shows is near to. Two that stand together, as `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME` do on
    /// a machine that never slept, are told apart by that order alone.
    ///
    /// # Errors
    /// It shows no time, or is none of them.
    pub fn among(clocks: &[ClockId], mut read: impl FnMut() -> Option<i64>) -> Result<Self, NoClock> {
        let reading = HostReading::narrowest(|| read().filter(|ns| *ns > 0), TRIES).ok_or(NoClock::NoTime)?;
        let fits = clocks.iter().find_map(|clock| Self::near(*clock, &reading));
        fits.ok_or(NoClock::Foreign { from_wall_ns: reading.tracer.saturating_sub(reading.wall_ns) })
    }

    fn near(clock: ClockId, reading: &HostReading) -> Option<Self> {
        let (host_ns, half_width_ns) = host_ns(clock, reading)?;
        let off_ns = reading.tracer.saturating_sub(host_ns);
        let is_near = off_ns.unsigned_abs() <= NEAR_NS.saturating_add(half_width_ns);
        is_near.then_some(Self { clock, off_ns, half_width_ns })
    }
}

/// What a clock of the host's showed at the moment of a reading, and how far that may be off.
fn host_ns(clock: ClockId, reading: &HostReading) -> Option<(i64, u64)> {
    let number = match clock {
        ClockId::REALTIME => return Some((reading.wall_ns, reading.half_width_ns)),
        ClockId::MONOTONIC_RAW => return Some((reading.raw_ns, reading.half_width_ns)),
        ClockId::MONOTONIC => libc::CLOCK_MONOTONIC,
        ClockId::BOOTTIME => libc::CLOCK_BOOTTIME,
        _ => return None,
    };
    // By how far it is from the raw clock a moment later: in so short a time they do not drift apart.
    let beside = HostReading::narrowest(|| kernel_ns(number), TRIES)?;
    let then_ns = beside.tracer.checked_add(reading.raw_ns.checked_sub(beside.raw_ns)?)?;
    Some((then_ns, reading.half_width_ns.saturating_add(beside.half_width_ns)))
}

fn kernel_ns(clock: libc::clockid_t) -> Option<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is ours.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (status == 0).then(|| time.tv_sec.checked_mul(1_000_000_000)?.checked_add(time.tv_nsec)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [ClockId; 3] = [ClockId::BOOTTIME, ClockId::REALTIME, ClockId::MONOTONIC_RAW];

    #[test]
    fn a_clock_of_the_hosts_is_found_within_what_its_reading_says() {
        for (number, clock) in [(libc::CLOCK_BOOTTIME, ClockId::BOOTTIME), (libc::CLOCK_REALTIME, ClockId::REALTIME)] {
            let fit = ClockFit::among(&ALL, || kernel_ns(number)).unwrap();
            assert_eq!(fit.clock, clock);
            // One nanosecond for the halves of two readings.
            assert!(fit.off_ns.unsigned_abs() <= fit.half_width_ns + 1, "{fit:?}");
        }
    }

    #[test]
    fn a_clock_that_might_not_be_it_is_none() {
        let read = || kernel_ns(libc::CLOCK_BOOTTIME);
        let Err(NoClock::Foreign { from_wall_ns }) = ClockFit::among(&[ClockId::REALTIME], read) else { panic!("it fits") };
        assert!(from_wall_ns < 0, "{from_wall_ns}");
        assert_eq!(ClockFit::among(&ALL, || Some(0)), Err(NoClock::NoTime));
        assert_eq!(ClockFit::among(&ALL, || None), Err(NoClock::NoTime));
    }
}
