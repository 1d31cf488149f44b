//! Which rank comes late by its own work.
//!
//! Lateness is taken as a part of its step, so that longer sequences do not look like later ranks, and its middle is known: zero. Only its
//! scatter is learned, about each rank's own middle, so that a rank that is late from the start does not become the usual thing. A
//! rank is suspected when its sum is too large for chance, and named when that happens again soon and its lateness since then is
//! beyond what clocks may be off and beyond what matters.

use std::collections::VecDeque;

use rankscope_stats::Middle;

use crate::alarm::{Alarm, AlarmKind, Confidence, Detector};
use crate::cusum::Cusum;

/// First steps compile and warm up.
const WARM_UP: u32 = 50;
/// Values from which the scatter is learned, of all ranks together, and steps that they come from at least.
const VALUES: usize = 600;
const STEPS: usize = 30;
/// The least scatter that is believed, as a part of the step.
const FLOOR: f64 = 0.002;
/// Lateness that matters, as a part of the step.
const MATTERS: f64 = 0.02;
/// So many times the clocks' guaranteed error.
const CLOCKS: f64 = 3.0;
/// Within so many steps it has to be seen again.
const AGAIN: u32 = 120;
/// Steps by whose median lateness is told, and the fewest of them.
const RECENT: usize = 30;
const FEWEST: usize = 5;

/// What one rank did in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankStep {
    /// What its own work made it come later than the rank in the middle, negative where earlier. None where that is not known.
    pub lateness_ns: Option<i64>,
    /// How far clocks may put that off at most.
    pub clock_error_ns: i64,
}

impl RankStep {
    /// It came so late, give or take an error.
    pub fn known(lateness_ns: i64, clock_error_ns: i64) -> Self {
        Self { lateness_ns: Some(lateness_ns), clock_error_ns }
    }

