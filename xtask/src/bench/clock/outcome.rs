//! What the windows of some recordings gave, under many clocks.

use rankscope_clock::EdgeFit;
use rankscope_clock::fit::WindowFit;
use rankscope_clock::replay::errors;
use rankscope_clock::simulate::SimClock;
use rankscope_time::Span;

/// Everything that the rows about recordings are made of.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) windows: usize,
    pub(super) without_line: usize,
    pub(super) degraded: usize,
    /// Fits whose bounds miss the truth.
    pub(super) uncovered: usize,
    /// Fits whose bounds are wider than the shortest round trip and the drift they allow for.
    pub(super) too_wide: usize,
    pub(super) offset_errors_ns: Vec<i64>,
    pub(super) skew_error_max_ppb: f64,
    pub(super) widths_ns: Vec<i64>,
}

impl Outcome {
    /// Judges a window. Bounds allow the skew to change by `change_ppb_per_s`.
    pub(super) fn add(&mut self, window: &WindowFit, clock: &mut SimClock, change_ppb_per_s: u32) {
        self.windows += 1;
        self.without_line += window.fits.iter().filter(|fit| fit.is_err()).count();
        for fit in window.fits.iter().flatten() {
            let (offset_ns, skew_ppb) = errors(fit, clock);
            self.offset_errors_ns.push(offset_ns.abs());
            self.skew_error_max_ppb = self.skew_error_max_ppb.max(skew_ppb.abs());
            self.uncovered += usize::from(misses_truth(fit, clock));
            self.degraded += usize::from(fit.degraded);
            let width = fit.bound.hi - fit.bound.lo;
            self.widths_ns.push(width.as_nanos());
            self.too_wide += usize::from(width > fit.rtt_min + drift_allowance(fit, change_ppb_per_s));
        }
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        self.windows += other.windows;
        self.without_line += other.without_line;
        self.degraded += other.degraded;
        self.uncovered += other.uncovered;
        self.too_wide += other.too_wide;
        self.offset_errors_ns.extend(&other.offset_errors_ns);
        self.skew_error_max_ppb = self.skew_error_max_ppb.max(other.skew_error_max_ppb);
        self.widths_ns.extend(&other.widths_ns);
    }

    pub(super) fn mean_ns(&self) -> f64 {
        self.offset_errors_ns.iter().sum::<i64>() as f64 / self.offset_errors_ns.len().max(1) as f64
    }

    /// The share of fits whose bounds hold the truth.
    pub(super) fn coverage(&self) -> f64 {
        1.0 - self.uncovered as f64 / self.widths_ns.len().max(1) as f64
    }
}

/// The value below which a part of `values` lies; nothing of nothing.
pub(super) fn quantile(values: &[i64], part: f64) -> Option<i64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get((sorted.len().saturating_sub(1) as f64 * part).ceil() as usize).copied()
}

/// Whether `clock` is outside the bounds of `fit` at its middle.
pub(super) fn misses_truth(fit: &EdgeFit, clock: &mut SimClock) -> bool {
    let mid_ns = fit.mid.nanos_since_epoch();
    let truth = Span::from_nanos(clock.local_ns(mid_ns) - mid_ns);
    truth < fit.bound.lo || truth > fit.bound.hi
}

/// How far a clock can bend away from both sides of a line over half of the fit's span.
fn drift_allowance(fit: &EdgeFit, change_ppb_per_s: u32) -> Span {
    let half_s = (fit.end - fit.start).as_nanos() as f64 / 2e9;
    Span::from_nanos((f64::from(change_ppb_per_s) * half_s * half_s).ceil() as i64)
}
