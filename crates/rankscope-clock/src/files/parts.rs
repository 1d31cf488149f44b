//! A line of an edge in a file: what we add to the origin's `alpha` and `beta`.
//!
//! The origin's line is `theta(t) = alpha * (t - window_start) + beta`. Ours is anchored in the middle of its own data, where
//! it is known best, and carries its bounds; both are written, and where ours is there it counts. A bound that is not there
//! is no bound: of an offset it reaches as far as 64 bits do, of a skew as far as anyone would believe.

use rankscope_time::Span;
use serde::{Deserialize, Serialize};

use super::nanos::Nanos;
use crate::{EdgeFit, HostInstant, Interval, NoFit};

/// The origin's view of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct AlphaBeta {
    pub(super) start: HostInstant,
    pub(super) end: HostInstant,
    pub(super) alpha: f64,
    pub(super) beta: Span,
    pub(super) pairs: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PartRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    start_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x0_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_lo_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_hi_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_lo_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skew_hi_ppb: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_min_ns: Option<Nanos>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points_fwd: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points_rev: Option<u32>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exchanges: Option<u32>,
}

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reason {
    TooFewExchanges,
    OneDirection,
    Contradiction,
}

impl PartRow {
    pub(super) fn of(fit: &Result<EdgeFit, NoFit>) -> Self {
        match fit {
            Ok(fit) => Self::of_line(fit),
            Err(none) => {
                let (reason, exchanges) = match *none {
                    NoFit::TooFewExchanges(exchanges) => (Reason::TooFewExchanges, Some(exchanges)),
                    NoFit::OneDirection => (Reason::OneDirection, None),
                    NoFit::Contradiction => (Reason::Contradiction, None),
                };
                Self { reason: Some(reason), exchanges, ..Self::default() }
            }
        }
    }

    fn of_line(fit: &EdgeFit) -> Self {
        let ns = |at: HostInstant| Some(Nanos(at.nanos_since_epoch()));
        Self {
            start_ns: ns(fit.start),
            end_ns: ns(fit.end),
            x0_ns: ns(fit.mid),
            offset_ns: Some(Nanos(fit.offset.as_nanos())),
            skew_ppb: Some(fit.skew_ppb),
            sigma_ns: finite(fit.sigma_ns),
            bound_lo_ns: bounded(fit.bound.lo),
            bound_hi_ns: bounded(fit.bound.hi),
            skew_lo_ppb: believable(fit.skew_bound_ppb.0),
            skew_hi_ppb: believable(fit.skew_bound_ppb.1),
            rtt_min_ns: bounded(fit.rtt_min),
            points_fwd: Some(fit.points_forward),
            points_rev: Some(fit.points_reverse),
            degraded: fit.degraded,
            reason: None,
            exchanges: None,
        }
    }

    /// The line, completed from the origin's fields where ours are missing.
    pub(super) fn fit(&self, origin: &AlphaBeta) -> Result<Result<EdgeFit, NoFit>, String> {
        if let Some(reason) = self.reason {
            return Ok(Err(match reason {
                Reason::TooFewExchanges => NoFit::TooFewExchanges(self.exchanges.unwrap_or(origin.pairs)),
                Reason::OneDirection => NoFit::OneDirection,
                Reason::Contradiction => NoFit::Contradiction,
            }));
        }
        let instant = |ns: Option<Nanos>, or: HostInstant| ns.map_or(or, |ns| HostInstant::from_nanos_since_epoch(ns.0));
        let span = |ns: Option<Nanos>, or: Span| ns.map_or(or, |ns| Span::from_nanos(ns.0));
        let (start, end) = (instant(self.start_ns, origin.start), instant(self.end_ns, origin.end));
        let fit = EdgeFit {
            start,
            end,
            mid: instant(self.x0_ns, origin.start),
            offset: span(self.offset_ns, origin.beta),
            skew_ppb: self.skew_ppb.unwrap_or(origin.alpha * 1e9),
            bound: interval(self.bound_lo_ns, self.bound_hi_ns)?,
            skew_bound_ppb: rates(self.skew_lo_ppb, self.skew_hi_ppb),
            sigma_ns: self.sigma_ns.unwrap_or(SIGMA_UNKNOWN_NS),
            rtt_min: span(self.rtt_min_ns, Span::MAX),
            points_forward: self.points_fwd.unwrap_or(origin.pairs),
            points_reverse: self.points_rev.unwrap_or(origin.pairs),
            degraded: self.degraded,
        };
        if end < start { Err("a line ends before it starts".to_owned()) } else { Ok(Ok(fit)) }
    }
}

/// A file of the origin does not say how good its lines are; this makes them all alike.
const SIGMA_UNKNOWN_NS: f64 = 1_000.0;

/// No clock runs at half the rate of another, so this bounds nothing, and it is finite, as estimators need it.
const SKEW_UNKNOWN_PPB: f64 = 5e8;

/// A bound of a skew, or none if it bounds nothing.
pub(super) fn believable(skew_ppb: f64) -> Option<f64> {
    (skew_ppb.abs() < SKEW_UNKNOWN_PPB).then_some(skew_ppb)
}

/// What lies between two bounds of a skew.
pub(super) fn rates(lo: Option<f64>, hi: Option<f64>) -> (f64, f64) {
    (lo.unwrap_or(-SKEW_UNKNOWN_PPB), hi.unwrap_or(SKEW_UNKNOWN_PPB))
}

/// No number in JSON is infinite.
pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// A bound, or none if it bounds nothing.
pub(super) fn bounded(span: Span) -> Option<Nanos> {
    let ns = span.as_nanos();
    (ns > i64::MIN && ns < i64::MAX).then_some(Nanos(ns))
}

/// What lies between two bounds.
pub(super) fn interval(lo: Option<Nanos>, hi: Option<Nanos>) -> Result<Interval, String> {
    let (lo, hi) = (lo.map_or(i64::MIN, |lo| lo.0), hi.map_or(i64::MAX, |hi| hi.0));
    if lo > hi {
        return Err(format!("a lower bound of {lo} ns lies above its upper bound of {hi} ns"));
    }
    Ok(Interval { lo: Span::from_nanos(lo), hi: Span::from_nanos(hi) })
}
