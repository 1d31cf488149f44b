//! How a clock strays from a straight line, round after round.
//!
//! Offsets of seconds that drift by microseconds hide the nanoseconds that matter. Between two steps a clock is nearly a line;
//! what it strays from that line is worth looking at, and is small enough to look at.

use std::ops::Range;

use rankscope_time::Span;

use crate::HostInstant;
use crate::nodes::NodeEstimate;

/// Rounds between two steps, and the line of least squares through them.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Places in the list of estimates.
    pub rounds: Range<usize>,
    /// Where `offset` holds, on the node's clock.
    pub at: HostInstant,
    /// Of the line.
    pub offset: Span,
    /// Of the line.
    pub skew_ppb: f64,
}

impl Segment {
    /// The line at `at`.
    pub fn offset_at(&self, at: HostInstant) -> Span {
        self.offset + gained(self.skew_ppb, at - self.at)
    }
}

/// The segments of one node, whose estimates are in order of time.
pub fn segments(estimates: &[NodeEstimate]) -> Vec<Segment> {
    let steps = (1..estimates.len()).filter(|at| is_step(&estimates[at - 1], &estimates[*at]));
    let mut starts: Vec<usize> = std::iter::once(0).chain(steps).collect();
    starts.push(estimates.len());
    let ranges = starts.windows(2).map(|pair| pair[0]..pair[1]).filter(|range| !range.is_empty());
    ranges.map(|rounds| through(&estimates[rounds.clone()], rounds)).collect()
}

/// A quartz clock's rate changes by less than this from one round to the next.
const RATE_CHANGE_PPB: f64 = 500.0;

/// How far an offset without a bound is believed to be off.
const UNBOUNDED_NS: f64 = 100_000.0;

/// Whether no steady clock goes from `before` to `after`.
fn is_step(before: &NodeEstimate, after: &NodeEstimate) -> bool {
    let elapsed = after.at - before.at;
    let skew_ppb = (before.skew_ppb + after.skew_ppb) / 2.0;
    let missed_ns = (after.offset - before.offset - gained(skew_ppb, elapsed)).abs().as_nanos() as f64;
    let bent_ns = RATE_CHANGE_PPB * 1e-9 * elapsed.abs().as_nanos() as f64;
    missed_ns > bent_ns + reach_ns(before) + reach_ns(after)
}

/// How far the true offset may be from the estimate.
fn reach_ns(estimate: &NodeEstimate) -> f64 {
    let (below, above) = (estimate.offset - estimate.bound.lo, estimate.bound.hi - estimate.offset);
    (below.abs().max(above.abs()).as_nanos() as f64).min(UNBOUNDED_NS)
}

fn through(estimates: &[NodeEstimate], rounds: Range<usize>) -> Segment {
    let first = estimates[0];
    let points = || {
        estimates.iter().map(|next| ((next.at - first.at).as_nanos() as f64, (next.offset - first.offset).as_nanos() as f64))
    };
    let n = estimates.len() as f64;
    let (x_mean, y_mean) = points().fold((0.0, 0.0), |(x, y), (dx, dy)| (x + dx / n, y + dy / n));
    let (xx, xy) = points().fold((0.0, 0.0), |(xx, xy), (x, y)| {
        let dx = x - x_mean;
        (xx + dx * dx, xy + dx * (y - y_mean))
    });
    // A single round has no slope but the one that was measured in it.
    let skew_ppb = if xx > 0.0 { xy / xx * 1e9 } else { first.skew_ppb };
    let at = first.at + Span::from_nanos(x_mean.round() as i64);
    Segment { rounds, at, offset: first.offset + Span::from_nanos(y_mean.round() as i64), skew_ppb }
}

fn gained(skew_ppb: f64, elapsed: Span) -> Span {
    Span::from_nanos((skew_ppb / 1e9 * elapsed.as_nanos() as f64).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, NodeId};

    const SECOND: i64 = 1_000_000_000;

    fn estimate(at_s: i64, offset_ns: i64, skew_ppb: f64) -> NodeEstimate {
        let span = Span::from_nanos;
        NodeEstimate {
            node: NodeId(1),
            at: HostInstant::from_nanos_since_epoch(1_700_000_000 * SECOND + at_s * SECOND),
            offset: span(offset_ns),
            skew_ppb,
            bound: Interval { lo: span(offset_ns - 200), hi: span(offset_ns + 300) },
            skew_bound_ppb: (skew_ppb - 50.0, skew_ppb + 50.0),
            sigma_ns: 10.0,
            residual_ns: 0.0,
            degraded: false,
        }
    }

    #[test]
    fn seconds_of_offset_and_hours_of_drift_leave_nanoseconds() {
        let noise = [3, -5, 0, 8, -6];
        let line = |k: i64| 5 * SECOND + k * 4 * 50_000;
        let all: Vec<_> = (0..7_200).map(|k| estimate(k * 4, line(k) + noise[k as usize % 5], 50_000.0)).collect();
        let found = segments(&all);
        assert_eq!(found.len(), 1);
        assert!((found[0].skew_ppb - 50_000.0).abs() < 0.01, "{}", found[0].skew_ppb);
        for (k, estimate) in all.iter().enumerate() {
            let strays = (estimate.offset - found[0].offset_at(estimate.at)).as_nanos();
            assert!((strays - noise[k % 5]).abs() <= 1, "round {k}: {strays}");
        }
    }

    #[test]
    fn a_step_starts_a_new_line_and_wander_does_not() {
        let all: Vec<_> = (0..20)
            .map(|k| {
                let step_ns = if k >= 12 { 1_000_000 } else { 0 };
                estimate(k * 4, k * 4_000 + 900 * (k % 2) + step_ns, 1_000.0)
            })
            .collect();
        let ranges: Vec<_> = segments(&all).into_iter().map(|segment| segment.rounds).collect();
        assert_eq!(ranges, [0..12, 12..20]);
    }

    #[test]
    fn one_round_and_none() {
        assert_eq!(segments(&[]), []);
        let one = segments(&[estimate(0, 7, 12.5)]);
        assert_eq!((one[0].rounds.clone(), one[0].skew_ppb, one[0].offset.as_nanos()), (0..1, 12.5, 7));
    }
}
