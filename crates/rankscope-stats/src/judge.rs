//! One sample, judged: how wide its interval has to be, what it is relative to the baseline, and what would decide.

use crate::estimate::Estimate;
use crate::evidence::{Basis, Evidence, Needed, Unit, Verdict};
use crate::needed::{self, AtHand};
use crate::runs::{self, Runs, run_spread};
use crate::sample::Sample;
use crate::series::Cleaned;
use crate::settings::{RunSpread, Settings};
use crate::steps::Steps;
use crate::verdict::Judged;
use crate::{estimate, student};

/// From this relative half-width on, the baseline itself is too uncertain to divide by.
const UNCERTAIN: f64 = 0.05;

/// A known spread between runs widens an interval by so many standard deviations of a difference between two runs.
const STATED: f64 = 2.0;

/// What is compared, and what is known beside it.
pub(crate) struct Judge<'a> {
    sample: Sample,
    /// How many steps are worth one.
    inflation: f64,
    /// Where steps are the unit, and the runs do for an interval though not for a verdict.
    between_runs: Option<Runs>,
    /// Where steps are the unit.
    spread: Option<RunSpread>,
    settings: &'a Settings,
}

/// The shift in the unit in which it is judged, and what made its interval wide.
struct Relative {
    basis: Basis,
    judged: Judged,
    /// Clocks, in that unit.
    clocks: f64,
    /// By how much a known spread between runs widens the interval on each side, in that unit.
    spread: f64,
    /// That spread, one standard deviation of one run, in that unit.
    deviation: f64,
}

impl<'a> Judge<'a> {
    pub(crate) fn of(sides: &[Cleaned; 2], steps: Steps, settings: &'a Settings) -> Self {
        let inflation = steps.resemblance.inflation();
        let sample = Sample::of(sides, steps);
        let by_steps = sample.unit() == Unit::Step;
        let between_runs = by_steps.then(|| Runs::of(&sides[0].runs, &sides[1].runs)).flatten();
        let spread = by_steps.then(|| settings.run_spread.or_else(|| repeats(sides))).flatten();
        Self { sample, inflation, between_runs, spread, settings }
    }

    /// Everything that follows, beside what `shared` knows already.
    pub(crate) fn evidence(&self, shared: Evidence) -> Evidence {
        let [base, test] = self.sample.middles();
        let clocks = self.settings.clock_uncertainty;
        // The two runs have a level each, so that it does not matter which of them is the base.
        let spread = self.spread_reach() * base.hypot(test);
        let absolute = self.sample.estimate(self.settings.alpha, clocks + spread);
        let relative = self.relative(&absolute, base, spread);
        let verdict = self.verdict(&relative.judged);
        let ratio = |value: f64| match relative.basis {
            Basis::Differences => value / base.abs(),
            Basis::Logarithms => value,
        };
        let between_runs = self.between_runs.as_ref().and_then(|runs| runs.estimate(self.settings.alpha, clocks).interval);
        Evidence {
            unit: self.sample.unit(),
            base: Some(base),
            test: Some(test),
            shift: Some(absolute.shift),
            interval: absolute.interval,
            ratio: Some(ratio(relative.judged.shift)).filter(|ratio| ratio.is_finite()),
            ratio_interval: relative.judged.interval.map(|(low, high)| (ratio(low), ratio(high))).filter(is_finite),
            basis: relative.basis,
            p: Some(absolute.p),
            between_runs,
            run_spread: self.spread,
            verdict,
            measurable: relative.judged.is_measurable(),
            needed: self.needed(verdict, &relative),
            ..shared
        }
    }

    /// The shift as it is judged: in logarithms where the baseline is uncertain and all values are positive.
    fn relative(&self, absolute: &Estimate, base: f64, spread: f64) -> Relative {
        let Settings { alpha, margin, clock_uncertainty, .. } = *self.settings;
        let (size, half) = (base.abs(), self.sample.base_half_width(alpha));
        let known = self.spread.map_or(0.0, |spread| spread.relative);
        let uncertain = half.is_none_or(|half| half >= UNCERTAIN * size);
        if let Some(logarithms) = uncertain.then(|| self.sample.logarithms()).flatten() {
            let clocks = clock_uncertainty / size;
            let spread = self.spread_reach() * std::f64::consts::SQRT_2;
            let estimate = logarithms.estimate(alpha, spread + clocks.ln_1p());
            let interval = estimate.interval.map(|(low, high)| (low.exp_m1(), high.exp_m1())).filter(is_finite);
            let judged = Judged { shift: estimate.shift.exp_m1(), interval, matters: margin, equivalent: margin };
            return Relative { basis: Basis::Logarithms, judged, clocks, spread, deviation: known };
        }
        // Where no logarithm helps, a baseline that may be smaller makes the same shift a larger part of it.
        let least = if uncertain { half.map_or(0.0, |half| (size - half).max(0.0)) } else { size };
        let judged =
            Judged { shift: absolute.shift, interval: absolute.interval, matters: margin * size, equivalent: margin * least };
        Relative { basis: Basis::Differences, judged, clocks: clock_uncertainty, spread, deviation: known * size }
    }

    fn verdict(&self, judged: &Judged) -> Verdict {
        if self.sample.unit() == Unit::Step && self.spread.is_none() {
            return judged.between_two_runs();
        }
        judged.verdict(self.settings.direction)
    }

    /// How many times its level a run's own part may reach, as far as it widens an interval. No number for a spread that is none.
    fn spread_reach(&self) -> f64 {
        let Some(RunSpread { relative, runs }) = self.spread else { return 0.0 };
        let alpha = self.settings.alpha;
        let deviations = match runs {
            None => Some(STATED.max(student::normal_quantile(alpha))),
            Some(runs) => student::quantile(alpha, runs.saturating_sub(1) as f64),
        };
        deviations.filter(|_| relative >= 0.0).map_or(f64::NAN, |deviations| deviations * relative)
    }

    fn needed(&self, verdict: Verdict, relative: &Relative) -> Option<Needed> {
        if !matches!(verdict, Verdict::Inconclusive | Verdict::Differs | Verdict::NoDifferenceSeen) {
            return None;
        }
        let alpha = self.settings.alpha;
        let Some((low, high)) = relative.judged.interval else {
            let unbounded = matches!(&self.sample, Sample::Steps(steps) if steps.depth(alpha).is_none());
            return unbounded.then(|| needed::any_bounds(self.inflation, alpha)).flatten();
        };
        let at_hand = AtHand {
            counts: self.sample.counts(),
            inflation: self.inflation,
            half_width: (high - low) / 2.0 - relative.clocks - relative.spread,
            wanted: relative.judged.wanted_half_width(),
            fixed: relative.clocks,
            alpha,
        };
        match (&self.sample, self.spread) {
            (Sample::Runs(_), _) => at_hand.runs(),
            (Sample::Steps(_), Some(_)) => at_hand.steps_or_runs(relative.spread, relative.deviation),
            (Sample::Steps(_), None) => at_hand.runs_at_least(),
        }
    }
}

/// The spread between runs that one side shows where the other has too few.
fn repeats(sides: &[Cleaned; 2]) -> Option<RunSpread> {
    let side = sides.iter().find(|side| side.runs.len() >= runs::RUNS_MIN)?;
    run_spread(&estimate::medians(&side.runs))
}

fn is_finite(interval: &(f64, f64)) -> bool {
    interval.0.is_finite() && interval.1.is_finite()
}
