//! The clock of this node now, while the job runs.
//!
//! Causal: each round moves the state, and the map is the line through it. It is drawn on until the next round, its uncertainty
//! growing by the drift that the skew bounds leave open. A jump begins anew from the round that shows it; one that was seen
//! after the round's common instant moves that round's estimate along.

use rankscope_time::{ClockMap, HostClock, ReferenceClock, Span};

use super::kalman::ClockState;
use super::smooth::WANDER_PPB_DEFAULT;
use super::{NodeEstimate, NodeStep, stretch};
use crate::Interval;

/// What is known of a clock so far.
#[derive(Clone, Debug)]
pub struct ClockFilter {
    wander_ppb: f64,
    change_ppb_per_s: u32,
    last: Option<(NodeEstimate, ClockState)>,
}

impl ClockFilter {
    /// Nothing is known yet. Skews are expected to change by less than `change_ppb_per_s`.
    pub fn new(change_ppb_per_s: u32) -> Self {
        Self { wander_ppb: WANDER_PPB_DEFAULT, change_ppb_per_s, last: None }
    }

    /// Takes in this node's estimate of a round, and the jumps of its clock in that round.
    pub fn update(&mut self, estimate: &NodeEstimate, steps: &[NodeStep]) {
        let own = || steps.iter().filter(|step| step.node == estimate.node);
        let continues = |last: &NodeEstimate| {
            own().all(|step| step.at > estimate.at) && !stretch::jumped(last, estimate, self.change_ppb_per_s)
        };
        let state = match &self.last {
            Some((last, state)) if continues(last) => {
                let elapsed_s = (estimate.at - last.at).as_nanos() as f64 * 1e-9;
                let expected = state.predicted(elapsed_s, self.wander_ppb);
                // States count offsets from the last estimate.
                let measured_ns = (estimate.offset - last.offset).as_nanos() as f64;
                let (updated, ..) = expected.updated(measured_ns, estimate.sigma_ns.max(1.0));
                updated.rebased(measured_ns)
            }
            _ => {
                let skew_sigma_ppb = (estimate.skew_bound_ppb.1 - estimate.skew_bound_ppb.0) / 4.0;
                ClockState::new(0.0, estimate.sigma_ns.max(1.0), estimate.skew_ppb, skew_sigma_ppb.clamp(1.0, 1e6))
            }
        };
        let estimate = own().filter(|step| step.at > estimate.at).fold(*estimate, |before, step| after(&before, step));
        self.last = Some((estimate, state));
    }

    /// From this node's clock to the reference's; none before the first round.
    pub fn map(&self) -> Option<ClockMap<HostClock, ReferenceClock>> {
        let (last, state) = self.last.as_ref()?;
        let offset = last.offset + Span::from_nanos(state.offset_ns.round() as i64);
        let estimate = NodeEstimate { skew_ppb: state.skew_ppb, ..*last };
        stretch::map(&[&estimate], &[offset.max(last.bound.lo).min(last.bound.hi)], self.change_ppb_per_s).ok()
    }
}

/// An estimate as it is after the clock jumped. How much it jumped is known as well as the offset was.
fn after(estimate: &NodeEstimate, step: &NodeStep) -> NodeEstimate {
    let width = estimate.bound.hi - estimate.bound.lo;
    NodeEstimate {
        at: estimate.at + step.size,
        offset: estimate.offset + step.size,
        bound: Interval { lo: estimate.bound.lo + step.size - width, hi: estimate.bound.hi + step.size + width },
        degraded: true,
        ..*estimate
    }
}
