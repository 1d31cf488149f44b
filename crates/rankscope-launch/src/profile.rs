//! Which steps of a job are to be profiled from outside, in the words of `rankscope run --profile`.
//!
//! Steps have the numbers that torch.profiler gives them, from 0, and step 0 begins before anything is counted, so that nothing can be
//! profiled before step 1. What is understood here is handed on to the job's Python processes in the same words, all of them written
//! out. Refuses what would profile for ever: windows that overlap, and more of them than a disk is likely to hold.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// What to profile of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfilePlan {
    /// Which steps.
    pub windows: Windows,
    /// What to record of them beside what a profiler records anyway.
    pub details: BTreeSet<Detail>,
}

/// Which steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// Some steps, once.
    Once {
        /// The number of the first.
        first: u32,
        /// How many.
        steps: u32,
    },
    /// Some steps of each so many.
    Every {
        /// From one window to the next; also the first step of the first one.
        period: u32,
        /// In each window.
        steps: u32,
        /// How many windows.
        times: u32,
    },
    /// Some steps each time that `rankscope run` receives SIGUSR2.
    OnSignal {
        /// How many.
        steps: u32,
    },
}

/// What costs time and is therefore recorded only where it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// The shapes of operators' inputs.
    Shapes,
    /// Python's stacks.
    Stack,
    /// Allocations.
    Memory,
}

/// Why words are no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It does not say which steps.
    #[error("say which steps: steps=N@FIRST, every=PERIOD or on-signal")]
    NoSteps,
    /// It says so twice.
    #[error("{0:?} does not go with what is before it: give one of steps=N@FIRST, every=PERIOD and on-signal")]
    TwoWays(String),
    /// A word that means nothing.
    #[error(
        "{0:?} is not understood; there are steps=N@FIRST, every=PERIOD, on-signal, steps=N, times=N, shapes, stack and memory"
    )]
    Unknown(String),
    /// Not a number, or one that is too small or too large.
    #[error("{word:?} needs a number from {least} to {most}")]
    Number {
        /// The word.
        word: String,
        /// What it takes at least.
        least: u32,
        /// And at most.
        most: u32,
    },
    /// A window would begin before the last one is over.
    #[error("{steps} steps of every {period} would overlap; leave at least one step between them")]
    Overlap {
        /// In each window.
        steps: u32,
        /// From one to the next.
        period: u32,
    },
}

/// A window of more steps fills memory before it is written.
const STEPS_MAX: u32 = 10_000;
const STEPS: u32 = 3;
const TIMES: u32 = 10;
const TIMES_MAX: u32 = 1_000;

impl Detail {
    const ALL: [Self; 3] = [Self::Shapes, Self::Stack, Self::Memory];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Stack => "stack",
            Self::Memory => "memory",
        }
    }
}

impl FromStr for ProfilePlan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let (mut windows, mut steps, mut times, mut details) = (None, None, None, BTreeSet::new());
        for word in text.split(',') {
            let way = match word.split_once('=') {
                Some(("steps", value)) if value.contains('@') => {
                    let (count, first) = value.split_once('@').unwrap_or((value, ""));
                    Some(Windows::Once { first: number(word, first, 1, u32::MAX)?, steps: number(word, count, 1, STEPS_MAX)? })
                }
                Some(("every", value)) => {
                    Some(Windows::Every { period: number(word, value, 1, u32::MAX)?, steps: STEPS, times: TIMES })
                }
                None if word == "on-signal" => Some(Windows::OnSignal { steps: STEPS }),
                Some(("steps", value)) => {
                    steps = Some((word, number(word, value, 1, STEPS_MAX)?));
                    None
                }
                Some(("times", value)) => {
                    times = Some((word, number(word, value, 1, TIMES_MAX)?));
                    None
                }
                _ => {
                    let detail = Detail::ALL.into_iter().find(|detail| detail.name() == word);
                    details.insert(detail.ok_or_else(|| PlanError::Unknown(word.to_owned()))?);
                    None
                }
            };
            if way.is_some() && windows.is_some() {
                return Err(PlanError::TwoWays(word.to_owned()));
            }
            windows = windows.or(way);
        }
        Ok(Self { windows: completed(windows.ok_or(PlanError::NoSteps)?, steps, times)?, details })
    }
}

/// `windows` with what was said beside it, each with its word.
fn completed(windows: Windows, steps: Option<(&str, u32)>, times: Option<(&str, u32)>) -> Result<Windows, PlanError> {
    let refused = |(word, _): (&str, u32)| Err(PlanError::TwoWays(word.to_owned()));
    let of_steps = |usual| steps.map_or(usual, |(_, steps)| steps);
    match (windows, steps, times) {
        (Windows::Once { .. }, Some(more), _) | (Windows::Once { .. } | Windows::OnSignal { .. }, _, Some(more)) => {
            refused(more)
        }
        (Windows::Once { .. }, ..) => Ok(windows),
        (Windows::OnSignal { steps }, ..) => Ok(Windows::OnSignal { steps: of_steps(steps) }),
        (Windows::Every { period, steps, times: usual }, _, times) => {
            let steps = of_steps(steps);
            if steps >= period {
                return Err(PlanError::Overlap { steps, period });
            }
            Ok(Windows::Every { period, steps, times: times.map_or(usual, |(_, times)| times) })
        }
    }
}

fn number(word: &str, text: &str, least: u32, most: u32) -> Result<u32, PlanError> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| PlanError::Number { word: word.to_owned(), least, most })
}

impl fmt::Display for ProfilePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.windows {
            Windows::Once { first, steps } => write!(f, "steps={steps}@{first}")?,
            Windows::Every { period, steps, times } => write!(f, "every={period},steps={steps},times={times}")?,
            Windows::OnSignal { steps } => write!(f, "on-signal,steps={steps}")?,
        }
        self.details.iter().try_for_each(|detail| write!(f, ",{}", detail.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_said_in_full() {
        let table = [
            ("steps=2@3", "steps=2@3"),
            ("every=500", "every=500,steps=3,times=10"),
            ("steps=1,every=2,times=4", "every=2,steps=1,times=4"),
            ("on-signal", "on-signal,steps=3"),
            ("memory,on-signal,steps=5,shapes", "on-signal,steps=5,shapes,memory"),
        ];
        for (given, full) in table {
            let plan: ProfilePlan = given.parse().unwrap();
            assert_eq!(plan.to_string(), full);
            assert_eq!(full.parse(), Ok(plan), "{full} means the same");
        }
    }

    #[test]
    fn what_is_no_plan_is_refused_with_the_word() {
        let table = [
            ("", "\"\" is not understood"),
            ("steps=2", "say which steps"),
            ("steps=2@0", "\"steps=2@0\" needs a number from 1 to 4294967295"),
            ("steps=0@1", "needs a number from 1 to 10000"),
            ("steps=@", "needs a number"),
            ("steps=2@3,every=9", "\"every=9\" does not go with"),
            ("steps=2@3,steps=4", "\"steps=4\" does not go with"),
            ("on-signal,times=2", "\"times=2\" does not go with"),
            ("every=3", "3 steps of every 3 would overlap"),
            ("steps=2@3,stacks", "\"stacks\" is not understood"),
        ];
        for (given, said) in table {
            let error = given.parse::<ProfilePlan>().unwrap_err().to_string();
            assert!(error.contains(said), "{given}: {error}");
        }
    }
}
