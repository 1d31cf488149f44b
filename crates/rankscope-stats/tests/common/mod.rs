//! What tests of comparisons share.

use rankscope_stats::{Direction, Evidence, Settings, Side, compare};

/// What the runs of two sides say.
pub(crate) fn compared(base: &[Vec<f64>], test: &[Vec<f64>], settings: &Settings) -> Evidence {
    let base: Vec<&[f64]> = base.iter().map(Vec::as_slice).collect();
    let test: Vec<&[f64]> = test.iter().map(Vec::as_slice).collect();
    compare(&Side { runs: &base }, &Side { runs: &test }, settings)
}

/// The usual settings of a time.
pub(crate) fn lower() -> Settings {
    Settings::new(Direction::LowerIsBetter)
}
