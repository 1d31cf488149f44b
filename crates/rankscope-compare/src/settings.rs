//! What a user may choose about evidence.

use std::collections::BTreeMap;

use rankscope_document::Convention;
pub use rankscope_stats::RunSpread;

/// How much evidence a verdict takes, and what counts as no change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// How often a difference may be reported where there is none: 0.05.
    pub alpha: f64,
    /// The difference of a time that counts as none, as a share of the base: 0.01.
    pub time_margin: f64,
    /// The same of a bandwidth: 0.02.
    pub bandwidth_margin: f64,
    /// How much the medians of runs of one configuration differ, where that is known: one run a side can then have a verdict.
    pub run_spread: Option<RunSpread>,
    /// What signs mean in the figures that workbooks list.
    pub convention: Convention,
    /// The same by the name of the metric, from runs of before. What is stated above goes before it.
    pub run_spreads: BTreeMap<String, RunSpread>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            time_margin: 0.01,
            bandwidth_margin: 0.02,
            run_spread: None,
            convention: Convention::Rankscope,
            run_spreads: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// The same, where runs of one configuration are known to differ by `spread`.
    #[must_use]
    pub fn with_run_spread(mut self, spread: Option<RunSpread>) -> Self {
        self.run_spread = spread;
        self
    }

    /// The same, where runs of one configuration are known to differ in each metric by what `spreads` says.
    #[must_use]
    pub fn with_run_spreads(mut self, spreads: BTreeMap<String, RunSpread>) -> Self {
        self.run_spreads = spreads;
        self
    }

    /// How much runs of one configuration are known to differ in `metric`.
    pub fn run_spread_of(&self, metric: &str) -> Option<RunSpread> {
        self.run_spread.or_else(|| self.run_spreads.get(metric).copied())
    }

    /// The same, where a difference of times of the share `margin` counts as none.
    #[must_use]
    pub fn with_time_margin(mut self, margin: f64) -> Self {
        self.time_margin = margin;
        self
    }

    /// The same, where figures beside each other follow `convention`.
    #[must_use]
    pub fn with_convention(mut self, convention: Convention) -> Self {
        self.convention = convention;
        self
    }
}
