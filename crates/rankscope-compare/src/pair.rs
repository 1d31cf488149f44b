//! One test beside the base.

use rankscope_document::{Comparison, Observation};
use rankscope_stats::RUNS_MIN;

use crate::Settings;
use crate::side::Side;
use crate::{contributions, evidence};

pub(crate) fn compared(base: &Side, test: &Side, settings: &Settings) -> Comparison {
    let is_by_run = base.runs.len() >= RUNS_MIN && test.runs.len() >= RUNS_MIN;
    let told = contributions::of(base, test, settings);
    Comparison {
        base: base.label.clone(),
        test: test.label.clone(),
        unit: if is_by_run { Observation::Run } else { Observation::Step },
        metrics: evidence::metrics(base, test, settings),
        base_step_ns: told.base_step_ns,
        test_step_ns: told.test_step_ns,
        step_delta_ns: told.test_step_ns - told.base_step_ns,
        paced_by: told.paced_by,
        contributions: told.contributions,
        classes: told.classes,
        ranks: told.ranks,
        structure: told.structure,
    }
}
