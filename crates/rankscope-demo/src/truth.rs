//! What is true, and how far what is shown is from it.
//!
//! All processes of the demo count the same ticks, and this one reads them beside a clock that nobody bends. So the tick of an
//! event tells when it truly happened, whatever its rank believed; and the bends, which only this process knows all of, tell
//! what every host's clock showed at that moment. Nothing here has passed through a packet or an estimate.

use std::fs::File;

use rankscope_clock::simulate::SimClock;
use rankscope_formats::recording::{ClockId, Cut, LiveFile, Recording, TickMap};
use rankscope_record::{Category, Session, SessionOptions};
use rankscope_time::{ClockMap, Instant, RankClock, ReferenceClock};

use crate::clocks::Clocks;
use crate::error::Error;

/// One end of an event, or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Of the counter that all processes share.
    pub(crate) tick: u64,
    /// As the rank's trace has it.
    pub(crate) shown_ns: i64,
}

/// Every stamp of a rank's recording, which its process may have packed since `live` was opened.
pub(crate) fn stamps(live: File) -> Result<Vec<Stamp>, Error> {
    let recording = Recording::open(LiveFile::open(live)?)?;
    let cut = recording.sessions().first().map(Cut::of).ok_or(Error::NoSession)?;
    let mut ticks = Vec::new();
    for thread in recording.threads() {
        let mut events = recording.replay(thread, &cut);
        while let Some((event, _)) = events.next() {
            ticks.push(event.tick);
        }
    }
    Ok(ticks.into_iter().map(|tick| Stamp { tick, shown_ns: recording.ticks().ns(tick) }).collect())
}

/// Reads ticks beside the true clock while the ranks run.
pub(crate) struct Watch(Session);

impl Watch {
    /// Begins.
    pub(crate) fn start() -> Result<Self, Error> {
        // Nothing is to be recorded but the clocks, which every recording holds.
        let options = SessionOptions::default().with_categories(Category::OVERHEAD);
        Ok(Self(Session::start(options)?))
    }

    /// Ends; what is true is known from now on.
    pub(crate) fn end(self, clocks: Clocks) -> Result<Truth, Error> {
        let recording = self.0.stop()?.recorded.open()?;
        let mut anchors = recording.anchors().to_vec();
        // On this clock alone a map of ticks is the clock, without a constant to bring it to the time of day.
        anchors.retain(|anchor| anchor.clock == ClockId::MONOTONIC_RAW);
        if anchors.len() < 2 {
            return Err(Error::TruthUnknown);
        }
        let bends = clocks.hosts.into_iter().map(|host| host.bend).collect();
        Ok(Truth { ticks: TickMap::new(&anchors), shift_ns: clocks.shift_ns, bends })
    }
}

/// What every clock truly showed at every tick.
pub(crate) struct Truth {
    ticks: TickMap,
    shift_ns: i64,
    bends: Vec<SimClock>,
}

impl Truth {
    /// What the clock of the host of `rank` showed at `tick`.
    pub(crate) fn host_ns(&mut self, rank: usize, tick: u64) -> i64 {
        self.bends[rank].local_ns(self.ticks.ns(tick).saturating_add(self.shift_ns))
    }

    /// What the reference clock, that of rank 0's host, showed at `tick`.
    pub(crate) fn reference_ns(&mut self, tick: u64) -> i64 {
        self.host_ns(0, tick)
    }
}

/// How far the stamps of all ranks are from the truth, before and after they were aligned.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    /// Distances before, in order of size.
    before_ns: Vec<u64>,
    /// And after.
    after_ns: Vec<u64>,
    /// What was claimed about each stamp at most, in order of size.
    claimed_ns: Vec<u64>,
    /// Stamps whose error is no greater than was claimed.
    covered: usize,
}

impl Errors {
    /// Adds the stamps of a rank, of which `map` makes the aligned ones.
    pub(crate) fn add(&mut self, stamps: &[Stamp], map: &ClockMap<RankClock, ReferenceClock>, truth: &mut Truth) {
        for stamp in stamps {
            let reference_ns = truth.reference_ns(stamp.tick);
            let shown = Instant::<RankClock>::from_nanos_since_epoch(stamp.shown_ns);
            let after_ns = map.map(shown).nanos_since_epoch().abs_diff(reference_ns);
            let claimed_ns = map.uncertainty_ns(shown);
            self.before_ns.push(stamp.shown_ns.abs_diff(reference_ns));
            self.after_ns.push(after_ns);
            self.claimed_ns.push(claimed_ns);
            self.covered += usize::from(after_ns <= claimed_ns);
        }
    }

    /// All that was added.
    pub(crate) fn finish(mut self) -> Self {
        [&mut self.before_ns, &mut self.after_ns, &mut self.claimed_ns].into_iter().for_each(|list| list.sort_unstable());
        self
    }

    pub(crate) fn stamps(&self) -> usize {
        self.after_ns.len()
    }

    /// The share of stamps whose error is within what was claimed.
    pub(crate) fn coverage(&self) -> f64 {
        self.covered as f64 / self.stamps().max(1) as f64
    }

    /// Percentiles of the errors before, of those after, and of what was claimed.
    pub(crate) fn percentiles(&self, percent: usize) -> [u64; 3] {
        [&self.before_ns, &self.after_ns, &self.claimed_ns].map(|sorted| {
            let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(at).copied().unwrap_or(0)
        })
    }
}

#[cfg(test)]
mod tests {
    use rankscope_time::{Rate, Span};

    use super::*;

    fn truth(bends: Vec<SimClock>) -> Truth {
        // No anchor: a tick counts as a nanosecond.
        Truth { ticks: TickMap::new(&[]), shift_ns: 1_000, bends }
    }

    #[test]
    fn errors_are_counted_from_the_reference_clock() {
        let ahead = |ns| SimClock::new(0, Span::from_nanos(ns), Rate::ZERO, 0.0, 1);
        let mut truth = truth(vec![ahead(7), ahead(500)]);
        let stamps: Vec<_> = (0..100).map(|tick| Stamp { tick, shown_ns: truth.host_ns(1, tick) }).collect();
        let mut errors = Errors::default();
        errors.add(&stamps, &ClockMap::from_offset(Span::from_nanos(-490), 3), &mut truth);
        let errors = errors.finish();
        assert_eq!(errors.percentiles(99), [493, 3, 3]);
        assert_eq!((errors.coverage(), errors.stamps()), (1.0, 100));
    }

    #[test]
    fn a_claim_that_is_too_narrow_is_not_covered() {
        let mut truth = truth(vec![SimClock::perfect()]);
        let mut errors = Errors::default();
        let stamps = [Stamp { tick: 5, shown_ns: 1_005 }, Stamp { tick: 6, shown_ns: 1_010 }];
        errors.add(&stamps, &ClockMap::from_offset(Span::ZERO, 3), &mut truth);
        assert_eq!(errors.coverage(), 0.5);
    }
}
