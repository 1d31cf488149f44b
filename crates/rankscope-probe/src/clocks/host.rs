//! The host clock: `CLOCK_MONOTONIC_RAW`, moved once so that it shows about the time of day.
//!
//! Two series of snapshots of `CLOCK_REALTIME` against it are kept. A dense one converts stamps as they come: a stamp younger
//! than the last snapshot makes a new one be taken, so that every stamp lies between two. A sparse one is the record of the
//! whole run, for traces, which are stamped in `CLOCK_REALTIME` too.
//!
//! A clock may be bent on purpose: a [`SimClock`] turns the true host time into the one that is given out, so that agents that
//! share a kernel clock can play hosts that do not, with the truth known.

use rankscope_clock::session::{Now, Stamp};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{ClockEvent, HostInstant, MonotonicInstant, StampSource};
use rankscope_time::{ClockMap, HostClock, Knot, MapError, RankClock, Rate, Span};

use super::phc::{CrossStamp, Phc, PhcError};
use super::{Change, Clock, Sandwich, Series, Snapshot, Unknown, sandwich};
use crate::stamps::PacketStamp;

/// How the host clock is kept.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostTimeOptions {
    /// Between the snapshots of the record, which serve traces.
    pub snapshot_every: Span,
    /// Between the snapshots that convert stamps, while stamps come.
    pub dense_every: Span,
    /// Stamps known less well than this are dropped.
    pub uncertainty_max_ns: u64,
    /// What is added to `CLOCK_MONOTONIC_RAW`. None takes what makes the host clock equal `CLOCK_REALTIME` at the start; agents
    /// on one machine whose clocks are compared with the truth must be given the same.
    pub shift: Option<Span>,
    /// Bends the clock.
    pub bend: Option<SimClock>,
}

impl Default for HostTimeOptions {
    /// Snapshots every 100 ms, 1 ms while stamps come; stamps good to 1 us; no bend.
    fn default() -> Self {
        Self {
            snapshot_every: Span::from_nanos(100_000_000),
            dense_every: Span::from_nanos(1_000_000),
            uncertainty_max_ns: 1_000,
            shift: None,
            bend: None,
        }
    }
}

/// Why a packet has no stamp on the host clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStamp {
    /// The clock that the packet was stamped with was stepped about then, or the stamp is too old.
    #[error("its clock stepped, or the timestamp is too old")]
    Unknown(Unknown),
    /// The clock was being steered, and how is not known well enough.
    #[error("known only to within {0} ns")]
    Uncertain(u64),
    /// Stamped by a clock of a network card that was not opened.
    #[error("stamped by a network card whose clock is not open")]
    NoPhc,
}

/// A stretch of `CLOCK_REALTIME` without a step, as knots from it to the host clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceRun {
    /// From `CLOCK_REALTIME` to the host clock.
    pub knots: Vec<Knot>,
}

impl TraceRun {
    /// The map for traces that are stamped in `CLOCK_REALTIME`.
    ///
    /// # Errors
    /// [`MapError`] where the bent clock steps within the stretch.
    pub fn map(&self) -> Result<ClockMap<RankClock, HostClock>, MapError> {
        ClockMap::from_knots(self.knots.clone(), DRIFT_BOUND)
    }
}

/// What `CLOCK_REALTIME` may gain on the oscillator between snapshots and beyond them.
const DRIFT_BOUND: Rate = Rate::from_ppb(super::series::SLEW_PPM_MAX * 1_000);

/// Snapshots that convert stamps: four seconds of them where stamps come all the time.
const DENSE_CAPACITY: usize = 4_096;

/// Snapshots of the record: almost two hours at 100 ms, should nobody take it.
const RECORD_CAPACITY: usize = 65_536;

/// Readings of which the narrowest counts.
const TRIES: u32 = 5;

/// Events kept until they are taken.
const EVENTS_MAX: usize = 1_024;

