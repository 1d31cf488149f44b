//! [`Watch`]: all detectors over one attempt of a job.

use crate::alarm::Alarm;
use crate::hang::{Progress, Standstill};
use crate::slow::SlowSteps;
use crate::straggler::{RankStep, Stragglers};

/// One step of the job.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// When it ended, on the watch's clock.
    pub time_ns: i64,
    /// How long it took.
    pub duration_ns: i64,
    /// What each rank did in it, by rank.
    pub ranks: &'a [RankStep],
}

/// Watches one attempt of a job.
#[derive(Clone, Debug)]
pub struct Watch {
    ranks: usize,
    stragglers: Stragglers,
    slow: SlowSteps,
    standstill: Standstill,
}

impl Watch {
    /// Of a job of so many ranks.
    pub fn new(ranks: usize) -> Self {
        Self { ranks, stragglers: Stragglers::new(ranks), slow: SlowSteps::new(), standstill: Standstill::new() }
    }

    /// Takes a step that all ranks have done; returns alarms that were raised or are over.
    pub fn step(&mut self, step: &Step<'_>) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        self.standstill.step(step.duration_ns);
        self.slow.take(step.time_ns, step.duration_ns, &mut alarms);
        self.stragglers.take(step.time_ns, step.duration_ns, step.ranks, &mut alarms);
        alarms
    }

    /// Looks at how far all ranks have come; returns alarms that were raised or are over. The same ranks in the same order each time.
    pub fn look(&mut self, now_ns: i64, ranks: &[Progress]) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        self.standstill.look(now_ns, ranks, &mut alarms);
        alarms
    }

    /// Forgets what steps and ranks usually take, after a restart or where a change is meant to stay. How long phases take is
    /// remembered.
    pub fn restart(&mut self) {
        self.stragglers = Stragglers::new(self.ranks);
        self.slow = SlowSteps::new();
    }
}
