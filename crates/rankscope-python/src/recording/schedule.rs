//! Schedules: the recorder's rules about steps, for Python to follow. Actions go by their numbers, which are torch's.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rankscope_record::schedule::{Move, ProfilerAction, Schedule, ScheduleWarning, leave, transition};

const ACTIONS: [ProfilerAction; 4] =
    [ProfilerAction::None, ProfilerAction::Warmup, ProfilerAction::Record, ProfilerAction::RecordAndSave];

/// What a step is for, by its number.
#[pyclass(frozen, name = "Plan", module = "rankscope._native")]
pub(crate) struct Plan(Schedule);

#[pymethods]
impl Plan {
    #[new]
    fn new(numbers: [i64; 6]) -> PyResult<Self> {
        Schedule::from_numbers(numbers).map(Self).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The action of a step.
    fn action(&self, step: u64) -> u8 {
        let action = self.0.action(step);
        ACTIONS.iter().position(|known| *known == action).map_or(0, |at| at as u8)
    }

    /// Whether the first step that is recorded pays for the start of the recorder.
    fn lacks_warmup(&self) -> bool {
        self.0.warning() == Some(ScheduleWarning::NoWarmup)
    }
}

/// What there is to do between two steps, in words; `to` is None after the last.
#[pyfunction]
#[pyo3(signature = (from_, to, /))]
pub(crate) fn moves(from_: u8, to: Option<u8>) -> PyResult<Vec<&'static str>> {
    let action = |number: u8| {
        let known = ACTIONS.get(usize::from(number)).copied();
        known.ok_or_else(|| PyValueError::new_err(format!("{number} is no ProfilerAction")))
    };
    let moves = match to {
        None => leave(action(from_)?),
        Some(to) => transition(action(from_)?, action(to)?).map_err(|error| PyValueError::new_err(error.to_string()))?,
    };
    Ok(moves.iter().map(word).collect())
}

fn word(one: &Move) -> &'static str {
    match one {
        Move::Warn(ScheduleWarning::NoWarmup) => "no warmup",
        Move::Warn(ScheduleWarning::WarmedUpForNothing) => "warmed up for nothing",
        Move::Warn(_) => "discarded",
        Move::Prepare => "prepare",
        Move::Start => "start",
        Move::Stop => "stop",
        Move::TraceReady => "trace ready",
    }
}
