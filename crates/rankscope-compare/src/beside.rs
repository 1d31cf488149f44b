//! Figures of two sides beside each other, as workbooks and plots list them, under one of two conventions.
//!
//! The arithmetic is in `convention`, and knows only numbers. What a side's figures are is in `figures`, so that they may come from
//! documents or from anything else that has them. Evidence is none of this: a row borrows a word from the metric that it belongs to.

mod collectives;
mod convention;
mod figures;
mod times;

pub use figures::{CollectiveFigures, RankCollectiveFigures, SideFigures, TimeFigures};

use std::collections::HashMap;

use rankscope_document::{BesideStatus, Comparison, Convention, SideBySide};

use crate::side::Side;

/// The figures of `base` and `test`; `verdicts` says a word of the metric of a name, where it is known.
pub fn side_by_side(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: &dyn Fn(&str) -> Option<BesideStatus>,
) -> SideBySide {
    SideBySide {
        base: base.label.clone(),
        test: test.label.clone(),
        convention: convention.clone(),
        ranks: times::ranks(base, test, convention, verdicts),
        summary: times::summary(base, test, convention, verdicts),
        collectives: collectives::groups(base, test, convention, verdicts),
        rank_collectives: collectives::by_rank(base, test, convention),
    }
}

/// The same of sides with their runs, and of what the evidence says of them.
pub(crate) fn of(base: &Side, test: &Side, compared: &Comparison, convention: &Convention) -> SideBySide {
    let words: HashMap<&str, BesideStatus> =
        compared.metrics.iter().map(|metric| (metric.name.as_str(), BesideStatus::from(metric.verdict.as_str()))).collect();
    let verdicts = |name: &str| words.get(name).cloned();
    side_by_side(&SideFigures::of(base), &SideFigures::of(test), convention, &verdicts)
}
