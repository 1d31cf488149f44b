//! When probes are due: trains of exchanges on a grid that never drifts.
//!
//! A train starts every `period`, its exchanges follow every `cadence`; both grids are absolute and jitter is added to their
//! points, not to their steps, so the mean rate is exact however long the run. Jitter keeps the edges from locking on to
//! anything periodic in the network. What is late by more than a cadence is skipped: catching up would be a burst, and a burst
//! measures its own queue.
//!
//! All edges of a node go by one grid and one jitter, so that it wakes once for all of them: waking costs more than all else. An edge
//! whose other end can afford less goes along with some of the trains only. Once a node knows the job's clock, its grid is
//! [aligned](Pacer::align) with that of all others, and who is awake to probe is awake to answer, too.

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
    /// Draws by how much trains are late: the same on all nodes.
    pub(super) run: u64,
    /// Draws the jitter of exchanges: the same on all edges of a node.
    pub(super) seed: u64,
}

/// The deadlines of one edge.
#[derive(Debug)]
pub(super) struct Pacer {
    pace: Pace,
    /// How often both ends can afford a train.
    period: Span,
    /// Where the grid of trains begins.
    base: MonotonicInstant,
    /// Number of the train.
    train: i64,
    start: MonotonicInstant,
    /// Number of the exchange within the train.
    slot: u32,
}

impl Pacer {
    pub(super) fn new(pace: Pace, base: MonotonicInstant) -> Self {
        Self { pace, period: pace.period, base, train: NO_TRAIN, start: base, slot: 0 }
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
    pub(super) fn limit(&mut self, period: Span) {
        self.period = period.clamp(self.pace.period, PERIOD_MAX.max(self.pace.period));
    }

    /// From the next train on the grid begins at `base`. Trains keep their numbers where that moves them by less than a cadence.
    pub(super) fn align(&mut self, base: MonotonicInstant) {
        let moved_ns = (base - self.base).as_nanos().saturating_abs();
        if moved_ns >= self.pace.cadence.as_nanos() {
            self.train = NO_TRAIN;
        }
        self.base = base;
    }

    /// When the first exchange of the next train is due.
    pub(super) fn next_train(&mut self, now: MonotonicInstant) -> MonotonicInstant {
        let grid_ns = self.pace.period.as_nanos();
        let behind_ns = (now - self.pace.cadence - self.base).as_nanos();
        let soonest = behind_ns.div_euclid(grid_ns) + i64::from(behind_ns.rem_euclid(grid_ns) > 0);
        self.train = self.affordable(soonest.max(self.train.saturating_add(1)));
        self.begin()
    }

    /// When the first exchange of the train that was to be next is due, on a grid that may have moved.
    pub(super) fn same_train(&mut self, now: MonotonicInstant) -> MonotonicInstant {
        if self.train == NO_TRAIN { self.next_train(now) } else { self.begin() }
    }

    fn begin(&mut self) -> MonotonicInstant {
        let grid_ns = self.pace.period.as_nanos();
        // A train begins in the first quarter of its rest, so that it ends before the next begins.
        let rest_ns = grid_ns - self.pace.cadence.as_nanos() * i64::from(self.pace.train);
        let late_ns = Rng::lane(self.pace.run, self.train as u64).below(rest_ns as u64 / 4 + 1) as i64;
        self.start = self.base + Span::from_nanos(self.train.saturating_mul(grid_ns)) + Span::from_nanos(late_ns);
        self.slot = 0;
        self.start + self.jitter()
    }

    /// The first train of the grid from number `train` on that this edge can afford: its trains are on a grid of their own, and each
    /// goes along with the next one of the node's.
    fn affordable(&self, train: i64) -> i64 {
        let [grid_ns, period_ns] = [self.pace.period, self.period].map(|period| i128::from(period.as_nanos()));
        let own = ((i128::from(train) - 1) * grid_ns).div_euclid(period_ns) + 1;
        let along = -(-own * period_ns).div_euclid(grid_ns);
        i64::try_from(along).unwrap_or(i64::MAX)
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
    fn jitter(&self) -> Span {
        let cadence_ns = self.pace.cadence.as_nanos();
        let lane = (self.train as u64) << 16 | u64::from(self.slot);
        Span::from_nanos(Rng::lane(self.pace.seed, lane).around(cadence_ns, self.pace.jitter_percent) - cadence_ns)
    }
}

/// Before the first.
const NO_TRAIN: i64 = i64::MIN;

#[cfg(test)]
mod tests;
