//! The clock of a node over a whole job, afterwards.
//!
//! A trace is looked at when the job is over, so the estimate of each instant may use the rounds after it as well: a
//! Rauch-Tung-Striebel smoother over the rounds of each stretch. How much the clock wanders is taken from the rounds themselves,
//! as the value that makes them likeliest. The smoothed value moves within the guaranteed interval and never out of it.

use rankscope_time::{MapError, Span};

use super::kalman::ClockState;
use super::stretch::{self, Run, Stretch};
use super::{NodeEstimate, NodeStep, Solution};
use crate::{HostInstant, NodeId};

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
    runs(node, rounds, change_ppb_per_s).iter().map(|run| stretch_of(run, change_ppb_per_s)).collect()
}

/// A node's clock at one instant, in the light of all rounds before and after it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SmoothedEstimate {
    /// On the node's own clock: the instant of the round's own estimate.
    pub at: HostInstant,
    /// `node - reference` at `at`; within the bound of the round's own estimate.
    pub offset: Span,
    /// How far `offset` is likely off by chance, one standard deviation. What paths are longer one way than the other is the same
    /// in all rounds, and is not in it.
    pub sigma_ns: f64,
}

/// The smoothed estimates of the rounds that place `node`, in their order.
pub fn smoothed_estimates(node: NodeId, rounds: &[Solution], change_ppb_per_s: u32) -> Vec<SmoothedEstimate> {
    runs(node, rounds, change_ppb_per_s).iter().flat_map(|run| smoothed(&run.estimates)).collect()
}

/// The rounds that place `node`, between jumps of its clock.
fn runs(node: NodeId, rounds: &[Solution], change_ppb_per_s: u32) -> Vec<Run<'_>> {
    let mut steps: Vec<&NodeStep> = Vec::new();
    let mut placed: Vec<(&NodeEstimate, Vec<&NodeStep>)> = Vec::new();
    for round in rounds {
        steps.extend(round.steps.iter().filter(|step| step.node == node));
        if let Ok(place) = round.nodes.binary_search_by_key(&node, |estimate| estimate.node) {
            placed.push((&round.nodes[place], std::mem::take(&mut steps)));
        }
    }
    let placed: Vec<(&NodeEstimate, &[&NodeStep])> = placed.iter().map(|(one, steps)| (*one, steps.as_slice())).collect();
    stretch::runs(&placed, change_ppb_per_s)
}

fn stretch_of(run: &Run<'_>, change_ppb_per_s: u32) -> Result<Stretch, MapError> {
    let offsets: Vec<Span> = smoothed(&run.estimates).into_iter().map(|smoothed| smoothed.offset).collect();
    let map = stretch::map(&run.estimates, &offsets, change_ppb_per_s)?;
    let degraded = run.estimates.iter().any(|estimate| estimate.degraded);
    // A run has at least one estimate.
    let known = (run.estimates[0].at, run.estimates[run.estimates.len() - 1].at);
    Ok(Stretch { from: run.from, until: run.until, known, map, degraded })
}

/// What smoothing makes of the estimates of one stretch.
fn smoothed(estimates: &[&NodeEstimate]) -> Vec<SmoothedEstimate> {
    let line = Baseline::of(estimates);
    let forward = |wander_ppb| Pass::forward(estimates, &line, wander_ppb);
    let pass = if estimates.len() < ROUNDS_MIN {
        forward(WANDER_PPB_DEFAULT)
    } else {
        let likelier = |a: &Pass, b: &Pass| a.log_likelihood().total_cmp(&b.log_likelihood());
        let passes = WANDERS_PPB.into_iter().map(forward);
        passes.max_by(likelier).unwrap_or_else(|| forward(WANDER_PPB_DEFAULT))
    };
    // Estimates that stray more than they say make what follows from them less certain, too.
    let scale = if estimates.len() < ROUNDS_MIN { 1.0 } else { pass.scale().sqrt().max(1.0) };
    let of_state = |(estimate, state): (&&NodeEstimate, ClockState)| {
        let offset = line.offset(estimate) + Span::from_nanos(state.offset_ns.round() as i64);
        let offset = offset.max(estimate.bound.lo).min(estimate.bound.hi);
        SmoothedEstimate { at: estimate.at, offset, sigma_ns: state.sigma_ns() * scale }
    };
    estimates.iter().zip(pass.backward()).map(of_state).collect()
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
        -0.5 * (count * self.scale().max(f64::MIN_POSITIVE).ln() + self.log_variances)
    }

    /// The likeliest common scale of all variances.
    fn scale(&self) -> f64 {
        self.surprises / self.gaps_s.len().max(1) as f64
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
