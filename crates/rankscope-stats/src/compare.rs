//! Two sides, one verdict.

use crate::evidence::{Basis, Evidence, Unit, Verdict};
use crate::settings::{Settings, Side};

/// Compares `test` with `base`.
pub fn compare(base: &Side<'_>, test: &Side<'_>, settings: &Settings) -> Evidence {
    let steps = |side: &Side<'_>| side.runs.iter().map(|run| run.len()).sum();
    Evidence {
        unit: Unit::Step,
        base: None,
        test: None,
        shift: None,
        interval: None,
        ratio: None,
        ratio_interval: None,
        basis: Basis::Differences,
        p: None,
        between_runs: None,
        run_spread: settings.run_spread,
        dropped_warmup: [0; 2],
        not_finite: [0; 2],
        short_runs: [0; 2],
        runs: [base.runs.len(), test.runs.len()],
        steps: [steps(base), steps(test)],
        effective_steps: [0.0; 2],
        rho: None,
        verdict: Verdict::NoEvidence,
        measurable: false,
        needed: None,
    }
}