/// The clock that everything on this host is stamped with.
#[derive(Debug)]
pub struct HostTime {
    shift: Span,
    bend: Option<SimClock>,
    uncertainty_max_ns: u64,
    snapshot_every: Span,
    dense: Series,
    record: Series,
    phc: Option<(Phc, Series)>,
    due: MonotonicInstant,
    events: Vec<ClockEvent>,
    worst_ns: u64,
}

impl HostTime {
    /// Starts the clock with a first snapshot.
    pub fn start(options: HostTimeOptions) -> Self {
        let first = sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES);
        let shift = options.shift.unwrap_or(shift_of(&first));
        let mut host = Self {
            shift,
            bend: options.bend,
            uncertainty_max_ns: options.uncertainty_max_ns,
            snapshot_every: options.snapshot_every,
            dense: Series::new(options.dense_every.as_nanos(), DENSE_CAPACITY),
            record: Series::new(options.snapshot_every.as_nanos(), RECORD_CAPACITY),
            phc: None,
            due: monotonic_now(),
            events: Vec::new(),
            worst_ns: 0,
        };
        host.keep(first);
        host
    }

    /// What makes the host clock show the time of day now.
    pub fn time_of_day_shift() -> Span {
        shift_of(&sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES))
    }

    /// Opens the clock of a network card, whose stamps can be converted from then on.
    ///
    /// # Errors
    /// [`PhcError`] where the device cannot be opened or read.
    pub fn attach(&mut self, phc: Phc) -> Result<(), PhcError> {
        let spacing_ns = self.snapshot_every.as_nanos();
        self.phc = Some((phc, Series::new(spacing_ns, DENSE_CAPACITY)));
        self.snapshot_phc()
    }

    /// What was added to `CLOCK_MONOTONIC_RAW`.
    pub fn shift(&self) -> Span {
        self.shift
    }

    /// Both clocks of a session.
    pub fn now(&mut self) -> Now {
        Now { monotonic: monotonic_now(), host: self.at_raw(Clock::MonotonicRaw.now_ns()) }
    }

    /// When the next snapshot is wanted.
    pub fn snapshot_due(&self) -> MonotonicInstant {
        self.due
    }

    /// Takes a snapshot. Call it when it is due, or at any time.
    ///
    /// # Errors
    /// [`PhcError`] where the clock of the network card can no longer be read; the other snapshot is taken all the same.
    pub fn snapshot(&mut self) -> Result<(), PhcError> {
        self.keep(sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES));
        self.due = monotonic_now() + self.snapshot_every;
        if self.phc.is_some() { self.snapshot_phc() } else { Ok(()) }
    }

    /// `CLOCK_REALTIME` beside the host clock, now.
    pub fn beside_realtime(&mut self) -> Knot {
        let Snapshot { base_ns, other_ns, half_width_ns } = sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES).snapshot();
        Knot { from_ns: other_ns, to_ns: self.at_raw(base_ns).nanos_since_epoch(), uncertainty_ns: half_width_ns }
    }

    /// The clock of a network card beside the host clock, now; none where `CLOCK_REALTIME`, through which the driver reads it, is
    /// not known.
    ///
    /// # Errors
    /// [`PhcError`] where the card cannot be read.
    pub fn beside_card(&mut self, card: &mut Phc) -> Result<Option<Knot>, PhcError> {
        let read = card.cross_stamp()?;
        let Some(Snapshot { base_ns, other_ns, half_width_ns }) = self.on_raw(read) else { return Ok(None) };
        Ok(Some(Knot { from_ns: other_ns, to_ns: self.at_raw(base_ns).nanos_since_epoch(), uncertainty_ns: half_width_ns }))
    }

    /// The stamp of a packet, on the host clock.
    ///
    /// # Errors
    /// [`NoStamp`]: the packet is to be treated as one without a stamp.
    pub fn stamp(&mut self, packet: PacketStamp) -> Result<Stamp, NoStamp> {
        let (ns, source) = match packet {
            PacketStamp::Hardware(phc_ns) => return self.hardware_stamp(phc_ns),
            PacketStamp::Kernel(ns) => (ns, StampSource::Kernel),
            PacketStamp::User(ns) => (ns, StampSource::User),
        };
        let at = self.at_realtime(ns)?;
        Ok(Stamp { at, source })
    }

    /// The moment at which `CLOCK_REALTIME` showed `realtime_ns`, on the host clock.
    ///
    /// # Errors
    /// [`NoStamp`] where that is not known, or not well enough.
    pub fn at_realtime(&mut self, realtime_ns: i64) -> Result<HostInstant, NoStamp> {
        if self.dense.last().is_none_or(|last| last.other_ns < realtime_ns) {
            self.keep(sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES));
        }
        let found = self.dense.to_base(realtime_ns, Clock::MonotonicRaw.now_ns()).map_err(NoStamp::Unknown)?;
        self.known(found.base_ns, found.uncertainty_ns)
    }

    /// How well the least well known stamp that was given out is known.
    pub fn worst_uncertainty_ns(&self) -> u64 {
        self.worst_ns
    }

    /// The steps and changes of rate of `CLOCK_REALTIME` that were seen since the last call. The host clock has none of them;
    /// they say what a time daemon did.
    pub fn take_events(&mut self) -> Vec<ClockEvent> {
        std::mem::take(&mut self.events)
    }

    /// The record so far, from `CLOCK_REALTIME` to the host clock; what comes later starts where this ends.
    pub fn take_trace_runs(&mut self) -> Vec<TraceRun> {
        let runs: Vec<_> = self.record.runs().collect();
        self.record.forget();
        let knot = |point: &Snapshot, host: &mut Self| Knot {
            from_ns: point.other_ns,
            to_ns: host.at_raw(point.base_ns).nanos_since_epoch(),
            uncertainty_ns: point.half_width_ns,
        };
        runs.iter().map(|run| TraceRun { knots: run.iter().map(|point| knot(point, self)).collect() }).collect()
    }

    fn keep(&mut self, read: Sandwich) {
        self.dense.push(read.snapshot());
        let Some(change) = self.record.push(read.snapshot()) else { return };
        let event = match change {
            Change::Step { base_ns, size_ns } => ClockEvent::Step { at: self.at_raw(base_ns), size: Span::from_nanos(size_ns) },
            Change::Rate { base_ns, by_ppb } => ClockEvent::RateChange { at: self.at_raw(base_ns), by_ppb: by_ppb as f64 },
        };
        if self.events.len() < EVENTS_MAX {
            self.events.push(event);
        }
    }

    fn snapshot_phc(&mut self) -> Result<(), PhcError> {
        let Some((phc, _)) = &mut self.phc else { return Ok(()) };
        let crossed = phc.cross_stamp()?;
        let snapshot = self.on_raw(crossed);
        if let (Some((_, series)), Some(snapshot)) = (&mut self.phc, snapshot) {
            series.push(snapshot);
        }
        Ok(())
    }

    /// A cross-stamp, which is against the oscillator itself or, with older drivers, against the steered clock.
    fn on_raw(&mut self, crossed: CrossStamp) -> Option<Snapshot> {
        crossed.raw().or_else(|| {
            self.dense.push(sandwich(Clock::MonotonicRaw, Clock::Realtime, TRIES).snapshot());
            let now_ns = Clock::MonotonicRaw.now_ns();
            crossed.through(|realtime_ns| self.dense.to_base(realtime_ns, now_ns).ok())
        })
    }

    fn hardware_stamp(&mut self, phc_ns: i64) -> Result<Stamp, NoStamp> {
        let Some((_, series)) = &self.phc else { return Err(NoStamp::NoPhc) };
        if series.last().is_none_or(|last| last.other_ns < phc_ns) {
            // A card that no longer answers leaves the stamp without a snapshot after it, which is said below.
            let _unread = self.snapshot_phc();
        }
        let Some((_, series)) = &self.phc else { return Err(NoStamp::NoPhc) };
        let found = series.to_base(phc_ns, Clock::MonotonicRaw.now_ns()).map_err(NoStamp::Unknown)?;
        let at = self.known(found.base_ns, found.uncertainty_ns)?;
        Ok(Stamp { at, source: StampSource::Hardware })
    }

    fn known(&mut self, raw_ns: i64, uncertainty_ns: u64) -> Result<HostInstant, NoStamp> {
        if uncertainty_ns > self.uncertainty_max_ns {
            return Err(NoStamp::Uncertain(uncertainty_ns));
        }
        self.worst_ns = self.worst_ns.max(uncertainty_ns);
        Ok(self.at_raw(raw_ns))
    }

    fn at_raw(&mut self, raw_ns: i64) -> HostInstant {
        let true_ns = raw_ns.saturating_add(self.shift.as_nanos());
        let shown_ns = self.bend.as_mut().map_or(true_ns, |bend| bend.local_ns(true_ns));
        HostInstant::from_nanos_since_epoch(shown_ns)
    }
}

