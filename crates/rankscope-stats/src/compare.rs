//! Two sides, one verdict: which unit is repeated, what its interval is, and what follows.

use crate::estimate::median;
use crate::evidence::{Basis, Evidence, Unit, Verdict};
use crate::judge::Judge;
use crate::needed;
use crate::series::{Cleaned, same};
use crate::settings::{Settings, Side};
use crate::steps::Steps;

/// Compares `test` with `base`.
///
/// Runs are the unit where both sides have three or more with at least ten steps after the warm-up, else steps. What is missing or
/// no number has a verdict, too: nothing panics. Two sides that are the same values do not differ, whatever their noise.
pub fn compare(base: &Side<'_>, test: &Side<'_>, settings: &Settings) -> Evidence {
    let sides = [Cleaned::of(base), Cleaned::of(test)];
    let evidence = match Steps::of(sides[0].at_hand(), sides[1].at_hand()) {
        None => nothing(&sides),
        Some(steps) if sides.iter().any(|side| side.runs.is_empty()) => too_few(&sides, &steps),
        Some(steps) => enough(&sides, steps, settings),
    };
    if same(base, test) && is_series(&sides[0]) { identical(evidence) } else { evidence }
}

/// Without any value on a side.
fn nothing(sides: &[Cleaned; 2]) -> Evidence {
    let middle = |side: &Cleaned| {
        let mut values = side.at_hand().concat();
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then(|| median(&values))
    };
    Evidence {
        unit: Unit::Step,
        base: middle(&sides[0]),
        test: middle(&sides[1]),
        shift: None,
        interval: None,
        ratio: None,
        ratio_interval: None,
        basis: Basis::Differences,
        p: None,
        between_runs: None,
        run_spread: None,
        dropped_warmup: sides.each_ref().map(|side| side.dropped_warmup),
        not_finite: sides.each_ref().map(|side| side.not_finite),
        short_runs: sides.each_ref().map(|side| side.short.len()),
        runs: sides.each_ref().map(|side| side.runs.len()),
        steps: sides.each_ref().map(Cleaned::steps),
        effective_steps: [0.0; 2],
        rho: None,
        verdict: Verdict::NoEvidence,
        measurable: false,
        needed: Some(needed::any_evidence()),
    }
}

/// With too few steps: what they are, and nothing about what they may be.
fn too_few(sides: &[Cleaned; 2], steps: &Steps) -> Evidence {
    let (shift, [base, _]) = (steps.shift(), steps.medians());
    let ratio = Some(shift / base.abs()).filter(|ratio| ratio.is_finite());
    Evidence { shift: Some(shift), ratio, ..nothing(sides) }
}

fn enough(sides: &[Cleaned; 2], steps: Steps, settings: &Settings) -> Evidence {
    let inflation = steps.resemblance.inflation();
    let shared = Evidence {
        rho: Some(steps.resemblance.rho),
        effective_steps: sides.each_ref().map(|side| side.steps() as f64 / inflation),
        ..nothing(sides)
    };
    Judge::of(sides, steps, settings).evidence(shared)
}

/// One step may equal another by chance; two or more do not.
fn is_series(side: &Cleaned) -> bool {
    side.at_hand().iter().map(Vec::len).sum::<usize>() >= 2
}

/// The same values on both sides: whatever they would be on another day, these do not differ.
fn identical(evidence: Evidence) -> Evidence {
    Evidence {
        interval: Some((0.0, 0.0)),
        ratio_interval: evidence.ratio.map(|_| (0.0, 0.0)),
        p: Some(1.0),
        verdict: Verdict::Equivalent,
        measurable: false,
        needed: None,
        ..evidence
    }
}
