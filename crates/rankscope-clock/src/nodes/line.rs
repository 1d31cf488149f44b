//! What one edge says of two clocks, evaluated where it is wanted.
//!
//! A line is a function of its source's clock: `dst - src = offset + skew * (src - mid)`. It is evaluated at the source's own
//! reading of the common instant and never at an absolute time of another clock, or a skew of 10 ppm between clocks a second
//! apart would put 10 us into every edge. Readings are integers; floats hold what a line gains over less than a window.

use rankscope_time::Rate;

use super::SolveOptions;
use crate::{EdgeFit, EdgeRecord, HostInstant, NodeId, NodeWindow};

/// A usable edge: the lines of its window, not yet chosen from.
#[derive(Debug)]
pub(super) struct Track<'a> {
    pub(super) record: &'a EdgeRecord,
    pieces: Vec<&'a EdgeFit>,
}

/// An edge's line between two places of the tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    pub(super) record: &'a EdgeRecord,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) fit: &'a EdgeFit,
    /// The bound is a proof.
    pub(super) sound: bool,
}

/// The edges worth listening to.
pub(super) fn usable<'a>(windows: &'a [NodeWindow], options: &SolveOptions) -> Vec<Track<'a>> {
    let records = windows.iter().flat_map(|window| &window.edges);
    let tracks = records.filter(|record| record.edge.src != record.edge.dst && heard(record, options)).map(|record| {
        let sane = |fit: &&EdgeFit| is_sane(fit, options.skew_max);
        Track { record, pieces: record.fits.iter().flatten().filter(sane).collect() }
    });
    tracks.filter(|track| !track.pieces.is_empty()).collect()
}

fn heard(record: &EdgeRecord, options: &SolveOptions) -> bool {
    let counts = &record.counts;
    // A complete exchange is two packets in each direction.
    let arrived = 2.0 * f64::from(counts.complete);
    let ratio = |lost: u32| f64::from(lost) / (f64::from(lost) + arrived).max(1.0);
    counts.complete >= options.pairs_min && ratio(counts.lost_forward.max(counts.lost_reverse)) <= options.loss_ratio_max
}

fn is_sane(fit: &EdgeFit, skew_max: Rate) -> bool {
    let (least, most) = fit.skew_bound_ppb;
    let finite = fit.sigma_ns.is_finite() && least.is_finite() && most.is_finite();
    finite
        && fit.skew_ppb.abs() <= skew_max.as_ppb() as f64
        && least <= most
        && fit.bound.lo <= fit.bound.hi
        && fit.start <= fit.end
}

impl<'a> Track<'a> {
    /// The line that holds where `src` reads `src_ns`: its own, or the nearest where none is.
    pub(super) fn at_src(&self, src_ns: i64) -> &'a EdgeFit {
        self.nearest(|_| src_ns)
    }

    /// The line that holds where `dst` reads `dst_ns`.
    pub(super) fn at_dst(&self, dst_ns: i64) -> &'a EdgeFit {
        self.nearest(|fit| src_reading(fit, dst_ns))
    }

    /// Whether the bound of `fit` may be carried to where `src` reads `src_ns`. A step may lie beyond the ends of a line, so it
    /// vouches for nothing but itself; and a clock that was set back reads the same twice, under two lines.
    pub(super) fn vouches(&self, fit: &EdgeFit, src_ns: i64) -> bool {
        !fit.degraded && holds(fit, src_ns) && !self.is_repeated(src_ns)
    }

    /// Whether `src` is known to have read `src_ns` more than once.
    fn is_repeated(&self, src_ns: i64) -> bool {
        self.lines().filter(|fit| holds(fit, src_ns)).count() > 1
    }

    /// Whether `node_ns` lies where `node` may have read it twice or never: between two lines, of which neither is known to hold
    /// there. The other clock tells how long it took from one line to the next; in that time `node` went on from the one, and
    /// arrived at the other.
    pub(super) fn is_between_lines(&self, node: NodeId, node_ns: i64) -> bool {
        let is_src = node == self.record.edge.src;
        let own_and_other = |fit: &EdgeFit, at: HostInstant| {
            let src_ns = at.nanos_since_epoch();
            if is_src { (src_ns, dst_reading(fit, src_ns)) } else { (dst_reading(fit, src_ns), src_ns) }
        };
        let lines: Vec<&EdgeFit> = self.lines().collect();
        lines.windows(2).any(|pair| {
            let (last_ns, other_last_ns) = own_and_other(pair[0], pair[0].end);
            let (first_ns, other_first_ns) = own_and_other(pair[1], pair[1].start);
            let took_ns = other_first_ns.saturating_sub(other_last_ns).max(0);
            let went_on_ns = last_ns..=last_ns.saturating_add(took_ns);
            let arrived_ns = first_ns.saturating_sub(took_ns)..=first_ns;
            let (earliest_ns, latest_ns) =
                (*went_on_ns.start().min(arrived_ns.start()), *went_on_ns.end().max(arrived_ns.end()));
            (earliest_ns..=latest_ns).contains(&node_ns)
        })
    }

    fn lines(&self) -> impl Iterator<Item = &'a EdgeFit> {
        self.record.fits.iter().flatten()
    }

    fn nearest(&self, src_ns: impl Fn(&EdgeFit) -> i64) -> &'a EdgeFit {
        let distance = |fit: &EdgeFit| {
            let at = src_ns(fit);
            at.abs_diff(at.clamp(fit.start.nanos_since_epoch(), fit.end.nanos_since_epoch()))
        };
        self.pieces.iter().copied().min_by_key(|fit| distance(fit)).expect("a track has at least one piece")
    }
}