fn shift_of(read: &Sandwich) -> Span {
    Span::from_nanos(read.inner_ns.saturating_sub(read.outer_ns))
}

fn monotonic_now() -> MonotonicInstant {
    MonotonicInstant::from_nanos_since_epoch(Clock::Monotonic.now_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_of_now_is_between_two_readings_of_the_host_clock() {
        let mut host = HostTime::start(HostTimeOptions { uncertainty_max_ns: u64::MAX, ..HostTimeOptions::default() });
        for _ in 0..1_000 {
            let before = host.now().host;
            let realtime_ns = Clock::Realtime.now_ns();
            let stamp = host.stamp(PacketStamp::Kernel(realtime_ns)).unwrap();
            let after = host.now().host;
            let slack = Span::from_nanos(host.worst_uncertainty_ns() as i64);
            assert!(before - slack <= stamp.at && stamp.at <= after + slack, "{before:?} {stamp:?} {after:?}");
        }
        assert_eq!(host.take_events(), []);
    }

    #[test]
    fn the_record_maps_traces_to_the_host_clock() {
        let mut host = HostTime::start(HostTimeOptions { snapshot_every: Span::ZERO, ..HostTimeOptions::default() });
        (0..50).for_each(|_| host.snapshot().unwrap());
        let runs = host.take_trace_runs();
        let map = runs[0].map().unwrap();
        let middle = runs[0].knots[25];
        let mapped = map.map(rankscope_time::Instant::from_nanos_since_epoch(middle.from_ns));
        assert_eq!(mapped.nanos_since_epoch(), middle.to_ns);
        assert!(host.take_trace_runs()[0].knots.len() <= 2, "what was taken is gone");
    }

    #[test]
    fn a_bent_clock_is_wrong_exactly_as_told() {
        let straight = HostTime::start(HostTimeOptions::default());
        let bend = SimClock::new(0, Span::from_nanos(5_000_000_000), Rate::ZERO, 0.0, 1);
        let options = HostTimeOptions { shift: Some(straight.shift()), bend: Some(bend), ..HostTimeOptions::default() };
        let (mut straight, mut bent) = (straight, HostTime::start(options));
        let realtime_ns = Clock::Realtime.now_ns();
        let apart = bent.at_realtime(realtime_ns).unwrap() - straight.at_realtime(realtime_ns).unwrap();
        assert!((apart.as_nanos() - 5_000_000_000).abs() < 1_000, "{apart:?}");
    }

    #[test]
    fn hardware_stamps_need_their_clock() {
        let mut host = HostTime::start(HostTimeOptions::default());
        assert_eq!(host.stamp(PacketStamp::Hardware(1)), Err(NoStamp::NoPhc));
    }
}
