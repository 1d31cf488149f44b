//! From exchanges to a line with a guarantee.
//!
//! The estimate is the middle of the widest band between the two clouds of points, found exactly in integers; the guarantee is
//! what every clock that respects both clouds can show. Pairs that travelled unlike are taken out first; stamps that contradict
//! the rest turn the estimate into a robust one and mark it; a clock that jumps splits the window. What holds too little says
//! so: there is no line made up from nothing.

mod band;
mod change;
mod clouds;
mod guarantee;
mod halves;
mod hull;
mod joint;
mod line;
mod possible;
mod proven;
mod purity;
mod slope;
mod svm;
#[cfg(test)]
mod tests;
mod trimmed;

use rankscope_time::Rate;

use self::clouds::{Clouds, Point};
pub use self::possible::{Possible, possible};
use self::slope::Slope;
use crate::{ClockEvent, EdgeFit, Exchange, NoFit};

/// How the line is found. The guarantee is the same for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimator {
    /// The widest band between the clouds, exactly; the robust variant where stamps contradict each other.
    #[default]
    Band,
    /// Low quantiles instead of extremes, always.
    Robust,
    /// The origin's soft-margin support vector machine with C = 1, for comparison.
    Svm,
}

/// How to fit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FitOptions {
    /// Which line.
    pub estimator: Estimator,
    /// How fast a clock's skew may change: parts per billion in a second. The guarantee rests on it.
    pub skew_change_ppb_per_s: u32,
    /// The greatest skew between two clocks that is believed.
    pub skew_max: Rate,
    /// Fewer complete exchanges than this are no window (10).
    pub exchanges_min: u32,
}

impl FitOptions {
    /// The usual options for `estimator`: a skew that changes by 100 ppb in a second at most, ten times what oscillators in
    /// machine rooms do, and that is 1000 ppm at most, two clocks slewed by 500 ppm in opposite directions.
    pub const fn usual(estimator: Estimator) -> Self {
        Self { estimator, skew_change_ppb_per_s: 100, skew_max: Rate::from_ppb(1_000_000), exchanges_min: 10 }
    }

    /// All slopes that are believed. A clock that stands still or runs backwards is not.
    fn slopes(&self) -> (Slope, Slope) {
        let most_ppb = self.skew_max.as_ppb().saturating_abs().min(1_000_000_000);
        (Slope::from_ppb(-most_ppb), Slope::from_ppb(most_ppb))
    }

    /// The same for clocks whose skew changes so fast.
    #[must_use]
    pub fn with_skew_change_ppb_per_s(mut self, skew_change_ppb_per_s: u32) -> Self {
        self.skew_change_ppb_per_s = skew_change_ppb_per_s;
        self
    }

    /// The same, believing skews up to this.
    #[must_use]
    pub fn with_skew_max(mut self, skew_max: Rate) -> Self {
        self.skew_max = skew_max;
        self
    }

    /// The same for windows of so many exchanges.
    #[must_use]
    pub fn with_exchanges_min(mut self, exchanges_min: u32) -> Self {
        self.exchanges_min = exchanges_min;
        self
    }
}

/// The lines over one window: one, or several where a clock stepped.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFit {
    /// In order of time.
    pub fits: Vec<Result<EdgeFit, NoFit>>,
    /// Where it was split, and what happened since the window before.
    pub events: Vec<ClockEvent>,
    /// Directions of exchanges that the purity filter took out.
    pub filtered: u32,
}

impl WindowFit {
    /// Each part with the event that began it. Events lie between lines that follow each other, parts without one aside.
    pub fn parts(&self) -> impl Iterator<Item = (&Result<EdgeFit, NoFit>, Option<&ClockEvent>)> {
        let lines = self.fits.iter().filter(|fit| fit.is_ok()).count();
        // With as many events as lines, the first event lies before the first line.
        let eventless = lines.saturating_sub(self.events.len());
        let mut events = std::iter::repeat_n(None, eventless).chain(self.events.iter().map(Some));
        self.fits.iter().map(move |fit| (fit, if fit.is_ok() { events.next().flatten() } else { None }))
    }
}

/// Fits `exchanges` of one edge and one window, in any order. `before` is the edge's line in the window before, if there was
/// one.
pub fn fit_window(exchanges: &[Exchange], before: Option<&EdgeFit>, options: &FitOptions) -> WindowFit {
    let mut exchanges = exchanges.to_vec();
    // By number, not by time: a clock that is set back gives the same time twice.
    exchanges.sort_by_key(|exchange| exchange.sequence);
    let filtered = purity::filter(&mut exchanges, options.skew_max);
    let near = before.map(|before| Slope::nearest_ppb(before.skew_ppb));
    let fits = proven::fits(change::split(&exchanges, near, options), near, options);
    let lines: Vec<&EdgeFit> = fits.iter().filter_map(|fit| fit.as_ref().ok()).collect();
    let mut events = Vec::new();
    if let (Some(before), Some(first)) = (before, lines.first())
        && change::excludes(before, first, options)
    {
        events.push(change::event_between(before, first));
    }
    events.extend(lines.windows(2).map(|pair| change::event_between(pair[0], pair[1])));
    WindowFit { fits, events, filtered }
}
