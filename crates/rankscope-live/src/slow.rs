//! Whether steps of the whole job take longer than they did.
//!
//! The usual length is learned from the first steps after warming up, and frozen: one that follows would follow a slow job too. It
//! must not be summed up against, since loads of a machine drift over a day by more than chance would let them; so two detectors
//! that forgive drift have to agree, or medians of blocks twice.

use rankscope_stats::Middle;

use crate::alarm::{Alarm, AlarmKind, Confidence, Detector};
use crate::blocks::{self, Blocks};
use crate::changes::Changes;

/// First steps compile and warm up.
const WARM_UP: u32 = 50;
/// Steps from which the usual length is learned.
const STEPS: usize = 600;
/// The least scatter that is believed, as a part of the length.
const FLOOR: f64 = 0.002;
/// A change counts as long as so many steps.
const REMEMBERED: u32 = 4 * blocks::STEPS as u32;

/// What is known about the steps of one attempt of a job.
#[derive(Clone, Debug)]
pub(crate) struct SlowSteps {
    steps: u32,
    learning: Vec<f64>,
    known: Option<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    blocks: Blocks,
    changes: Changes,
    /// Steps since a change was seen.
    changed: Option<u32>,
    is_slow: bool,
}

impl SlowSteps {
    pub(crate) fn new() -> Self {
        Self { steps: 0, learning: Vec::with_capacity(STEPS), known: None }
    }

    /// Takes a step's length.
    pub(crate) fn take(&mut self, time_ns: i64, duration_ns: i64, alarms: &mut Vec<Alarm>) {
        self.steps = self.steps.saturating_add(1);
        if self.steps <= WARM_UP || duration_ns <= 0 {
            return;
        }
        let length = duration_ns as f64;
        let Some(known) = &mut self.known else { return self.learn(length) };
        let Some((detector, confidence, is_over)) = known.take(length) else { return };
        alarms.push(Alarm {
            time_ns,
            kind: AlarmKind::SlowJob,
            rank: None,
            detector,
            value_ns: known.blocks.last() as i64,
            threshold_ns: known.blocks.threshold() as i64,
            clock_error_ns: 0,
            confidence,
            cleared_ns: is_over.then_some(time_ns),
            step: None,
        });
    }

    fn learn(&mut self, length: f64) {
        self.learning.push(length);
        if self.learning.len() < STEPS {
            return;
        }
        let usual = Middle::of(&mut self.learning);
        self.known = usual.map(|usual| {
            let usual = Middle { deviation: usual.deviation.max(FLOOR * usual.median), ..usual };
            Known { blocks: Blocks::new(usual), changes: Changes::new(usual), changed: None, is_slow: false }
        });
        self.learning = Vec::new();
    }
}

impl Known {
    /// What is to be said, and whether it is that all is well again.
    fn take(&mut self, length: f64) -> Option<(Detector, Confidence, bool)> {
        self.changed = self.changed.map(|steps| steps + 1).filter(|steps| *steps <= REMEMBERED);
        if self.changes.take(length).is_some() {
            self.changed = Some(0);
        }
        let longer = self.blocks.take(length)?;
        match (self.is_slow, longer, self.changed) {
            (true, 0, _) => {
                self.is_slow = false;
                Some((Detector::BlockMedian, Confidence::Persistent, true))
            }
            (false, 1.., Some(_)) => {
                self.is_slow = true;
                Some((Detector::ChangePoint, Confidence::TwoDetectors, false))
            }
            (false, 2.., None) => {
                self.is_slow = true;
                Some((Detector::BlockMedian, Confidence::Persistent, false))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::Rng;

    fn alarms(length: impl Fn(i64) -> f64) -> Vec<Alarm> {
        let (mut rng, mut slow, mut alarms) = (Rng::new(5), SlowSteps::new(), Vec::new());
        for step in 0..6_000 {
            slow.take(step * 1_000_000_000, (1e9 * length(step) * (1.0 + 0.02 * rng.normal())) as i64, &mut alarms);
        }
        alarms
    }

    #[test]
    fn a_job_that_becomes_slow_is_told_of_by_two_detectors_and_again_when_it_is_well() {
        let alarms = alarms(|step| if (3_000..4_000).contains(&step) { 1.10 } else { 1.0 });
        let [raised, cleared] = alarms[..] else { panic!("{alarms:?}") };
        assert_eq!((raised.kind, raised.rank, raised.confidence), (AlarmKind::SlowJob, None, Confidence::TwoDetectors));
        assert!(raised.time_ns < 3_070_000_000_000 && cleared.cleared_ns.is_some());
    }

    #[test]
    fn drift_checkpoints_and_a_job_that_becomes_faster_wake_nobody() {
        assert_eq!(alarms(|step| 1.0 + 0.03 * (step as f64 / 1_000.0).sin()), []);
        assert_eq!(alarms(|step| if step % 100 < 3 { 4.0 } else { 1.0 }), []);
        assert_eq!(alarms(|step| if step > 3_000 { 0.8 } else { 1.0 }), []);
    }
}
