//! Whether anything moves.
//!
//! A job that trains makes progress every few milliseconds, one that saves or compiles makes none for minutes, and both are well. So
//! how long standing still is usual is learned by phase: of steps from their length, of other phases from how long ranks stood still in
//! them before. Too long is a suspicion at once, and an alarm when a look some seconds later finds every rank where it was. Who is the
//! cause is not told here: that needs what each rank waits for.

use rankscope_recording::phase_limit_ns;

use crate::alarm::{Alarm, AlarmKind, Confidence, Detector};

/// What a rank says it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Before the first step: loading, compiling.
    Start,
    /// Training, of a program that says when it does something else.
    Step,
    /// Saving.
    Checkpoint,
    /// Evaluating.
    Evaluation,
    /// Training or anything else: the program does not say.
    Unmarked,
}

/// How far a rank has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Grows with everything it does.
    pub count: u64,
    /// When that was the last time, on the watch's clock.
    pub last_ns: i64,
    /// What it is doing.
    pub phase: Phase,
}

/// Nothing shorter is a hang.
const LEAST_NS: i64 = 30_000_000_000;
/// So many long steps.
const STEPS: i64 = 10;
/// Shorter stops are part of training.
const PAUSE_NS: i64 = 5_000_000_000;
/// Looks that find the same are this far apart.
const CONFIRMED_NS: i64 = 10_000_000_000;
/// Steps of which the long ones are known.
const LENGTHS: usize = 500;

#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    occurrences: u64,
    longest_ns: i64,
}

/// What is known about the progress of one attempt of a job.
#[derive(Clone, Debug)]
pub(crate) struct Standstill {
    counts: Vec<u64>,
    /// Since when the counts are what they are, by looks.
    same_since_ns: i64,
    phase: Phase,
    learned: [Learned; 5],
    lengths_ns: Vec<i64>,
    long_step_ns: i64,
    is_raised: bool,
}

impl Standstill {
    pub(crate) fn new() -> Self {
        Self {
            counts: Vec::new(),
            same_since_ns: i64::MIN,
            phase: Phase::Start,
            learned: [Learned::default(); 5],
            lengths_ns: Vec::new(),
            long_step_ns: 0,
            is_raised: false,
        }
    }

    /// Takes a step's length.
    pub(crate) fn step(&mut self, duration_ns: i64) {
        self.lengths_ns.push(duration_ns);
        if self.lengths_ns.len() == LENGTHS || self.long_step_ns == 0 {
            self.lengths_ns.sort_unstable();
            self.long_step_ns = self.lengths_ns[self.lengths_ns.len() * 99 / 100];
        }
        if self.lengths_ns.len() == LENGTHS {
            self.lengths_ns.clear();
        }
    }

    /// How long ranks may stand still in a phase.
    pub(crate) fn limit_ns(&self, phase: Phase) -> i64 {
        let of_steps = LEAST_NS.max(self.long_step_ns.saturating_mul(STEPS));
        let learned = self.learned[phase as usize];
        match phase {
            Phase::Step => of_steps,
            _ => of_steps.max(phase_limit_ns(learned.occurrences, learned.longest_ns)),
        }
    }

    /// Looks at all ranks, which are in the order of the look before.
    pub(crate) fn look(&mut self, now_ns: i64, ranks: &[Progress], alarms: &mut Vec<Alarm>) {
        if !ranks.iter().map(|rank| rank.count).eq(self.counts.iter().copied()) {
            self.moved(now_ns, ranks, alarms);
            return;
        }
        let Some(oldest_ns) = ranks.iter().map(|rank| rank.last_ns).min() else { return };
        // The most patient phase that any rank is in: one that saves holds up all others.
        let limit_ns = ranks.iter().map(|rank| self.limit_ns(rank.phase)).max().unwrap_or(phase_limit_ns(0, 0));
        let age_ns = now_ns.saturating_sub(oldest_ns);
        let is_confirmed = now_ns.saturating_sub(self.same_since_ns) >= CONFIRMED_NS;
        if age_ns > limit_ns && is_confirmed && !self.is_raised {
            self.is_raised = true;
            alarms.push(alarm(now_ns, age_ns, limit_ns, None));
        }
    }

