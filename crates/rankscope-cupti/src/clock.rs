//! Which of the host's clocks CUPTI's is.
//!
//! On Linux its clock is `CLOCK_REALTIME`, under WSL `CLOCK_MONOTONIC_RAW`. Neither is taken for granted: the clock is read between
//! two readings of each, and a clock that is none of them is not guessed at, because work on a wrong clock is worse than none.

use rankscope_record::recording::ClockId;
use rankscope_record::snapshots::HostReading;

use crate::absent::Absent;
use crate::library::Library;

/// Readings, of which the narrowest counts.
const TRIES: u32 = 16;

/// The clocks are hours or decades apart, so that this tells them from each other even on a machine that is busy; how far off the
/// reading really was is kept.
const NEAR_NS: u64 = 1_000_000;

/// The host's clock that CUPTI's is, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockFit {
    pub(crate) clock: ClockId,
    /// How far CUPTI's was from the middle of the host's.
    pub(crate) off_ns: i64,
    /// How much of that may be the reading's own.
    pub(crate) half_width_ns: u64,
}

impl ClockFit {
    /// Of this library.
    ///
    /// # Errors
    /// It gives no time, or its clock is none of the host's.
    pub(crate) fn of(library: &Library) -> Result<Self, Absent> {
        let refused = |status| Absent::Refused { file: library.file.clone(), call: "cuptiGetTimestamp", status };
        library.timestamp_ns().map_err(refused)?;
        let read = || library.timestamp_ns().ok().and_then(|ns| i64::try_from(ns).ok()).filter(|ns| *ns > 0);
        let reading = HostReading::narrowest(read, TRIES).ok_or(Absent::NoTime)?;
        let from_wall_ns = reading.tracer.saturating_sub(reading.wall_ns);
        Self::in_reading(&reading).ok_or(Absent::ForeignClock { from_wall_ns })
    }

    fn in_reading(reading: &HostReading) -> Option<Self> {
        let clocks = [(ClockId::REALTIME, reading.wall_ns), (ClockId::MONOTONIC_RAW, reading.raw_ns)];
        clocks.into_iter().find_map(|(clock, host_ns)| {
            let off_ns = reading.tracer.saturating_sub(host_ns);
            let is_near = off_ns.unsigned_abs() <= NEAR_NS.saturating_add(reading.half_width_ns);
            is_near.then_some(Self { clock, off_ns, half_width_ns: reading.half_width_ns })
        })
    }
}