/// Whether `fit` was fitted over where `src` reads `src_ns`.
fn holds(fit: &EdgeFit, src_ns: i64) -> bool {
    (fit.start.nanos_since_epoch()..=fit.end.nanos_since_epoch()).contains(&src_ns)
}

/// What `dst` reads when `src` reads `src_ns`.
pub(super) fn dst_reading(fit: &EdgeFit, src_ns: i64) -> i64 {
    src_ns.saturating_add(fit.offset.as_nanos()).saturating_add(gained_ns(fit, src_ns).round() as i64)
}

/// What `src` reads when `dst` reads `dst_ns`.
pub(super) fn src_reading(fit: &EdgeFit, dst_ns: i64) -> i64 {
    let as_if_even = dst_ns.saturating_sub(fit.offset.as_nanos());
    let gained = fit.skew_ppb / (1e9 + fit.skew_ppb) * since_mid(fit, as_if_even);
    as_if_even.saturating_sub(gained.round() as i64)
}

/// What the line expects of `dst` beyond its reading.
pub(super) fn surplus_ns(fit: &EdgeFit, src_ns: i64, dst_ns: i64) -> f64 {
    src_ns.saturating_add(fit.offset.as_nanos()).saturating_sub(dst_ns) as f64 + gained_ns(fit, src_ns)
}

/// What `dst` gained on `src` from the middle of the line to where `src` reads `src_ns`.
fn gained_ns(fit: &EdgeFit, src_ns: i64) -> f64 {
    fit.skew_ppb * 1e-9 * since_mid(fit, src_ns)
}

fn since_mid(fit: &EdgeFit, src_ns: i64) -> f64 {
    src_ns.saturating_sub(fit.mid.nanos_since_epoch()) as f64
}

impl Line<'_> {
    /// What the line expects of `dst` beyond its reading.
    pub(super) fn surplus_ns(&self, readings: &[i64]) -> f64 {
        let (src_ns, dst_ns) = self.ends(readings);
        surplus_ns(self.fit, src_ns, dst_ns)
    }

    /// One standard deviation of the line where `src` reads `src_ns`, as if it had been fitted by least squares to points
    /// spread evenly over its window.
    pub(super) fn sigma_ns(&self, src_ns: i64) -> f64 {
        let away = since_mid(self.fit, src_ns) / self.length_ns();
        self.floored_sigma_ns() * (1.0 + 12.0 * away * away).sqrt()
    }

    /// One standard deviation of the skew, on the same assumption.
    pub(super) fn skew_sigma_ppb(&self) -> f64 {
        self.floored_sigma_ns() * 12f64.sqrt() * 1e9 / self.length_ns()
    }

    /// What the line's skew is as an addend: rates multiply along a path, their logarithms add.
    pub(super) fn log_rate_ppb(&self) -> f64 {
        log_rate_ppb(self.fit.skew_ppb)
    }

    /// What `dst - src` can be at all where `src` reads `src_ns`, given that the skew changes by at most `change` in a second.
    pub(super) fn interval_ns(&self, src_ns: i64, change_ppb_per_s: u32) -> (i64, i64) {
        let away_ns = since_mid(self.fit, src_ns);
        let (least_ppb, most_ppb) = self.skew_bound_ppb(change_ppb_per_s);
        let bent = f64::from(change_ppb_per_s) * 0.5e-18 * away_ns * away_ns;
        let (one, other) = (least_ppb * 1e-9 * away_ns, most_ppb * 1e-9 * away_ns);
        let lo = self.fit.bound.lo.as_nanos().saturating_add((one.min(other) - bent).floor() as i64);
        let hi = self.fit.bound.hi.as_nanos().saturating_add((one.max(other) + bent).ceil() as i64);
        (lo, hi)
    }

    /// What the skew can be at any instant of the line's window: somewhere in it the skew is that of the line, and from there
    /// it changes by no more than allowed.
    pub(super) fn skew_bound_ppb(&self, change_ppb_per_s: u32) -> (f64, f64) {
        let change = f64::from(change_ppb_per_s) * 1e-9 * self.length_ns();
        let (least, most) = self.fit.skew_bound_ppb;
        (least - change, most + change)
    }

    pub(super) fn ends(&self, readings: &[i64]) -> (i64, i64) {
        (readings[self.src as usize], readings[self.dst as usize])
    }

    fn length_ns(&self) -> f64 {
        ((self.fit.end - self.fit.start).as_nanos() as f64).max(1.0)
    }

    /// No line is better than a tenth of a nanosecond, whatever it claims: a weight must not swallow the others.
    fn floored_sigma_ns(&self) -> f64 {
        self.fit.sigma_ns.max(0.1)
    }
}

pub(super) fn log_rate_ppb(skew_ppb: f64) -> f64 {
    (skew_ppb * 1e-9).ln_1p() * 1e9
}

pub(super) fn skew_ppb(log_rate_ppb: f64) -> f64 {
    (log_rate_ppb * 1e-9).exp_m1() * 1e9
}
