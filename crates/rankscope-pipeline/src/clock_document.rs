//! From lines of offsets to the document that is drawn.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_clock::files::{OffsetRow, solutions};
use rankscope_clock::nodes::{
    Agreement, NodeEstimate, PairSurplus, SmoothedEstimate, Solution, SolveOptions, smoothed_estimates,
};
use rankscope_clock::solved::Solved;
use rankscope_clock::trend::{Segment, segments};
use rankscope_clock::{HostInstant, NodeId};
use rankscope_document::{ClockDocument, ClockPoint, NodeClock, Note, PairAgreement};
use rankscope_time::Span;

/// Where clocks stood: what a [`ClockDocument`] is made of.
#[derive(Clone, Debug)]
pub struct ClockRounds<'a> {
    /// In whatever order.
    rows: &'a [OffsetRow],
    reference: Option<NodeId>,
    /// In order of time.
    rounds: Cow<'a, [Solution]>,
    agreement: Cow<'a, Agreement>,
}

impl<'a> ClockRounds<'a> {
    /// What files of offsets say: where clocks stood, and not what it rests on.
    pub fn of_offsets(rows: &'a [OffsetRow], reference: Option<NodeId>) -> Self {
        Self { rows, reference, rounds: solutions(rows).into(), agreement: Cow::default() }
    }

    /// What the nodes measured.
    pub fn of_solved(solved: &'a Solved) -> Self {
        Self {
            rows: &solved.rows,
            reference: solved.header.reference,
            rounds: Cow::Borrowed(&solved.solutions),
            agreement: Cow::Borrowed(&solved.agreement),
        }
    }

    /// The document of it.
    pub fn document(&self, title: String, notes: Vec<Note>) -> ClockDocument {
        let mut by_node: BTreeMap<NodeId, Vec<&OffsetRow>> = BTreeMap::new();
        for row in self.rows {
            by_node.entry(row.node).or_default().push(row);
        }
        let first = self.rows.iter().filter_map(|row| row.estimate.as_ref()).map(on_reference).min();
        let rounds: BTreeSet<u64> = self.rows.iter().map(|row| row.round).collect();
        ClockDocument {
            schema: 1,
            rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
            title,
            reference: self.reference.map(|node| node.0),
            rounds: rounds.len() as u32,
            notes,
            nodes: by_node.into_iter().map(|(node, rows)| self.clock(node, &rows, first)).collect(),
            pairs: self.agreement.pairs.iter().map(pair).collect(),
        }
    }

    fn clock(&self, node: NodeId, rows: &[&OffsetRow], first: Option<HostInstant>) -> NodeClock {
        let mut placed: Vec<(u64, NodeEstimate)> = rows.iter().filter_map(|row| Some((row.round, row.estimate?))).collect();
        placed.sort_by_key(|(_, estimate)| estimate.at);
        let estimates: Vec<_> = placed.iter().map(|(_, estimate)| *estimate).collect();
        let unreachable = (rows.len() - placed.len()) as u32;
        let smoothed = self.smoothed(node);
        let points = segments(&estimates).into_iter().flat_map(|segment| {
            let (placed, smoothed) = (&placed, &smoothed);
            segment.rounds.clone().map(move |at| {
                let is_step = at > 0 && at == segment.rounds.start;
                point(&placed[at], smoothed.get(&placed[at].1.at), &segment, is_step, first)
            })
        });
        let path_sigmas_ns = &self.agreement.path_sigmas_ns;
        let path = path_sigmas_ns.binary_search_by_key(&node, |(known, _)| *known);
        NodeClock {
            node: node.0,
            unreachable,
            path_sigma_ns: path.ok().map(|at| path_sigmas_ns[at].1),
            points: points.collect(),
        }
    }

    /// By the instants of their rounds.
    fn smoothed(&self, node: NodeId) -> BTreeMap<HostInstant, SmoothedEstimate> {
        let change = SolveOptions::for_reference(node).skew_change_ppb_per_s;
        smoothed_estimates(node, &self.rounds, change).into_iter().map(|estimate| (estimate.at, estimate)).collect()
    }
}

fn pair(surplus: &PairSurplus) -> PairAgreement {
    PairAgreement {
        first: surplus.nodes.0.0,
        second: surplus.nodes.1.0,
        measured: surplus.measured,
        surplus_ns: surplus.surplus_ns,
        chance_ns: surplus.chance_ns,
        suspect: surplus.is_suspect,
    }
}

fn point(
    (round, estimate): &(u64, NodeEstimate),
    smoothed: Option<&SmoothedEstimate>,
    segment: &Segment,
    step: bool,
    first: Option<HostInstant>,
) -> ClockPoint {
    let bound = |bound: Span| Some(bound.as_nanos()).filter(|ns| *ns > i64::MIN && *ns < i64::MAX);
    let elapsed = first.map_or(Span::ZERO, |first| on_reference(estimate) - first);
    ClockPoint {
        round: *round,
        at_ns: estimate.at.nanos_since_epoch(),
        elapsed_s: elapsed.as_nanos() as f64 / 1e9,
        offset_ns: estimate.offset.as_nanos(),
        skew_ppb: estimate.skew_ppb,
        bound_lo_ns: bound(estimate.bound.lo),
        bound_hi_ns: bound(estimate.bound.hi),
        sigma_ns: Some(estimate.sigma_ns).filter(|sigma| sigma.is_finite()),
        smoothed_ns: smoothed.map(|smoothed| smoothed.offset.as_nanos()),
        smoothed_sigma_ns: smoothed.map(|smoothed| smoothed.sigma_ns),
        residual_ns: estimate.residual_ns,
        stray_ns: (estimate.offset - segment.offset_at(estimate.at)).as_nanos(),
        degraded: estimate.degraded,
        step,
    }
}

/// When the estimate holds, on the reference's clock.
fn on_reference(estimate: &NodeEstimate) -> HostInstant {
    estimate.at - estimate.offset
}
