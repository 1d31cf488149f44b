//! How far the clocks of two ranks may be off against each other: in practice, and at most.

use rankscope_align::{Method, RankAlignment};

use crate::Job;
use crate::nodes::Nodes;

/// What the clocks leave open between pairs of ranks. Ranks of one node have one clock.
pub(super) struct ClockErrors<'a> {
    job: &'a Job,
    /// What the ends of collectives leave open between clocks that they were corrected by; none if nothing tells.
    agreement_ns: Option<i64>,
}

impl<'a> ClockErrors<'a> {
    pub(super) fn of(job: &'a Job) -> Self {
        Self { job, agreement_ns: Some(job.open_between_ranks_ns()).filter(|open_ns| *open_ns != i64::MAX) }
    }

    /// How far what lies between two stamps of the ranks at `a` and `b` may be off in practice, in nanoseconds; none where nothing bounds
    /// it. Of measured clocks that is what the measurement leaves open. Else it is how well the ends of collectives agree, and by how much
    /// the clocks that are used differ from those that agree so.
    pub(super) fn in_practice_ns(&self, a: usize, b: usize, nodes: &Nodes) -> Option<i64> {
        if self.is_one_clock(a, b, nodes) {
            return Some(0);
        }
        let (of_a, of_b) = self.pair(a, b)?;
        if let Some(open_ns) = measured(of_a, of_b) {
            return open_ns;
        }
        let estimated =
            |rank: usize| self.job.clocks.estimate.clocks.get(rank).filter(|one| one.applied).map_or(0, |one| one.offset_ns);
        let beside_ns = taken_ns(of_a, of_b).saturating_sub(estimated(b).saturating_sub(estimated(a)));
        Some(self.agreement_ns?.saturating_add(beside_ns.saturating_abs()))
    }

    /// The same at most: as far as the ends of what causality allows are from what is used.
    pub(super) fn at_most_ns(&self, a: usize, b: usize, nodes: &Nodes) -> Option<i64> {
        if self.is_one_clock(a, b, nodes) {
            return Some(0);
        }
        let (of_a, of_b) = self.pair(a, b)?;
        if let Some(open_ns) = measured(of_a, of_b) {
            return open_ns;
        }
        // The interval is of the clocks as recorded; what was taken off them is somewhere inside it.
        let (bound, taken_ns) = (self.job.clocks.estimate.bounds.between(a, b), taken_ns(of_a, of_b));
        [bound.lo_ns?, bound.hi_ns?].map(|end| end.saturating_sub(taken_ns).saturating_abs()).into_iter().max()
    }

    fn is_one_clock(&self, a: usize, b: usize, nodes: &Nodes) -> bool {
        let one_node = || nodes.at(a).is_some_and(|node| nodes.at(b) == Some(node));
        a == b || self.job.clocks.method == Method::OneHost || one_node()
    }

    fn pair(&self, a: usize, b: usize) -> Option<(&RankAlignment, &RankAlignment)> {
        self.job.clocks.ranks.get(a).zip(self.job.clocks.ranks.get(b))
    }
}

/// What was taken off the clock of `b` beyond what was taken off that of `a`.
fn taken_ns(a: &RankAlignment, b: &RankAlignment) -> i64 {
    let taken = |rank: &RankAlignment| if rank.map.is_identity() { 0 } else { rank.offset_ns };
    taken(b).saturating_sub(taken(a))
}

/// What measurements of both clocks leave open, if both were measured.
fn measured(a: &RankAlignment, b: &RankAlignment) -> Option<Option<i64>> {
    let half = |rank: &RankAlignment| rank.bound.width_ns().map(|width| width.saturating_add(1) / 2);
    let is_measured = |rank: &RankAlignment| matches!(rank.method, Method::Measured | Method::OneHost);
    (is_measured(a) && is_measured(b)).then(|| half(a).zip(half(b)).map(|(a, b)| a.saturating_add(b)))
}
