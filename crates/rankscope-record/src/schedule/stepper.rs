//! [`Stepper`]: a schedule and a count of steps, telling what to do. It does nothing itself.

use super::{Move, ProfilerAction, Unreachable, leave, transition};

/// Why no step was taken. What was under way goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// Steps are under way already.
    #[error("start a scheduled profiler: it is started")]
    AlreadyStarted,
    /// No step is under way.
    #[error("step on: the scheduled profiler is not started")]
    NotStarted,
    /// Only a device can say that it stopped.
    #[error("enter step {step}: the plan says a device stopped, which no plan may say")]
    PlanStopsDevice {
        /// The step the plan said it of.
        step: u64,
    },
    /// The table of transitions has no such entry.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
}

/// Walks through the steps of a plan: any function from the number of a step to what it is for.
pub struct Stepper<P> {
    plan: P,
    step: u64,
    /// What the step is for; none before the first and after the last.
    at: Option<ProfilerAction>,
    /// What the plan said it is for, which is not the same once a device has stopped.
    planned: ProfilerAction,
}

impl<P: FnMut(u64) -> ProfilerAction> Stepper<P> {
    /// Before step 0.
    pub const fn new(plan: P) -> Self {
        Self { plan, step: 0, at: None, planned: ProfilerAction::None }
    }

    /// The number of this step.
    pub const fn step(&self) -> u64 {
        self.step
    }

    /// What this step is for; `None` where none is under way.
    pub const fn action(&self) -> Option<ProfilerAction> {
        self.at
    }

    /// Enters step 0.
    ///
    /// # Errors
    /// If steps are under way already, or the plan says what no plan may say. Nothing has changed then.
    pub fn start(&mut self) -> Result<&'static [Move], StepError> {
        if self.at.is_some() {
            return Err(StepError::AlreadyStarted);
        }
        self.enter(0, ProfilerAction::None, false)
    }

    /// Leaves this step and enters the next. `device_stopped` says that a device stopped recording during this one.
    ///
    /// # Errors
    /// If no step is under way, or the plan says what no plan may say. Nothing has changed then.
    pub fn step_on(&mut self, device_stopped: bool) -> Result<&'static [Move], StepError> {
        let from = self.at.ok_or(StepError::NotStarted)?;
        self.enter(self.step + 1, from, device_stopped)
    }

    /// Leaves this step for good.
    ///
    /// # Errors
    /// If no step is under way.
    pub fn stop(&mut self) -> Result<&'static [Move], StepError> {
        let from = self.at.take().ok_or(StepError::NotStarted)?;
        Ok(leave(from))
    }

    fn enter(&mut self, step: u64, from: ProfilerAction, device_stopped: bool) -> Result<&'static [Move], StepError> {
        let planned = (self.plan)(step);
        if planned == ProfilerAction::DeviceStopped {
            return Err(StepError::PlanStopsDevice { step });
        }
        let to = match from {
            // In the last step of a cycle, and between cycles, there is nothing left to cut short.
            ProfilerAction::Warmup | ProfilerAction::Record if device_stopped => ProfilerAction::DeviceStopped,
            ProfilerAction::DeviceStopped if self.is_same_cycle(planned) => ProfilerAction::DeviceStopped,
            _ => planned,
        };
        let moves = transition(from, to)?;
        (self.step, self.at, self.planned) = (step, Some(to), planned);
        Ok(moves)
    }

    /// A cycle is over once its last step has passed, or the plan waits.
    fn is_same_cycle(&self, planned: ProfilerAction) -> bool {
        self.planned != ProfilerAction::RecordAndSave && planned != ProfilerAction::None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::Schedule;
    use ProfilerAction::{DeviceStopped, None as Idle, Record, RecordAndSave, Warmup};

    /// Notes what it is told to do, as a recorder would do it.
    #[derive(Default)]
    struct Fake {
        prepared: bool,
        recording: bool,
        ready: bool,
        handed_over: u32,
    }

    impl Fake {
        fn perform(&mut self, moves: &[Move]) {
            for one in moves {
                match one {
                    Move::Warn(_) => {}
                    Move::Prepare => assert!(!std::mem::replace(&mut self.prepared, true) && !self.recording),
                    Move::Start => assert!(self.prepared && !std::mem::replace(&mut self.recording, true), "not prepared"),
                    Move::Stop => {
                        assert!(std::mem::take(&mut self.recording));
                        (self.prepared, self.ready) = (false, true);
                    }
                    Move::TraceReady => {
                        assert!(std::mem::take(&mut self.ready), "handed over twice");
                        self.handed_over += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn a_stopped_device_absorbs_the_rest_of_its_cycle_only() {
        let schedule = Schedule::cycle(0, 1, 3).unwrap();
        let mut stepper = Stepper::new(|step| schedule.action(step));
        let mut seen = Vec::new();
        stepper.start().unwrap();
        for step in 0..9 {
            seen.push(stepper.action().unwrap());
            stepper.step_on(step == 1).unwrap();
        }
        let second = [Warmup, Record, Record, RecordAndSave];
        assert_eq!(seen[..4], [Warmup, Record, DeviceStopped, DeviceStopped]);
        assert_eq!(seen[4..8], second);
        assert_eq!(seen[8], Warmup);
    }

    #[test]
    fn a_device_that_stops_in_the_last_step_changes_nothing() {
        let schedule = Schedule::cycle(1, 1, 1).unwrap();
        let mut stepper = Stepper::new(|step| schedule.action(step));
        stepper.start().unwrap();
        for expected in [Warmup, RecordAndSave, Idle, Warmup] {
            let stopped = expected != RecordAndSave;
            stepper.step_on(stopped).unwrap();
            assert_eq!(stepper.action(), Some(expected));
        }
    }

    #[test]
    fn a_plan_may_not_say_that_a_device_stopped() {
        let mut stepper = Stepper::new(|step| if step == 2 { DeviceStopped } else { Record });
        stepper.start().unwrap();
        stepper.step_on(false).unwrap();
        assert_eq!(stepper.step_on(false), Err(StepError::PlanStopsDevice { step: 2 }));
        assert_eq!((stepper.step(), stepper.action()), (1, Some(Record)));
        assert_eq!(stepper.stop(), Ok(leave(Record)));
        assert_eq!(stepper.step_on(false), Err(StepError::NotStarted));
    }

    proptest! {
        /// A cycle is handed over once if it came to its end, was cut short by a device, or by the end of the program while
        /// it recorded; and never otherwise.
        #[test]
        fn every_cycle_is_handed_over_once(
            numbers in prop::array::uniform6(0_i64..4),
            steps in 0_usize..40,
            stops in prop::collection::vec(prop::bool::weighted(0.1), 40),
        ) {
            prop_assume!(numbers[2] > 0);
            let schedule = Schedule::from_numbers(numbers).unwrap();
            let mut stepper = Stepper::new(|step| schedule.action(step));
            let mut fake = Fake::default();
            let mut ended = 0;
            fake.perform(stepper.start().unwrap());
            for stop in &stops[..steps] {
                let from = stepper.action().unwrap();
                fake.perform(stepper.step_on(*stop).unwrap());
                let cut = stepper.action() == Some(DeviceStopped) && from != DeviceStopped;
                ended += u32::from(from == RecordAndSave || cut);
                prop_assert_eq!(fake.handed_over, ended);
            }
            let last = stepper.action().unwrap();
            fake.perform(stepper.stop().unwrap());
            ended += u32::from(matches!(last, Record | RecordAndSave));
            prop_assert_eq!(fake.handed_over, ended);
            prop_assert!(!fake.recording);
        }
    }
}