    /// Nothing of it is known.
    pub fn unknown() -> Self {
        Self { lateness_ns: None, clock_error_ns: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Calm,
    /// Its sum was too large so many steps ago.
    Suspected(u32),
    Named,
}

#[derive(Clone, Debug)]
struct Rank {
    sum: Cusum,
    state: State,
    /// As parts of their steps.
    recent: VecDeque<f64>,
}

impl Rank {
    fn new() -> Self {
        Self { sum: Cusum::default(), state: State::Calm, recent: VecDeque::with_capacity(RECENT) }
    }

    /// The median of the last so many.
    fn level(&self, steps: usize) -> f64 {
        let skipped = self.recent.len().saturating_sub(steps.clamp(FEWEST, RECENT));
        let mut last: Vec<f64> = self.recent.iter().skip(skipped).copied().collect();
        Middle::of(&mut last).map_or(0.0, |middle| middle.median)
    }
}

/// What is known about the ranks of one attempt of a job.
#[derive(Clone, Debug)]
pub(crate) struct Stragglers {
    ranks: Vec<Rank>,
    steps: u32,
    /// Values by rank, while the scatter is not known.
    learning: Vec<Vec<f64>>,
    scatter: Option<f64>,
}

impl Stragglers {
    pub(crate) fn new(ranks: usize) -> Self {
        Self { ranks: vec![Rank::new(); ranks], steps: 0, learning: vec![Vec::new(); ranks], scatter: None }
    }

    /// Takes a step of all ranks.
    pub(crate) fn take(&mut self, time_ns: i64, duration_ns: i64, ranks: &[RankStep], alarms: &mut Vec<Alarm>) {
        self.steps = self.steps.saturating_add(1);
        if self.steps <= WARM_UP || duration_ns <= 0 {
            return;
        }
        let length = duration_ns as f64;
        let Some(scatter) = self.scatter else { return self.learn(length, ranks) };
        for (number, (rank, step)) in (0..).zip(self.ranks.iter_mut().zip(ranks)) {
            let Some(lateness_ns) = step.lateness_ns else { continue };
            let part = lateness_ns as f64 / length;
            if rank.recent.len() == RECENT {
                rank.recent.pop_front();
            }
            rank.recent.push_back(part);
            let is_too_large = rank.sum.take(part / scatter);
            let threshold = MATTERS.max(CLOCKS * step.clock_error_ns as f64 / length);
            if let Some((level, is_over)) = rank.judge(is_too_large, threshold) {
                alarms.push(Alarm {
                    time_ns,
                    kind: AlarmKind::Straggler,
                    rank: Some(number),
                    detector: Detector::Cusum,
                    value_ns: (level * length) as i64,
                    threshold_ns: (threshold * length) as i64,
                    clock_error_ns: step.clock_error_ns,
                    confidence: Confidence::Persistent,
                    cleared_ns: is_over.then_some(time_ns),
                    step: None,
                });
            }
        }
    }

    /// Scatter is that of each rank about its own middle.
    fn learn(&mut self, length: f64, ranks: &[RankStep]) {
        for (values, step) in self.learning.iter_mut().zip(ranks) {
            values.extend(step.lateness_ns.map(|lateness_ns| lateness_ns as f64 / length));
        }
        let counts = self.learning.iter().map(Vec::len);
        if counts.clone().sum::<usize>() < VALUES || counts.max().unwrap_or(0) < STEPS {
            return;
        }
        let mut about_own = Vec::with_capacity(VALUES + self.learning.len());
        for mut values in std::mem::take(&mut self.learning) {
            let own = values.clone();
            let Some(middle) = Middle::of(&mut values) else { continue };
            about_own.extend(own.iter().map(|value| value - middle.median));
        }
        self.scatter = Middle::of(&mut about_own).map(|middle| middle.deviation.max(FLOOR));
    }
}

impl Rank {
    /// The lateness to be reported, and whether it is over, where there is something to report.
    fn judge(&mut self, is_too_large: bool, threshold: f64) -> Option<(f64, bool)> {
        self.state = match self.state {
            State::Calm if is_too_large => State::Suspected(0),
            State::Suspected(steps) if steps >= AGAIN => State::Calm,
            State::Suspected(steps) => State::Suspected(steps + 1),
            other => other,
        };
        match self.state {
            State::Suspected(steps) if is_too_large && steps > 0 => {
                let level = self.level(steps as usize + FEWEST);
                if level <= threshold {
                    // It is late, and it does not matter, or clocks cannot tell.
                    self.state = State::Suspected(1);
                    return None;
                }
                // What it was before it was late says nothing about when that is over.
                self.recent.clear();
                self.state = State::Named;
                Some((level, false))
            }
            State::Named if self.recent.len() == RECENT => {
                let level = self.level(RECENT);
                let is_over = level < threshold / 2.0;
                if is_over {
                    (self.state, self.sum) = (State::Calm, Cusum::default());
                }
                is_over.then_some((level, true))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::Rng;

    const STEP_NS: i64 = 1_000_000_000;

    /// Alarms of four ranks, of which rank 1 is `late_ns` late in the steps `at`.
    fn alarms(late_ns: i64, at: std::ops::Range<i64>, clock_error_ns: i64) -> Vec<Alarm> {
        let (mut rng, mut stragglers, mut alarms) = (Rng::new(3), Stragglers::new(4), Vec::new());
        for step in 0..1_500 {
            let mut noise = |rank| {
                let late_ns = if rank == 1 && at.contains(&step) { late_ns } else { 0 };
                RankStep::known((10e6 * rng.normal()) as i64 + late_ns, clock_error_ns)
            };
            let ranks = [noise(0), noise(1), noise(2), noise(3)];
            stragglers.take(step * STEP_NS, STEP_NS, &ranks, &mut alarms);
        }
        alarms
    }

    #[test]
    fn a_rank_that_becomes_late_is_named_and_cleared_when_it_is_no_longer() {
        let alarms = alarms(40_000_000, 800..1_000, 1_000);
        let [raised, cleared] = alarms[..] else { panic!("{alarms:?}") };
        assert_eq!((raised.rank, raised.cleared_ns), (Some(1), None));
        assert!((800 * STEP_NS..830 * STEP_NS).contains(&raised.time_ns) && raised.value_ns > raised.threshold_ns);
        assert!((1_000 * STEP_NS..1_030 * STEP_NS).contains(&cleared.cleared_ns.unwrap()));
    }

    #[test]
    fn a_rank_that_is_late_from_the_start_is_named_once_the_scatter_is_known() {
        let alarms = alarms(40_000_000, 0..1_500, 1_000);
        assert!(matches!(alarms[..], [raised] if raised.rank == Some(1) && raised.time_ns < 250 * STEP_NS), "{alarms:?}");
    }

    #[test]
    fn what_clocks_cannot_tell_or_does_not_matter_names_nobody() {
        assert_eq!(alarms(40_000_000, 800..1_000, 20_000_000), []);
        assert_eq!(alarms(15_000_000, 800..1_000, 1_000), []);
        assert_eq!(alarms(-40_000_000, 800..1_000, 1_000), []);
    }
}
