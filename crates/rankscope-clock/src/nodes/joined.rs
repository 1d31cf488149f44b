//! One map of a clock that was set during the run.
//!
//! Between jumps a clock has a map each ([`Stretch`]); a trace has events on both sides, and asks for one. A map is continuous and no
//! steeper than two to one, so that about a jump it bends from the one stretch to the other: from as long before as the jump asks
//! for to as long after. What is read there may be of either stretch, and its uncertainty says so; all other readings are as
//! good as those of a clock that was never set. A jump that leaves no room for that between its neighbours is refused.

use rankscope_time::{ClockMap, HostClock, Knot, Rate, ReferenceClock, Span};

use super::stretch::Stretch;
use crate::HostInstant;

/// The map of all `stretches`, in their order; none where jumps leave too little of one of them.
pub fn joined(stretches: &[Stretch]) -> Option<ClockMap<HostClock, ReferenceClock>> {
    let (first, rest) = stretches.split_first()?;
    let (mut knots, mut drift_bound) = knots(first)?;
    let mut last = first;
    for next in rest {
        let bend = Bend::between(last, next)?;
        let (own, drift) = self::knots(next)?;
        // Whatever was before has to be there still.
        let kept = knots.partition_point(|knot| knot.from_ns < bend.from[0].from_ns);
        let taken = own.partition_point(|knot| knot.from_ns <= bend.from[1].from_ns);
        if kept == 0 || taken == own.len() {
            return None;
        }
        knots.truncate(kept);
        knots.extend(bend.knots());
        knots.extend(&own[taken..]);
        drift_bound = if drift.as_ppb() > drift_bound.as_ppb() { drift } else { drift_bound };
        last = next;
    }
    ClockMap::from_knots(knots, drift_bound).ok()
}

/// The knots of a stretch and its drift: a stretch is one stage.
fn knots(stretch: &Stretch) -> Option<(Vec<Knot>, Rate)> {
    let stage = stretch.map.stages().into_iter().next()?;
    Some((stage.knots, stage.drift_bound))
}

/// From one stretch to the next.
struct Bend {
    /// Where it leaves the one and where it meets the other.
    from: [Knot; 2],
    /// How far the two are apart.
    apart_ns: u64,
}

/// Twice the jump would be the steepest that a map may be; a little more leaves room for rates.
const LONGER_PER_MILLE: i64 = 20;

/// And for rounding.
const LONGER_NS: i64 = 1_000;

impl Bend {
    fn between(before: &Stretch, after: &Stretch) -> Option<Self> {
        let (until, from) = (before.until?, after.from?);
        let gained_ns = before.map.map(until).nanos_since_epoch().checked_sub(after.map.map(until).nanos_since_epoch())?;
        // A jump that nobody saw was anywhere between the last round before it and the first after it, and where it went back
        // readings of the one stretch are among those of the other.
        let back = Span::from_nanos(gained_ns.min(0));
        let unseen = (until == from).then_some([before.known.1 + back, after.known.0 - back]);
        let [lo, hi] = unseen.unwrap_or([until.min(from), until.max(from)]);
        let least_ns = gained_ns.checked_abs()?.checked_mul(if gained_ns > 0 { 2 } else { 1 })?;
        let least_ns = least_ns.checked_add(least_ns / 1_000 * LONGER_PER_MILLE + LONGER_NS)?;
        let more_ns = least_ns.saturating_sub((hi - lo).as_nanos()).max(0);
        let (lo, hi) = (lo - Span::from_nanos(more_ns / 2), hi + Span::from_nanos(more_ns - more_ns / 2));
        let from = [knot(before, lo), knot(after, hi)];
        let apart_ns =
            [lo, hi].map(|at| before.map.map(at).nanos_since_epoch().abs_diff(after.map.map(at).nanos_since_epoch()));
        Some(Self { from, apart_ns: apart_ns[0].max(apart_ns[1]) })
    }

    /// Its ends, and beside them how uncertain it is in between.
    fn knots(&self) -> [Knot; 4] {
        let [first, last] = self.from;
        let uncertainty_ns = self.apart_ns.saturating_add(first.uncertainty_ns.max(last.uncertainty_ns));
        let beside = |knot: Knot, by_ns: i64| Knot { from_ns: knot.from_ns + by_ns, to_ns: knot.to_ns + by_ns, uncertainty_ns };
        [first, beside(first, 1), beside(last, -1), last]
    }
}

/// The stretch's map where the node reads `at`.
fn knot(stretch: &Stretch, at: HostInstant) -> Knot {
    Knot {
        from_ns: at.nanos_since_epoch(),
        to_ns: stretch.map.map(at).nanos_since_epoch(),
        uncertainty_ns: stretch.map.uncertainty_ns(at),
    }
}
