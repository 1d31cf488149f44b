//! What the difference of two clocks can be at all.
//!
//! No clock is a line. All that is assumed is that no packet arrives before it is sent and that the skew changes by at most `K`
//! a second. Then at a distance `x` from the middle the difference is within `K x^2 / 2` of the line that touches it in the
//! middle, so every bound, loosened by that much, is a bound on a line; and what lines through the loosened bounds can do in
//! the middle is a linear program in two unknowns, solved exactly on their hulls. Symmetry of the path is not assumed: that
//! costs the width of a round trip.

use rankscope_time::Span;

use super::band::Hulls;
use super::{Clouds, FitOptions, Point};
use crate::{EdgeFit, HostInstant, Interval};

/// A difference of two stamps is off by up to this much because both are whole nanoseconds.
const RESOLUTION_NS: i64 = 1;

/// What is possible in the middle of the clouds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guarantee {
    /// From the clouds' base.
    pub(super) lo_ns: i64,
    pub(super) hi_ns: i64,
    pub(super) skews_ppb: (f64, f64),
}

impl Guarantee {
    /// None where the bounds contradict each other.
    pub(super) fn of(clouds: &Clouds, options: &FitOptions) -> Option<Self> {
        let hulls = loosened(clouds, options);
        let slopes = hulls.feasible(options.slopes())?;
        let (lo_ns, hi_ns) = hulls.range_at_zero(slopes);
        Some(Self { lo_ns, hi_ns, skews_ppb: (slopes.0.ppb().next_down(), slopes.1.ppb().next_up()) })
    }

    /// Wider by `margin_ns` on both sides, for bounds that may themselves be off by so much.
    pub(super) fn widened(self, margin_ns: i64, reach_ns: i64) -> Self {
        let tilt_ppb = 2.0 * margin_ns as f64 / reach_ns.max(1) as f64 * 1e9;
        Self {
            lo_ns: self.lo_ns.saturating_sub(margin_ns),
            hi_ns: self.hi_ns.saturating_add(margin_ns),
            skews_ppb: (self.skews_ppb.0 - tilt_ppb, self.skews_ppb.1 + tilt_ppb),
        }
    }
}

impl EdgeFit {
    /// What `dst - src` can be at another instant than `mid`, given that the skew changes by at most `skew_change_ppb_per_s`.
    /// Wider the further away.
    pub fn bound_at(&self, at: HostInstant, skew_change_ppb_per_s: u32) -> Interval {
        let away_ns = (at - self.mid).as_nanos();
        let bend = Span::from_nanos(bend_ns(skew_change_ppb_per_s, away_ns));
        let (one, other) = (self.skew_bound_ppb.0 * 1e-9 * away_ns as f64, self.skew_bound_ppb.1 * 1e-9 * away_ns as f64);
        let (down, up) = (Span::from_nanos(one.min(other).floor() as i64), Span::from_nanos(one.max(other).ceil() as i64));
        Interval { lo: self.bound.lo + down - bend, hi: self.bound.hi + up + bend }
    }

    /// The line at another instant than `mid`.
    pub fn offset_at(&self, at: HostInstant) -> Span {
        self.offset + Span::from_nanos((self.skew_ppb * 1e-9 * (at - self.mid).as_nanos() as f64).round() as i64)
    }
}

/// Hulls of the bounds on the line that touches the difference in the middle.
pub(super) fn loosened(clouds: &Clouds, options: &FitOptions) -> Hulls {
    let lift = |x: i64| bend_ns(options.skew_change_ppb_per_s, x).saturating_add(RESOLUTION_NS);
    let mut hulls = Hulls::default();
    clouds.upper.iter().for_each(|point| hulls.push_upper(Point { y: point.y + lift(point.x), ..*point }));
    clouds.lower.iter().for_each(|point| hulls.push_lower(Point { y: point.y - lift(point.x), ..*point }));
    hulls
}

/// How far a clock can leave its tangent within `x`, rounded up.
pub(super) fn bend_ns(skew_change_ppb_per_s: u32, x_ns: i64) -> i64 {
    let twice = u128::from(skew_change_ppb_per_s) * u128::from(x_ns.unsigned_abs()).pow(2);
    i64::try_from(twice.div_ceil(2_000_000_000_000_000_000)).unwrap_or(i64::MAX)
}
