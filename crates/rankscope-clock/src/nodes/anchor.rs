//! Whose clock a round is measured against, and where that clock stands.
//!
//! Usually it is the reference itself, at the middle of its window. In a round without it, a node that was placed before stands in: its last
//! line is drawn on, with the [best skew](super::skews) that is known of it, and its bound grows by all that the line leaves open. It is the
//! lowest of those of which about as much is known as of any: a node may have been placed last by a moment's packets, and whoever leads now
//! may have been told of itself alone what an earlier leader knew.

use rankscope_time::Span;

use super::line::{self, Track, dst_reading};
use super::skews;
use super::tree::mentioned;
use super::{NodeEstimate, Solution, SolveOptions};
use crate::{HostInstant, Interval, NodeId, NodeWindow};

/// The estimate of the anchoring node at the common instant, `at` being that instant on its clock.
pub(super) fn anchor(
    windows: &[NodeWindow],
    tracks: &[Track<'_>],
    before: Option<&Solution>,
    options: &SolveOptions,
) -> Option<NodeEstimate> {
    let heard = mentioned(tracks);
    let is_heard = |node: NodeId| heard.binary_search(&node).is_ok();
    if is_heard(options.reference) {
        return Some(reference(options.reference, middle(windows, tracks, options.reference)?));
    }
    let (before, change) = (before?, options.skew_change_ppb_per_s);
    let placed = before.nodes.iter().chain(&before.earlier).filter(|placed| is_heard(placed.node));
    let mut placed: Vec<NodeEstimate> = placed.map(|placed| skews::with_known(*placed, before, change)).collect();
    placed.sort_unstable_by_key(|placed| placed.node);
    let lowest = placed.first()?;
    // About the next round of a reference that stays away: what is known of its rate will count, too.
    let ahead = middle(windows, tracks, lowest.node)? - lowest.at;
    let then = lowest.at - lowest.offset + ahead + ahead;
    let open_ns = |placed: &NodeEstimate| {
        let bound = drawn_on(placed, then + placed.offset, change).bound;
        (bound.hi - bound.lo).as_nanos()
    };
    let enough_ns = placed.iter().map(open_ns).min()?.saturating_mul(9) / 8;
    let stand_in = placed.iter().find(|placed| open_ns(placed) <= enough_ns)?;
    Some(drawn_on(stand_in, middle(windows, tracks, stand_in.node)?, change))
}

/// The middle of the window of `node` on its clock; where its window never came, the middle of that of an edge to it.
fn middle(windows: &[NodeWindow], tracks: &[Track<'_>], node: NodeId) -> Option<HostInstant> {
    let own = windows.iter().rfind(|window| window.node == node && !window.edges.is_empty());
    if let Some(window) = own {
        return Some(window.start + Span::from_nanos((window.end - window.start).as_nanos() / 2));
    }
    let track = tracks.iter().find(|track| track.record.edge.src == node || track.record.edge.dst == node)?;
    let mid = track.record.fits.iter().flatten().next()?.mid;
    let mid_ns = mid.nanos_since_epoch();
    let is_src = track.record.edge.src == node;
    Some(if is_src { mid } else { HostInstant::from_nanos_since_epoch(dst_reading(track.at_src(mid_ns), mid_ns)) })
}

fn reference(node: NodeId, at: HostInstant) -> NodeEstimate {
    let bound = Interval { lo: Span::ZERO, hi: Span::ZERO };
    NodeEstimate {
        node,
        at,
        offset: Span::ZERO,
        skew_ppb: 0.0,
        bound,
        skew_bound_ppb: (0.0, 0.0),
        sigma_ns: 0.0,
        residual_ns: 0.0,
        degraded: false,
    }
}

/// `placed` as it must have become by `at`.
fn drawn_on(placed: &NodeEstimate, at: HostInstant, change_ppb_per_s: u32) -> NodeEstimate {
    let elapsed_ns = (at - placed.at).as_nanos() as f64;
    // Skews count on the reference's time, which runs slower by as much.
    let gained = |skew_ppb: f64| skew_ppb / (1e9 + skew_ppb) * elapsed_ns;
    let bent = f64::from(change_ppb_per_s) * 0.5e-18 * elapsed_ns * elapsed_ns;
    let (one, other) = (gained(placed.skew_bound_ppb.0), gained(placed.skew_bound_ppb.1));
    let change = f64::from(change_ppb_per_s) * 1e-9 * elapsed_ns.abs();
    let by = |ns: f64| Span::from_nanos(ns as i64);
    NodeEstimate {
        at,
        offset: placed.offset + by(gained(placed.skew_ppb).round()),
        bound: Interval {
            lo: placed.bound.lo + by((one.min(other) - bent).floor()),
            hi: placed.bound.hi + by((one.max(other) + bent).ceil()),
        },
        skew_bound_ppb: (placed.skew_bound_ppb.0 - change, placed.skew_bound_ppb.1 + change),
        sigma_ns: placed.sigma_ns.hypot(bent),
        residual_ns: 0.0,
        degraded: true,
        ..*placed
    }
}

/// `relative`, an estimate against the anchoring node, as one against the reference.
pub(super) fn against_reference(relative: NodeEstimate, anchor: &NodeEstimate) -> NodeEstimate {
    let chained = |a: f64, b: f64| line::skew_ppb(line::log_rate_ppb(a) + line::log_rate_ppb(b));
    NodeEstimate {
        offset: relative.offset + anchor.offset,
        skew_ppb: chained(relative.skew_ppb, anchor.skew_ppb),
        bound: Interval { lo: relative.bound.lo + anchor.bound.lo, hi: relative.bound.hi + anchor.bound.hi },
        skew_bound_ppb: (
            chained(relative.skew_bound_ppb.0, anchor.skew_bound_ppb.0),
            chained(relative.skew_bound_ppb.1, anchor.skew_bound_ppb.1),
        ),
        sigma_ns: relative.sigma_ns.hypot(anchor.sigma_ns),
        degraded: relative.degraded || anchor.degraded,
        ..relative
    }
}
