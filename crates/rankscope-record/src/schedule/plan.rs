//! [`Schedule`]: what a step is for, by its number alone.
//!
//! ```text
//! skip_first │ wait │ warmup │ active │ wait │ warmup │ active │ ...   (the cycle, `repeat` times; 0: for ever)
//!            └─ left out the first time with skip_first_wait
//! ```

use std::num::NonZeroU32;

use super::ProfilerAction;

/// Which steps are recorded. Lengths are in steps.
///
/// ```
/// use rankscope_record::schedule::{ProfilerAction, Schedule};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schedule = Schedule::cycle(1, 1, 2)?.repeated(1);
/// let actions = [0, 1, 2, 3, 4].map(|step| schedule.action(step));
/// assert_eq!(actions[1], ProfilerAction::Warmup);
/// assert_eq!(actions[2..4], [ProfilerAction::Record, ProfilerAction::RecordAndSave]);
/// assert_eq!([actions[0], actions[4]], [ProfilerAction::None; 2]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schedule {
    /// Steps of a cycle in which nothing happens.
    pub wait: u32,
    /// Steps of a cycle that get the recorder going, and are thrown away.
    pub warmup: u32,
    /// Steps of a cycle that are recorded.
    pub active: NonZeroU32,
    /// How many cycles; 0 is for ever.
    pub repeat: u32,
    /// Steps before the first cycle.
    pub skip_first: u32,
    /// Whether the first cycle goes without its `wait`.
    pub skip_first_wait: bool,
}

/// Why a schedule cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// No step would be recorded.
    #[error("make a schedule: no step of a cycle is active")]
    NothingActive,
    /// A length is negative, or beyond 32 bits.
    #[error("make a schedule: {field} may not be {value}")]
    OutOfRange {
        /// Which length.
        field: &'static str,
        /// What it was given as.
        value: i64,
    },
}

/// What a schedule, or a step of it, does that its author may not have meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScheduleWarning {
    /// The first recorded step pays for the start of the recorder.
    NoWarmup,
    /// The schedule left warm-up without recording.
    WarmedUpForNothing,
    /// The schedule left recording without saving: the cycle is lost.
    Discarded,
}

impl Schedule {
    /// A cycle of so many steps, for ever and from the first step on.
    ///
    /// # Errors
    /// If no step is active.
    pub const fn cycle(wait: u32, warmup: u32, active: u32) -> Result<Self, ScheduleError> {
        match NonZeroU32::new(active) {
            Some(active) => Ok(Self { wait, warmup, active, repeat: 0, skip_first: 0, skip_first_wait: false }),
            None => Err(ScheduleError::NothingActive),
        }
    }

    /// From numbers of a configuration or another language, in torch's order.
    ///
    /// # Errors
    /// If a length is negative or beyond 32 bits, or no step is active.
    pub fn from_numbers([wait, warmup, active, repeat, skip_first, skip_first_wait]: [i64; 6]) -> Result<Self, ScheduleError> {
        let length = |field, value| u32::try_from(value).map_err(|_| ScheduleError::OutOfRange { field, value });
        Ok(Self {
            repeat: length("repeat", repeat)?,
            skip_first: length("skip_first", skip_first)?,
            skip_first_wait: skip_first_wait != 0,
            ..Self::cycle(length("wait", wait)?, length("warmup", warmup)?, length("active", active)?)?
        })
    }

    /// The schedule that ends after `cycles` cycles.
    #[must_use]
    pub const fn repeated(self, cycles: u32) -> Self {
        Self { repeat: cycles, ..self }
    }

    /// The schedule whose first cycle begins `steps` later.
    #[must_use]
    pub const fn after(self, steps: u32) -> Self {
        Self { skip_first: steps, ..self }
    }

    /// What is odd about it.
    pub const fn warning(&self) -> Option<ScheduleWarning> {
        if self.warmup == 0 { Some(ScheduleWarning::NoWarmup) } else { None }
    }

    /// What step `step` is for; steps count from zero.
    pub fn action(&self, step: u64) -> ProfilerAction {
        let Some(step) = step.checked_sub(self.skip_first.into()) else {
            return ProfilerAction::None;
        };
        let [wait, warmup, active] = [self.wait, self.warmup, self.active.get()].map(u64::from);
        // A count of steps at the end of its range has long stopped to be a count.
        let step = step.saturating_add(if self.skip_first_wait { wait } else { 0 });
        let length = wait + warmup + active;
        if self.repeat > 0 && step / length >= u64::from(self.repeat) {
            return ProfilerAction::None;
        }
        match step % length {
            place if place < wait => ProfilerAction::None,
            place if place < wait + warmup => ProfilerAction::Warmup,
            place if place + 1 < length => ProfilerAction::Record,
            _ => ProfilerAction::RecordAndSave,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same by walking: one step after the other, with no division.
    fn walked(schedule: &Schedule, steps: usize) -> Vec<ProfilerAction> {
        let mut actions = vec![ProfilerAction::None; schedule.skip_first as usize];
        let mut cycle = 0;
        while actions.len() < steps && (schedule.repeat == 0 || cycle < schedule.repeat) {
            let wait = if cycle == 0 && schedule.skip_first_wait { 0 } else { schedule.wait };
            actions.extend((0..wait).map(|_| ProfilerAction::None));
            actions.extend((0..schedule.warmup).map(|_| ProfilerAction::Warmup));
            actions.extend((1..schedule.active.get()).map(|_| ProfilerAction::Record));
            actions.push(ProfilerAction::RecordAndSave);
            cycle += 1;
        }
        actions.resize(actions.len().max(steps), ProfilerAction::None);
        actions.truncate(steps);
        actions
    }

    #[test]
    fn every_small_schedule_is_as_walked() {
        let mut compared = 0;
        for number in 0..4_i64.pow(5) * 2 {
            let digit = |place: u32| number / 4_i64.pow(place) % 4;
            let numbers = [digit(0), digit(1), digit(2), digit(3), digit(4), number / 4_i64.pow(5)];
            let Ok(schedule) = Schedule::from_numbers(numbers) else {
                assert_eq!((numbers[2], Schedule::from_numbers(numbers)), (0, Err(ScheduleError::NothingActive)));
                continue;
            };
            let actions: Vec<ProfilerAction> = (0..=40).map(|step| schedule.action(step)).collect();
            assert_eq!(actions, walked(&schedule, 41), "{schedule:?}");
            assert_eq!(schedule.warning().is_some(), schedule.warmup == 0);
            compared += 1;
        }
        assert_eq!(compared, 4 * 4 * 3 * 4 * 4 * 2);
    }

    #[test]
    fn a_negative_length_is_named() {
        let found = Schedule::from_numbers([0, -1, 1, 0, 0, 0]);
        assert_eq!(found, Err(ScheduleError::OutOfRange { field: "warmup", value: -1 }));
        assert_eq!(Schedule::from_numbers([0, 0, -3, 0, 0, 0]), Err(ScheduleError::OutOfRange { field: "active", value: -3 }));
        assert_eq!(Schedule::cycle(1, 1, 0), Err(ScheduleError::NothingActive));
    }

    #[test]
    fn the_last_step_of_all_is_a_step() {
        let schedule = Schedule { skip_first_wait: true, ..Schedule::cycle(3, 0, 2).unwrap() };
        for step in [u64::MAX, u64::MAX - 1] {
            assert_ne!(schedule.action(step), ProfilerAction::DeviceStopped);
        }
    }
}
