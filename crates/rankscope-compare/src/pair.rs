//! One test beside the base.

use rankscope_document::{Comparison, Observation, StructureChanges};

use crate::Settings;
use crate::evidence;
use crate::side::Side;

/// Runs of each side from which on runs are what is counted.
const RUNS_MIN: usize = 3;

pub(crate) fn compared(base: &Side, test: &Side, settings: &Settings) -> Comparison {
    let is_by_run = base.runs.len() >= RUNS_MIN && test.runs.len() >= RUNS_MIN;
    Comparison {
        base: base.label.clone(),
        test: test.label.clone(),
        unit: if is_by_run { Observation::Run } else { Observation::Step },
        metrics: evidence::metrics(base, test, settings),
        step_delta_ns: 0,
        contributions: Vec::new(),
        structure: StructureChanges::default(),
    }
}
