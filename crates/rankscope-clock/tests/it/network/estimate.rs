//! The plainest estimators there are, so that tests of the session depend on no other.

use std::collections::BTreeMap;

use rankscope_clock::fit::{Estimator, FitOptions, WindowFit};
use rankscope_clock::nodes::{NodeEstimate, Solution, SolveOptions};
use rankscope_clock::{EdgeFit, Exchange, HostInstant, Interval, NoFit, NodeId, NodeWindow};
use rankscope_time::{Rate, Span};

pub(crate) fn options() -> (FitOptions, SolveOptions) {
    let estimator = Estimator::Band;
    let fit = FitOptions::usual(estimator).with_skew_max(Rate::from_ppb(500_000));
    (fit, SolveOptions::for_reference(NodeId(0)))
}

pub(crate) fn fit(exchanges: &[Exchange], _: Option<&EdgeFit>, options: &FitOptions) -> WindowFit {
    WindowFit { fits: vec![flat(exchanges, options)], events: Vec::new(), filtered: 0 }
}

/// Bounds from the one exchange nearest the middle: true there, whatever the skew.
fn flat(exchanges: &[Exchange], options: &FitOptions) -> Result<EdgeFit, NoFit> {
    let bounds = |exchange: &Exchange| {
        let [forward, reverse] = [exchange.forward[1], exchange.reverse[0]];
        Some((forward.sent?, reverse.sent? - reverse.received?, forward.received? - forward.sent?))
    };
    let all: Vec<(HostInstant, Span, Span)> = exchanges.iter().filter_map(bounds).collect();
    let count = all.len() as u32;
    let extent = all.iter().map(|(at, ..)| *at).min().zip(all.iter().map(|(at, ..)| *at).max());
    let Some((start, end)) = extent.filter(|_| count >= options.exchanges_min) else {
        return Err(NoFit::TooFewExchanges(count));
    };
    let middle = start + Span::from_nanos((end - start).as_nanos() / 2);
    let nearest = all.iter().min_by_key(|(at, ..)| (*at - middle).abs()).copied();
    let (mid, lo, hi) = nearest.expect("there are ten");
    Ok(EdgeFit {
        start,
        end,
        mid,
        offset: lo + Span::from_nanos((hi - lo).as_nanos() / 2),
        skew_ppb: 0.0,
        bound: Interval { lo: lo.min(hi), hi: hi.max(lo) },
        skew_bound_ppb: (-5e5, 5e5),
        sigma_ns: 1e4,
        rtt_min: hi - lo,
        points_forward: count,
        points_reverse: count,
        degraded: false,
    })
}

/// Offsets summed up along whatever edges lead away from the reference.
pub(crate) fn solve(windows: &[NodeWindow], _: Option<&Solution>, options: &SolveOptions) -> Solution {
    let mut placed = BTreeMap::from([(options.reference, Span::ZERO)]);
    let lines =
        || windows.iter().flat_map(|window| &window.edges).filter_map(|edge| Some((edge.edge, edge.fits[0].as_ref().ok()?)));
    for _ in 0..windows.len() {
        for (edge, line) in lines() {
            match (placed.get(&edge.src), placed.get(&edge.dst)) {
                (Some(offset), None) => placed.insert(edge.dst, *offset + line.offset),
                (None, Some(offset)) => placed.insert(edge.src, *offset - line.offset),
                _ => None,
            };
        }
    }
    let Some(reference) = windows.first() else { return Solution::default() };
    let middle = reference.start + Span::from_nanos((reference.end - reference.start).as_nanos() / 2);
    let base = placed.get(&reference.node).copied().unwrap_or_default();
    let nodes = placed.iter().map(|(node, offset)| NodeEstimate {
        node: *node,
        at: middle + *offset - base,
        offset: *offset,
        skew_ppb: 0.0,
        bound: Interval { lo: *offset, hi: *offset },
        skew_bound_ppb: (0.0, 0.0),
        sigma_ns: 1e4,
        residual_ns: 0.0,
        degraded: false,
    });
    Solution { nodes: nodes.collect(), ..Solution::default() }
}
