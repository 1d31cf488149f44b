//! [`KnownSkew`]: what a node's clock gains on the reference, as the round said that knew best.
//!
//! A round in which the reference dies has heard it for a train or two: that tells where it stood, and hardly what others gain on it. Whoever
//! stands in for it from then on draws its line by what an earlier round knew, opened since by all that a skew may change. What is measured
//! takes nothing from here: only a line that is drawn on, and is no proof, does.

use std::collections::BTreeMap;

use super::{NodeEstimate, Solution};
use crate::{HostInstant, NodeId};

/// What a node's clock gains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownSkew {
    /// Whose.
    pub node: NodeId,
    /// When, on the node's own clock.
    pub at: HostInstant,
    /// What it gains on the reference, in parts per billion.
    pub skew_ppb: f64,
    /// What that can be at all.
    pub bound_ppb: (f64, f64),
}

impl KnownSkew {
    fn of(estimate: &NodeEstimate) -> Self {
        let NodeEstimate { node, at, skew_ppb, skew_bound_ppb: bound_ppb, .. } = *estimate;
        Self { node, at, skew_ppb, bound_ppb }
    }

    /// The same at another instant, where it may have changed by so much each second.
    fn opened(self, at: HostInstant, change_ppb_per_s: u32) -> Self {
        let change_ppb = f64::from(change_ppb_per_s) * 1e-9 * (at - self.at).abs().as_nanos() as f64;
        Self { at, bound_ppb: (self.bound_ppb.0 - change_ppb, self.bound_ppb.1 + change_ppb), ..self }
    }

    fn width_ppb(&self) -> f64 {
        self.bound_ppb.1 - self.bound_ppb.0
    }

    fn may_equal(&self, other: &Self) -> bool {
        self.bound_ppb.0 <= other.bound_ppb.1 && other.bound_ppb.0 <= self.bound_ppb.1
    }

    /// Whether it says more than `other`, which is of the same node, and nothing else.
    fn is_better(self, other: &Self, change_ppb_per_s: u32) -> bool {
        let then = self.opened(other.at, change_ppb_per_s);
        then.width_ppb() < other.width_ppb() && then.may_equal(other)
    }
}

/// What is known after a round in which `nodes` were placed; `before` is the last solution.
pub(super) fn known(before: Option<&Solution>, nodes: &[NodeEstimate], change_ppb_per_s: u32) -> Vec<KnownSkew> {
    let told = before.into_iter().flat_map(|before| before.earlier.iter().chain(&before.nodes)).map(KnownSkew::of);
    let kept = before.into_iter().flat_map(|before| before.skews.iter().copied());
    let measured = nodes.iter().filter(|estimate| !estimate.degraded).map(KnownSkew::of);
    let mut known: BTreeMap<NodeId, KnownSkew> = told.chain(kept).map(|skew| (skew.node, skew)).collect();
    for skew in measured {
        known
            .entry(skew.node)
            .and_modify(|old| *old = if old.is_better(&skew, change_ppb_per_s) { *old } else { skew })
            .or_insert(skew);
    }
    known.into_values().collect()
}

/// `estimate` as it is worth remembering: with what `before`, an earlier one of the same node, knew better of its skew.
pub(crate) fn remembered(estimate: NodeEstimate, before: &NodeEstimate, change_ppb_per_s: u32) -> NodeEstimate {
    with(estimate, &KnownSkew::of(before), change_ppb_per_s)
}

/// `placed`, which is about to be drawn on, with the best that `before` knows of its skew.
pub(super) fn with_known(placed: NodeEstimate, before: &Solution, change_ppb_per_s: u32) -> NodeEstimate {
    let known = before.skews.iter().find(|known| known.node == placed.node);
    known.map_or(placed, |known| with(placed, known, change_ppb_per_s))
}

fn with(placed: NodeEstimate, known: &KnownSkew, change_ppb_per_s: u32) -> NodeEstimate {
    if !known.is_better(&KnownSkew::of(&placed), change_ppb_per_s) {
        return placed;
    }
    let then = known.opened(placed.at, change_ppb_per_s);
    NodeEstimate { skew_ppb: then.skew_ppb, skew_bound_ppb: then.bound_ppb, ..placed }
}
