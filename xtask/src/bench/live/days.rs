//! Healthy days: every alarm is a false one. Also what takes a simulated day to the detectors, for days with something planted.

use rankscope_live::{Alarm, AlarmKind, Came, Phase, Progress, RankStep, Step, Watch, own_lateness};
use rankscope_testkit::job_days::{CLOCK_ERROR_NS, DayShape, JobDay, Moment, Pause, RANKS};
use serde::Serialize;

use super::rates;

/// False alarms of healthy days of one shape.
#[derive(Debug, Serialize)]
pub(super) struct Healthy {
    pub(super) shape: &'static str,
    pub(super) days: f64,
    pub(super) stragglers: u64,
    pub(super) slow: u64,
    pub(super) hangs: u64,
}

impl Healthy {
    pub(super) fn false_alarms(&self) -> u64 {
        self.stragglers + self.slow + self.hangs
    }
}

/// Length of a day.
pub(super) const DAY_NS: i64 = 86_400_000_000_000;

pub(super) fn measured(days: u64) -> Vec<Healthy> {
    let of_each = days.div_ceil(DayShape::ALL.len() as u64);
    DayShape::ALL.map(|shape| healthy(shape, of_each)).into()
}

fn healthy(shape: DayShape, days: u64) -> Healthy {
    let raised = rates::shared(days, |seed| {
        let mut counts = [0; 3];
        let day = JobDay { shape, seed: 1_000 * (1 + shape as u64) + seed, length_ns: DAY_NS, planted: None, restart_ns: None };
        watched(&day, |_, alarm| {
            counts[alarm.kind as usize] += u64::from(alarm.cleared_ns.is_none());
            false
        });
        counts
    });
    let of = |kind: AlarmKind| raised.iter().map(|counts| counts[kind as usize]).sum();
    Healthy {
        shape: shape.name(),
        days: days as f64,
        stragglers: of(AlarmKind::Straggler),
        slow: of(AlarmKind::SlowJob),
        hangs: of(AlarmKind::Hang),
    }
}

/// Time between looks at progress.
const LOOK_NS: usize = 5_000_000_000;

/// Plays a day; every alarm is shown with the number of steps so far to `see`, which says whether that is enough.
pub(super) fn watched(day: &JobDay, mut see: impl FnMut(u64, &Alarm) -> bool) {
    let mut watch = Watch::new(RANKS);
    let (mut count, mut steps) = (0, 0);
    day.play(|moment| {
        let alarms = match moment {
            Moment::Begins => {
                watch.restart();
                Vec::new()
            }
            Moment::Step { number, time_ns, duration_ns, arrived_ns, waited_ns } => {
                steps = number + 1;
                count += 1;
                let ranks = ranks(day.group(), time_ns - duration_ns, arrived_ns, waited_ns);
                let mut alarms = watch.step(&Step { time_ns, duration_ns, ranks: &ranks });
                if number % 5 == 0 {
                    alarms.extend(watch.look(time_ns, &progress(count, time_ns, Phase::Step)));
                }
                alarms
            }
            Moment::Stands { from_ns, until_ns, why } => {
                count += 1;
                let ranks = progress(count, from_ns, phase(why));
                (from_ns..until_ns).step_by(LOOK_NS).flat_map(|now_ns| watch.look(now_ns, &ranks)).collect()
            }
        };
        alarms.iter().any(|alarm| see(steps, alarm))
    });
}

/// How late each rank came to the collective of its group.
fn ranks(group: usize, began_ns: i64, arrived_ns: &[i64], waited_ns: &[i64]) -> Vec<RankStep> {
    let came =
        |(arrived_ns, waited_ns): (&i64, &i64)| Came { left_ns: began_ns, arrived_ns: *arrived_ns, waited_ns: *waited_ns };
    let came: Vec<Came> = arrived_ns.iter().zip(waited_ns).map(came).collect();
    let known = |lateness_ns| RankStep::known(lateness_ns, CLOCK_ERROR_NS);
    came.chunks(group).flat_map(own_lateness).map(known).collect()
}

fn progress(count: u64, last_ns: i64, phase: Phase) -> [Progress; RANKS] {
    [Progress { count, last_ns, phase }; RANKS]
}

fn phase(why: Pause) -> Phase {
    match why {
        Pause::Start => Phase::Start,
        Pause::Checkpoint => Phase::Checkpoint,
        Pause::Evaluation => Phase::Evaluation,
        Pause::Hang => Phase::Step,
    }
}
