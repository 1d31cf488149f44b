//! Whether both halves of a stretch say the same of its middle.
//!
//! A step smaller than the round trip contradicts nothing: one line still fits, in a band that is narrower by the step, and the
//! bounds of that line may exclude the truth. But in the middle either what came before it or what came after it is untouched
//! by a single step, wherever the step is. So the middle is seen from each half alone, and where one of them puts it at the
//! edge of what the whole leaves possible, or beyond, the whole proves nothing. A half too coarse to tell says nothing, and what
//! that means is for the caller to say.

use super::band::Hulls;
use super::guarantee::Guarantee;
use super::{Clouds, FitOptions, Point};
use crate::{EdgeFit, Exchange};

/// What the halves say of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halves {
    /// Both put the middle well within what the whole allows.
    Agree,
    /// At least one of them is too coarse to say.
    Unsure,
    /// One puts the middle where the whole hardly allows it.
    Disagree,
}

/// A half that leaves open more than this many of its own round trips does not know where the middle is.
const COARSE: i64 = 3;
/// The outer parts of what the whole allows, in parts of its width, where no half may see the middle. A step is seen before it
/// has moved the truth out.
const RIM_PARTS: i64 = 5;

/// Asks both halves of `exchanges`, over which `fit` is the line.
pub(super) fn ask(exchanges: &[Exchange], fit: &EdgeFit, options: &FitOptions) -> Halves {
    let clouds = Clouds::of(exchanges);
    let [lo_ns, hi_ns] = [fit.bound.lo, fit.bound.hi].map(|end| end.as_nanos().saturating_sub(clouds.base_ns));
    let rim_ns = hi_ns.saturating_sub(lo_ns) / RIM_PARTS;
    let inner = lo_ns.saturating_add(rim_ns)..=hi_ns.saturating_sub(rim_ns);
    let seen = [-1, 1].map(|sign| half(&clouds, sign).middle_ns(options));
    match seen {
        _ if seen.iter().flatten().any(|ns| !inner.contains(ns)) => Halves::Disagree,
        [Some(_), Some(_)] => Halves::Agree,
        _ => Halves::Unsure,
    }
}

/// The points left of the middle (`sign` -1) or right of it, about the same origin.
fn half(clouds: &Clouds, sign: i64) -> Clouds {
    let side = |points: &[Point]| points.iter().copied().filter(|point| point.x.signum() == sign).collect();
    clouds.with_points(side(&clouds.upper), side(&clouds.lower))
}

impl Clouds {
    /// The difference at 0 as these points alone have it; none where they leave too much open.
    fn middle_ns(&self, options: &FitOptions) -> Option<i64> {
        let possible = Guarantee::of(self, options)?;
        let band = Hulls::of(self).widest(options.slopes(), None)?;
        let open_ns = possible.hi_ns.saturating_sub(possible.lo_ns);
        (open_ns <= band.width().max(1).saturating_mul(COARSE)).then(|| band.middle_at_zero())
    }
}
