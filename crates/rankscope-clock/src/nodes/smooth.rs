//! The clock of a node over a whole job, afterwards.
//!
//! A trace is looked at when the job is over, so the estimate of each instant may use the rounds after it as well: a
//! Rauch-Tung-Striebel smoother over the rounds of each stretch. How much the clock wanders is taken from the rounds themselves,
//! as the value that makes them likeliest. The smoothed value moves within the guaranteed interval and never out of it.

use rankscope_time::{MapError, Span};

use super::kalman::ClockState;
use super::stretch::{self, Run, Stretch};
use super::{NodeEstimate, NodeStep, Solution};
use crate::NodeId;

/// How skews walk, in ppb per square root of a second: from an oven to a clock that a fan blows at.
const WANDERS_PPB: [f64; 9] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0];

/// What is assumed where too few rounds tell.
pub(super) const WANDER_PPB_DEFAULT: f64 = 10.0;

/// Rounds of a stretch that it takes to tell one wander from another.
const ROUNDS_MIN: usize = 6;

/// The clock of `node` as `rounds` in order of time have it: one stretch, or several where it jumped. Rounds that do not place
/// it are bridged.
///
/// # Errors
/// Where estimates contradict each other so much that no increasing map passes through them.
pub fn smooth(node: NodeId, rounds: &[Solution], change_ppb_per_s: u32) -> Result<Vec<Stretch>, MapError> {
    let mut steps: Vec<&NodeStep> = Vec::new();
    let mut placed: Vec<(&NodeEstimate, Vec<&NodeStep>)> = Vec::new();
    for round in rounds {
        steps.extend(round.steps.iter().filter(|step| step.node == node));
        if let Ok(place) = round.nodes.binary_search_by_key(&node, |estimate| estimate.node) {
            placed.push((&round.nodes[place], std::mem::take(&mut steps)));
        }
    }
    let placed: Vec<(&NodeEstimate, &[&NodeStep])> = placed.iter().map(|(one, steps)| (*one, steps.as_slice())).collect();
    stretch::runs(&placed, change_ppb_per_s).into_iter().map(|run| stretch_of(&run, change_ppb_per_s)).collect()
}

fn stretch_of(run: &Run<'_>, change_ppb_per_s: u32) -> Result<Stretch, MapError> {
    let offsets = smoothed(&run.estimates);
    let map = stretch::map(&run.estimates, &offsets, change_ppb_per_s)?;
    let degraded = run.estimates.iter().any(|estimate| estimate.degraded);
    Ok(Stretch { from: run.from, until: run.until, map, degraded })
}

/// Smoothed offsets, each within its bound.
fn smoothed(estimates: &[&NodeEstimate]) -> Vec<Span> {
    let line = Baseline::of(estimates);
    let forward = |wander_ppb| Pass::forward(estimates, &line, wander_ppb);
    let wander_ppb = if estimates.len() < ROUNDS_MIN {
        WANDER_PPB_DEFAULT
    } else {
        let likelier = |a: &f64, b: &f64| forward(*a).log_likelihood().total_cmp(&forward(*b).log_likelihood());
        WANDERS_PPB.into_iter().max_by(likelier).unwrap_or(WANDER_PPB_DEFAULT)
    };
    let states = forward(wander_ppb).backward();
    let offset = |(estimate, state): (&&NodeEstimate, ClockState)| {
        let offset = line.offset(estimate) + Span::from_nanos(state.offset_ns.round() as i64);
        offset.max(estimate.bound.lo).min(estimate.bound.hi)
    };
    estimates.iter().zip(states).map(offset).collect()
}

/// What an estimate without a word on its error is taken to be off: all such count alike.
const SIGMA_UNSAID_NS: f64 = 1_000.0;

fn sigma_ns(estimate: &NodeEstimate) -> f64 {
    if estimate.sigma_ns.is_finite() { estimate.sigma_ns.max(1.0) } else { SIGMA_UNSAID_NS }
}

/// The line from which floats count: that of the first estimate.
struct Baseline<'a> {
    first: &'a NodeEstimate,
}

impl<'a> Baseline<'a> {
    fn of(estimates: &[&'a NodeEstimate]) -> Self {
        Self { first: estimates[0] }
    }

    /// The line where `estimate` is.
    fn offset(&self, estimate: &NodeEstimate) -> Span {
        let gained = self.first.skew_ppb / (1e9 + self.first.skew_ppb) * (estimate.at - self.first.at).as_nanos() as f64;
        self.first.offset + Span::from_nanos(gained.round() as i64)
    }
}

/// One run of the filter.
struct Pass {
    gaps_s: Vec<f64>,
    /// Before and after each measurement.
    states: Vec<(ClockState, ClockState)>,
    surprises: f64,
    log_variances: f64,
}

impl Pass {
    fn forward(estimates: &[&NodeEstimate], line: &Baseline<'_>, wander_ppb: f64) -> Self {
        let skew_sigma_ppb = (line.first.skew_bound_ppb.1 - line.first.skew_bound_ppb.0) / 4.0;
        let begin = ClockState::new(0.0, sigma_ns(line.first), 0.0, skew_sigma_ppb.clamp(1.0, 1e6));
        let mut pass = Self { gaps_s: Vec::new(), states: vec![(begin, begin)], surprises: 0.0, log_variances: 0.0 };
        let mut state = begin;
        for pair in estimates.windows(2) {
            let gap_s = (pair[1].at - pair[0].at).as_nanos() as f64 * 1e-9;
            let expected = state.predicted(gap_s, wander_ppb);
            let measured_ns = (pair[1].offset - line.offset(pair[1])).as_nanos() as f64;
            let (updated, surprise, variance) = expected.updated(measured_ns, sigma_ns(pair[1]));
            pass.gaps_s.push(gap_s);
            pass.states.push((expected, updated));
            pass.surprises += surprise;
            pass.log_variances += variance.ln();
            state = updated;
        }
        pass
    }

    /// Up to a constant, with the common scale of all variances at its likeliest: only the proportion of wander to noise is
    /// asked for, so that sigmas need be right only against each other.
    fn log_likelihood(&self) -> f64 {
        let count = self.gaps_s.len() as f64;
        -0.5 * (count * (self.surprises / count).max(f64::MIN_POSITIVE).ln() + self.log_variances)
    }

    fn backward(&self) -> Vec<ClockState> {
        let mut known: Vec<ClockState> = self.states.iter().map(|(_, updated)| *updated).collect();
        for place in (0..self.gaps_s.len()).rev() {
            let (expected, _) = self.states[place + 1];
            known[place] = known[place].smoothed(self.gaps_s[place], &expected, &known[place + 1]);
        }
        known
    }
}
