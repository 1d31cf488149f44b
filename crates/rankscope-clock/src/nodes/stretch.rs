//! From estimates at instants to maps that hold in between.
//!
//! A map is as good as a promise only while the clock runs on as it ran. Where it jumped one stretch ends and another begins,
//! whether an edge saw the jump or successive estimates leave no other explanation. Within a stretch the promise is the bound of
//! each estimate, as seen from the value that the map takes; between estimates a bend of the clock is added, and beyond them
//! the drift that skew bounds leave open.

use rankscope_time::{ClockMap, HostClock, Knot, MapError, Rate, ReferenceClock, Span};

use super::{NodeEstimate, NodeStep};
use crate::{HostInstant, Interval};

/// A clock while it did not jump.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// From where on, on the node's clock; none where nothing is known of an end.
    pub from: Option<HostInstant>,
    /// Up to where.
    pub until: Option<HostInstant>,
    /// When the first and the last of its rounds were, on the node's clock.
    pub known: (HostInstant, HostInstant),
    /// Takes the node's time to the reference's.
    pub map: ClockMap<HostClock, ReferenceClock>,
    /// Some estimate was, so uncertainties are no proof.
    pub degraded: bool,
}

/// How long a lone estimate is drawn on to have a second knot.
const DRAWN_ON_NS: i64 = 1_000_000_000;

/// Estimates of one stretch, and where it begins and ends.
#[derive(Debug, Default)]
pub(super) struct Run<'a> {
    pub(super) from: Option<HostInstant>,
    pub(super) until: Option<HostInstant>,
    pub(super) estimates: Vec<&'a NodeEstimate>,
}

/// Splits the estimates of one node, each with the jumps of its round, at jumps.
pub(super) fn runs<'a>(rounds: &[(&'a NodeEstimate, &[&NodeStep])], change_ppb_per_s: u32) -> Vec<Run<'a>> {
    let mut runs = Vec::new();
    let mut run = Run::default();
    for (estimate, steps) in rounds {
        for step in steps.iter().filter(|step| step.at <= estimate.at) {
            run = run.ended(step, &mut runs);
        }
        if let Some(last) = run.estimates.last().filter(|last| jumped(last, estimate, change_ppb_per_s)) {
            let between = last.at + Span::from_nanos((estimate.at - last.at).as_nanos() / 2);
            runs.push(Run { until: Some(between), ..run });
            run = Run { from: Some(between), ..Run::default() };
        }
        run.estimates.push(estimate);
        for step in steps.iter().filter(|step| step.at > estimate.at) {
            run = run.ended(step, &mut runs);
        }
    }
    runs.push(run);
    runs.retain(|run| !run.estimates.is_empty());
    runs
}

impl<'a> Run<'a> {
    fn ended(self, step: &NodeStep, runs: &mut Vec<Self>) -> Run<'a> {
        runs.push(Run { until: Some(step.at), ..self });
        Run { from: Some(step.at + step.size), ..Run::default() }
    }
}

/// Whether no skew within the bounds leads from one estimate to the next.
pub(super) fn jumped(last: &NodeEstimate, next: &NodeEstimate, change_ppb_per_s: u32) -> bool {
    let elapsed_ns = (next.at - last.at).as_nanos();
    if elapsed_ns <= 0 {
        return true;
    }
    let change = f64::from(change_ppb_per_s) * 1e-9 * elapsed_ns as f64;
    let least = last.skew_bound_ppb.0.min(next.skew_bound_ppb.0) - change;
    let most = last.skew_bound_ppb.1.max(next.skew_bound_ppb.1) + change;
    let over = |skew_ppb: f64| skew_ppb / (1e9 + skew_ppb) * elapsed_ns as f64;
    let gained = Interval { lo: next.bound.lo - last.bound.hi, hi: next.bound.hi - last.bound.lo };
    (gained.hi.as_nanos() as f64) < over(least) - 1.0 || (gained.lo.as_nanos() as f64) > over(most) + 1.0
}

/// The map through `estimates`, which take the values `offsets`; skews change by at most `change_ppb_per_s`.
pub(super) fn map(
    estimates: &[&NodeEstimate],
    offsets: &[Span],
    change_ppb_per_s: u32,
) -> Result<ClockMap<HostClock, ReferenceClock>, MapError> {
    let gap_s = |pair: &[&NodeEstimate]| (pair[1].at - pair[0].at).as_nanos() as f64 * 1e-9;
    let gaps_s: Vec<f64> = estimates.windows(2).map(gap_s).collect();
    let change = f64::from(change_ppb_per_s);
    let mut knots: Vec<Knot> = Vec::with_capacity(estimates.len() + 1);
    for (place, (estimate, offset)) in estimates.iter().zip(offsets).enumerate() {
        let around = &gaps_s[place.saturating_sub(1)..gaps_s.len().min(place + 1)];
        let gap_s = around.iter().copied().fold(0.0, f64::max);
        // A path whose slope changes by so much a second leaves its chord by at most this.
        let bent_ns = (change * gap_s * gap_s / 8.0).ceil() as u64;
        knots.push(knot(estimate, *offset, bent_ns));
    }
    if let ([estimate], [first]) = (estimates, knots.as_slice()) {
        let gained_ns = (estimate.skew_ppb / (1e9 + estimate.skew_ppb) * DRAWN_ON_NS as f64).round() as i64;
        let open_ns = (open_ppb(estimate, estimate.skew_ppb) + change) * 1e-9 * DRAWN_ON_NS as f64;
        knots.push(Knot {
            from_ns: first.from_ns.saturating_add(DRAWN_ON_NS),
            to_ns: first.to_ns.saturating_add(DRAWN_ON_NS.saturating_sub(gained_ns)),
            uncertainty_ns: first.uncertainty_ns.saturating_add(open_ns.ceil() as u64),
        });
    }
    ClockMap::from_knots(knots.clone(), drift_bound(estimates, &knots, change))
}

/// Half the interval that the truth is known to be in, seen from `offset`.
fn knot(estimate: &NodeEstimate, offset: Span, bent_ns: u64) -> Knot {
    let off = (estimate.bound.hi - offset).as_nanos().max((offset - estimate.bound.lo).as_nanos()).max(0);
    Knot {
        from_ns: estimate.at.nanos_since_epoch(),
        to_ns: (estimate.at - offset).nanos_since_epoch(),
        uncertainty_ns: off.unsigned_abs().saturating_add(bent_ns),
    }
}

/// What the clock may drift from the map's first and last line, for as long again as the longer of the two.
fn drift_bound(estimates: &[&NodeEstimate], knots: &[Knot], change: f64) -> Rate {
    let ends = [estimates.first().zip(knots.first_chunk::<2>()), estimates.last().zip(knots.last_chunk::<2>())];
    let open = ends.into_iter().flatten().map(|(estimate, [a, b])| {
        let (run, rise) = (b.from_ns.saturating_sub(a.from_ns) as f64, b.to_ns.saturating_sub(a.to_ns) as f64);
        let skew_ppb = (run / rise - 1.0) * 1e9;
        open_ppb(estimate, skew_ppb) + 2.0 * change * run * 1e-9
    });
    Rate::from_ppb((open.fold(0.0, f64::max).ceil() as i64).saturating_add(1))
}

/// How far the skew may be from `skew_ppb`.
fn open_ppb(estimate: &NodeEstimate, skew_ppb: f64) -> f64 {
    (estimate.skew_bound_ppb.1 - skew_ppb).max(skew_ppb - estimate.skew_bound_ppb.0).max(0.0)
}