    fn moved(&mut self, now_ns: i64, ranks: &[Progress], alarms: &mut Vec<Alarm>) {
        let stood_ns = if self.counts.is_empty() { 0 } else { now_ns.saturating_sub(self.same_since_ns) };
        if self.is_raised {
            self.is_raised = false;
            alarms.push(alarm(now_ns, stood_ns, self.limit_ns(self.phase), Some(now_ns)));
        }
        let least_ns = if self.phase == Phase::Unmarked { self.limit_ns(Phase::Step) } else { PAUSE_NS };
        if stood_ns >= least_ns {
            let learned = &mut self.learned[self.phase as usize];
            learned.occurrences = learned.occurrences.saturating_add(1);
            learned.longest_ns = learned.longest_ns.max(stood_ns);
        }
        self.counts = ranks.iter().map(|rank| rank.count).collect();
        self.same_since_ns = now_ns;
        // Of two that allow as much, the one that is marked is the reason.
        let patience = |rank: &&Progress| (self.limit_ns(rank.phase), rank.phase != Phase::Unmarked);
        self.phase = ranks.iter().max_by_key(patience).map_or(Phase::Start, |rank| rank.phase);
    }
}

fn alarm(time_ns: i64, value_ns: i64, threshold_ns: i64, cleared_ns: Option<i64>) -> Alarm {
    Alarm {
        time_ns,
        kind: AlarmKind::Hang,
        rank: None,
        detector: Detector::ProgressAge,
        value_ns,
        threshold_ns,
        clock_error_ns: 0,
        confidence: Confidence::Persistent,
        cleared_ns,
        step: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// A look at two ranks every five seconds; each pause is a phase and how long nothing moves. Ten seconds of steps lie between.
    fn looked(pauses: &[(Phase, i64)], training: Phase) -> Vec<Alarm> {
        let (mut watch, mut alarms, mut now_ns, mut count) = (Standstill::new(), Vec::new(), 0, 0);
        (0..100).for_each(|_| watch.step(SECOND_NS));
        for (phase, seconds) in pauses {
            for _ in 0..2 {
                count += 1;
                let rank = Progress { count, last_ns: now_ns, phase: training };
                watch.look(now_ns, &[rank, rank], &mut alarms);
                now_ns += 5 * SECOND_NS;
            }
            let rank = Progress { count: count + 1, last_ns: now_ns, phase: *phase };
            let until_ns = now_ns + seconds * SECOND_NS;
            while now_ns < until_ns {
                watch.look(now_ns, &[rank, rank], &mut alarms);
                now_ns += 5 * SECOND_NS;
            }
            count += 1;
        }
        let rank = Progress { count: count + 1, last_ns: now_ns, phase: training };
        watch.look(now_ns, &[rank, rank], &mut alarms);
        alarms
    }

    #[test]
    fn a_standstill_in_training_is_told_of_within_a_minute_and_when_it_ends() {
        let alarms = looked(&[(Phase::Step, 100)], Phase::Step);
        let [raised, ended] = alarms[..] else { panic!("{alarms:?}") };
        assert!(raised.value_ns > 30 * SECOND_NS && raised.value_ns <= 60 * SECOND_NS && raised.cleared_ns.is_none());
        assert_eq!((ended.kind, ended.cleared_ns), (AlarmKind::Hang, Some(ended.time_ns)));
    }

    #[test]
    fn saving_and_compiling_may_take_their_time() {
        assert_eq!(looked(&[(Phase::Start, 900), (Phase::Checkpoint, 600), (Phase::Evaluation, 1_000)], Phase::Step), []);
    }

    #[test]
    fn a_phase_that_was_short_three_times_may_no_longer_take_half_an_hour() {
        let usual = [(Phase::Checkpoint, 60); 3];
        assert_eq!(looked(&[&usual[..], &[(Phase::Checkpoint, 250)]].concat(), Phase::Step), []);
        assert_eq!(looked(&[&usual[..], &[(Phase::Checkpoint, 500)]].concat(), Phase::Step).len(), 2);
        assert_eq!(looked(&[(Phase::Checkpoint, 500)], Phase::Step), []);
    }

    #[test]
    fn where_phases_are_not_told_long_stops_are_learned_from_the_first_three() {
        let usual = [(Phase::Unmarked, 120); 3];
        assert_eq!(looked(&[&usual[..], &[(Phase::Unmarked, 120)]].concat(), Phase::Unmarked), []);
        assert_eq!(looked(&[&usual[..], &[(Phase::Unmarked, 900)]].concat(), Phase::Unmarked).len(), 2);
    }

    #[test]
    fn a_rank_that_stands_still_while_others_move_is_no_standstill() {
        let (mut watch, mut alarms) = (Standstill::new(), Vec::new());
        for now in 0..100 {
            let stuck = Progress { count: 1, last_ns: 0, phase: Phase::Step };
            let moving = Progress { count: now as u64, last_ns: now * 5 * SECOND_NS, phase: Phase::Step };
            watch.look(now * 5 * SECOND_NS, &[stuck, moving], &mut alarms);
        }
        assert_eq!(alarms, []);
    }
}
