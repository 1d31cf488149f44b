//! Figures of two sides beside each other, as workbooks and plots list them, under one of two conventions.
//!
//! The arithmetic is in `convention`, and knows only numbers. What a side's figures are is in `figures`, so that they may come from
//! documents or from anything else that has them. Evidence is none of this: a row borrows a word from the metric that it belongs to.

mod collectives;
mod convention;
mod figures;
mod rank_evidence;
mod times;

pub use figures::{CollectiveFigures, RankCollectiveFigures, SideFigures, TimeFigures};

use std::collections::HashMap;

use rankscope_document::{BesideStatus, Comparison, Convention, SideBySide};

use crate::Settings;
use crate::side::Side;

/// The figures of `base` and `test`; `verdicts` says a word of the metric of a name, where it is known.
pub fn side_by_side(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: &dyn Fn(&str) -> Option<BesideStatus>,
) -> SideBySide {
    with_ranks(base, test, convention, verdicts, &|keys| vec![None; keys.len()])
}

/// The same, where `of_ranks` says a word of the time of ranks in collectives.
fn with_ranks(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: &dyn Fn(&str) -> Option<BesideStatus>,
    of_ranks: collectives::RankWords<'_>,
) -> SideBySide {
    SideBySide {
        base: base.label.clone(),
        test: test.label.clone(),
        convention: convention.clone(),
        ranks: times::ranks(base, test, convention, verdicts),
        summary: times::summary(base, test, convention, verdicts),
        collectives: collectives::groups(base, test, convention, verdicts),
        rank_collectives: collectives::by_rank(base, test, convention, of_ranks),
    }
}

/// The same of sides with their runs, and of what the evidence says of them.
pub(crate) fn of(base: &Side, test: &Side, compared: &Comparison, settings: &Settings) -> SideBySide {
    let words: HashMap<&str, BesideStatus> =
        compared.metrics.iter().map(|metric| (metric.name.as_str(), BesideStatus::from(metric.verdict.as_str()))).collect();
    let verdicts = |name: &str| words.get(name).cloned();
    let of_ranks = |keys: &[collectives::Key]| rank_evidence::words(base, test, keys, settings);
    with_ranks(&SideFigures::of(base), &SideFigures::of(test), &settings.convention, &verdicts, &of_ranks)
}
