//! When probes are due: trains of exchanges on a grid that never drifts.
//!
//! A train starts every `period`, its exchanges follow every `cadence`; both grids are absolute and jitter is added to their
//! points, not to their steps, so the mean rate is exact however long the run. Jitter keeps the edges from locking on to
//! anything periodic in the network. What is late by more than a cadence is skipped: catching up would be a burst, and a burst
//! measures its own queue.

use rankscope_time::Span;

use super::settings::PERIOD_MAX;
use crate::{MonotonicInstant, Rng};

/// The shape of an edge's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) cadence: Span,
    pub(super) spacing: Span,
    pub(super) jitter_percent: u64,
    pub(super) train: u32,
    /// How often this node can afford a train.
    pub(super) period: Span,
}

/// The deadlines of one edge.
#[derive(Debug)]
pub(super) struct Pacer {
    pace: Pace,
    period: Span,
    /// Where the grid of trains begins.
    base: MonotonicInstant,
    /// Number of the train.
    train: i64,
    start: MonotonicInstant,
    /// Number of the exchange within the train.
    slot: u32,
    rng: Rng,
}

impl Pacer {
    pub(super) fn new(pace: Pace, base: MonotonicInstant, rng: Rng) -> Self {
        Self { pace, period: pace.period, base, train: -1, start: base, slot: 0, rng }
    }

    pub(super) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The rate that both ends can afford.
    pub(super) fn exchanges_per_s(&self) -> f64 {
        f64::from(self.pace.train) * 1e9 / self.period.as_nanos() as f64
    }

    pub(super) fn period(&self) -> Span {
        self.period
    }

    /// The peer cannot answer more often than every `period`: the slower of the two ends decides.
    pub(super) fn limit(&mut self, now: MonotonicInstant, period: Span) {
        let period = period.clamp(self.pace.period, PERIOD_MAX.max(self.pace.period));
        if period != self.period {
            // A new grid, at the same place within its period as the old one, so that edges stay spread.
            let old_ns = i128::from(self.period.as_nanos());
            let into = i128::from((self.base - now).as_nanos()).rem_euclid(old_ns);
            self.base = now + Span::from_nanos((into * i128::from(period.as_nanos()) / old_ns) as i64);
            self.train = -1;
            self.period = period;
        }
    }

    /// When the first exchange of the next train is due.
    pub(super) fn next_train(&mut self, now: MonotonicInstant) -> MonotonicInstant {
        let period_ns = self.period.as_nanos();
        let behind_ns = (now - self.pace.cadence - self.base).as_nanos();
        let soonest = behind_ns.div_euclid(period_ns) + i64::from(behind_ns.rem_euclid(period_ns) > 0);
        self.train = soonest.max(self.train + 1);
        // A train begins in the first quarter of its rest, so that it ends before the next begins.
        let rest_ns = period_ns - self.pace.cadence.as_nanos() * i64::from(self.pace.train);
        let late_ns = self.rng.below(rest_ns as u64 / 4 + 1) as i64;
        self.start = self.base + Span::from_nanos(self.train.saturating_mul(period_ns)) + Span::from_nanos(late_ns);
        self.slot = 0;
        self.start + self.jitter()
    }

    /// When the next exchange of this train is due that is not due already; none when the train is over.
    pub(super) fn next_slot(&mut self, now: MonotonicInstant) -> Option<MonotonicInstant> {
        let cadence_ns = self.pace.cadence.as_nanos();
        let behind_ns = (now - self.pace.cadence - self.start).as_nanos();
        let soonest = behind_ns.div_euclid(cadence_ns) + 1;
        let slot = soonest.max(i64::from(self.slot) + 1);
        if slot >= i64::from(self.pace.train) {
            return None;
        }
        self.slot = slot as u32;
        Some(self.start + Span::from_nanos(slot * cadence_ns) + self.jitter())
    }

    /// Whether no exchange of this train has been sent.
    pub(super) fn rests(&self) -> bool {
        self.slot == 0
    }

    /// Symmetric about zero, so that the mean is the grid's.
    fn jitter(&mut self) -> Span {
        let cadence_ns = self.pace.cadence.as_nanos();
        Span::from_nanos(self.rng.around(cadence_ns, self.pace.jitter_percent) - cadence_ns)
    }
}

#[cfg(test)]
mod tests;
