//! One line for one stretch of time, or the reason why there is none.

use rankscope_time::Span;

use super::band::{Band, Hulls};
use super::guarantee::{self, Guarantee};
use super::slope::Slope;
use super::trimmed::Trimmed;
use super::{Clouds, Estimator, FitOptions, svm};
use crate::{EdgeFit, Exchange, Interval, NoFit, Passage};

/// Stamps are taken to be early by up to this many times the median of the offenders: of exponential errors, one in sixteen is
/// worse, and a worse one would have been left out.
const MARGIN_MEDIANS: f64 = 4.0;
/// No stamp is early by so much; a clock is.
const STAMP_ERROR_MAX_NS: f64 = 100_000.0;

/// Fits one line to all of `exchanges`. `near` breaks ties between slopes.
pub(super) fn fit(exchanges: &[Exchange], near: Option<Slope>, options: &FitOptions) -> Result<EdgeFit, NoFit> {
    let clouds = Clouds::of(exchanges);
    enough(exchanges, &clouds, options)?;
    let hulls = Hulls::of(&clouds);
    let widest = hulls.widest(options.slopes(), near).ok_or(NoFit::OneDirection)?;
    let trimmed = Trimmed::from_slope(&clouds, options.slopes(), widest.slope);
    let trimmed = match trimmed {
        Some(found) if options.estimator == Estimator::Robust || found.may_be_tilted() => {
            Some(found.or_from_quantiles(&clouds, options.slopes()))
        }
        found => found,
    };
    let honest = Guarantee::of(&clouds, options);
    let bend_ns = 2.0 * guarantee::bend_ns(options.skew_change_ppb_per_s, clouds.reach.1) as f64;
    let lies = |trimmed: &Trimmed| trimmed.is_suspicious() && !is_bend(&clouds, trimmed, bend_ns);
    let suspect = trimmed.as_ref().filter(|trimmed| honest.is_none() || lies(trimmed));
    let (guarantee, robust) = match (honest, suspect) {
        // Offenders in a stretch of their own that no line joins to the rest are a clock that changed.
        (None, Some(trimmed)) if is_change(&clouds, trimmed) => return Err(NoFit::Contradiction),
        (_, Some(trimmed)) => (trust_the_rest(&clouds, trimmed, options).ok_or(NoFit::Contradiction)?, Some(trimmed)),
        (Some(honest), None) => (honest, trimmed.as_ref().filter(|_| options.estimator == Estimator::Robust)),
        (None, None) => return Err(NoFit::Contradiction),
    };
    let band = robust.map_or(widest, |trimmed| trimmed.band);
    let (offset_ns, skew_ppb) = match options.estimator {
        Estimator::Svm => svm::fit(exchanges, &clouds).ok_or(NoFit::OneDirection)?,
        _ => (band.middle_at_zero(), band.slope.ppb()),
    };
    let difference = |ns: i64| Span::from_nanos(clouds.base_ns) + Span::from_nanos(ns);
    Ok(EdgeFit {
        start: clouds.start(),
        end: clouds.end(),
        mid: clouds.mid(),
        offset: difference(offset_ns),
        skew_ppb,
        bound: Interval { lo: difference(guarantee.lo_ns), hi: difference(guarantee.hi_ns) },
        skew_bound_ppb: guarantee.skews_ppb,
        sigma_ns: sigma_ns(&band, trimmed.as_ref()),
        // Lines that have changed places within what clocks bend have no round trip between them, not a negative one.
        rtt_min: Span::from_nanos(band.width().max(0)),
        points_forward: clouds.upper.len() as u32,
        points_reverse: clouds.lower.len() as u32,
        degraded: suspect.is_some(),
    })
}

fn enough(exchanges: &[Exchange], clouds: &Clouds, options: &FitOptions) -> Result<(), NoFit> {
    let least = options.exchanges_min as usize;
    let points = clouds.upper.len().max(clouds.lower.len());
    if clouds.upper.is_empty() != clouds.lower.is_empty() && points >= 2 * least {
        return Err(NoFit::OneDirection);
    }
    let passed = |passage: &Passage| passage.sent.is_some() && passage.received.is_some();
    let complete = exchanges.iter().filter(|exchange| exchange.forward.iter().chain(&exchange.reverse).all(passed)).count();
    match complete < least || clouds.upper.is_empty() || clouds.lower.is_empty() {
        true => Err(NoFit::TooFewExchanges(complete as u32)),
        false => Ok(()),
    }
}

/// The guarantee from all but the offenders, with a margin for those that were not found.
fn trust_the_rest(clouds: &Clouds, trimmed: &Trimmed, options: &FitOptions) -> Option<Guarantee> {
    let rest = Guarantee::of(&trimmed.clouds, options)?;
    let mut depths_ns = trimmed.depths_ns(clouds);
    depths_ns.sort_unstable_by(f64::total_cmp);
    let median_ns = depths_ns.get(depths_ns.len() / 2).copied().unwrap_or(0.0);
    let margin_ns = (MARGIN_MEDIANS * median_ns).ceil() as i64;
    Some(rest.widened(margin_ns, clouds.reach.1 - clouds.reach.0))
}

/// Whether the offenders are side by side, or further out than any stamp lies.
fn is_change(clouds: &Clouds, trimmed: &Trimmed) -> bool {
    trimmed.depths_ns(clouds).iter().any(|depth_ns| *depth_ns > STAMP_ERROR_MAX_NS) || trimmed.is_cluster(clouds)
}

/// Whether the offenders are what a bending clock looks like: in a row at one end, and no deeper than clocks bend.
fn is_bend(clouds: &Clouds, trimmed: &Trimmed, bend_ns: f64) -> bool {
    trimmed.is_cluster(clouds) && trimmed.depths_ns(clouds).iter().all(|depth_ns| *depth_ns <= bend_ns)
}

/// Where there were too few points to see a spread, the width of the band is all there is to go by.
fn sigma_ns(band: &Band, trimmed: Option<&Trimmed>) -> f64 {
    trimmed.map_or_else(|| band.width().max(0) as f64 / 12.0f64.sqrt(), Trimmed::sigma_ns)
}
