//! How much of a comparison goes into its page: the ranks whose steps changed most.
//!
//! Each rank has nine metrics, eight classes of time side by side and a line of steps, four kilobytes in all. A page of thousands of ranks
//! takes long to open and shows nothing that the ranks in front do not. compare.json holds everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::CompareDocument;

use super::pairs;

/// Ranks of which a page has figures: about 2 MB.
pub(super) const RANKS: usize = 512;

/// The document without the figures of ranks that there is no room for, and how many ranks there are; `None` where nothing is left out.
pub(super) fn fitting(document: &CompareDocument) -> Option<(CompareDocument, usize)> {
    let (shown, all) = chosen(document)?;
    let is_shown = |rank: u32| shown.contains(&rank);
    let is_metric = |name: &str| of_rank(name).is_none_or(is_shown);
    let mut page = document.clone();
    for pair in std::iter::once(&mut page.first).chain(&mut page.others) {
        pair.metrics.retain(|metric| is_metric(&metric.name));
        pair.ranks.retain(|rank| is_shown(rank.rank));
    }
    for beside in &mut page.side_by_side {
        beside.ranks.retain(|row| row.rank.is_none_or(is_shown));
        beside.rank_collectives.retain(|row| row.rank.is_none_or(is_shown));
    }
    page.series.retain(|series| is_metric(&series.name));
    Some((page, all))
}

/// The ranks shown, where they are not all, and the number of all.
fn chosen(document: &CompareDocument) -> Option<(BTreeSet<u32>, usize)> {
    let mut changes: BTreeMap<u32, u64> = BTreeMap::new();
    for rank in pairs(document).flat_map(|pair| &pair.ranks) {
        let change = changes.entry(rank.rank).or_default();
        *change = (*change).max(rank.delta_ns.unsigned_abs());
    }
    // What one side lacks has no change, and a row all the same.
    for rank in document.side_by_side.iter().flat_map(|beside| &beside.ranks).filter_map(|row| row.rank) {
        changes.entry(rank).or_default();
    }
    let all = changes.len();
    let mut order: Vec<(u32, u64)> = changes.into_iter().collect();
    order.sort_by_key(|(rank, change)| (Reverse(*change), *rank));
    (all > RANKS).then(|| (order.into_iter().take(RANKS).map(|(rank, _)| rank).collect(), all))
}

/// The rank that a metric is of, by its name.
fn of_rank(name: &str) -> Option<u32> {
    name.rsplit_once("@rank")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use rankscope_document::{Comparison, MetricComparison, MetricSeries, RankChange, SideBySide, TimeBeside};

    use super::*;

    fn job(ranks: u32) -> CompareDocument {
        let change =
            |rank| RankChange { rank, delta_ns: if rank == 3 { -9_000 } else { i64::from(rank) }, ..RankChange::default() };
        let names = || (0..ranks).map(|rank| format!("step_ns@rank{rank}")).chain(["step_ns".to_owned()]);
        let metric = |name| MetricComparison { name, ..MetricComparison::default() };
        let beside = |rank| TimeBeside { rank: Some(rank), ..TimeBeside::default() };
        CompareDocument {
            first: Comparison {
                ranks: (0..ranks).map(change).collect(),
                metrics: names().map(metric).collect(),
                ..Comparison::default()
            },
            side_by_side: vec![SideBySide { ranks: (0..ranks).map(beside).collect(), ..SideBySide::default() }],
            series: names().map(|name| MetricSeries { name, sides: Vec::new() }).collect(),
            ..CompareDocument::default()
        }
    }

    #[test]
    fn ranks_that_changed_most_are_shown_and_what_is_of_no_rank_stays() {
        let (page, all) = fitting(&job(2_000)).expect("too many ranks");
        assert_eq!((all, page.first.ranks.len(), page.side_by_side[0].ranks.len()), (2_000, RANKS, RANKS));
        let names: Vec<&str> = page.first.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!((names[0], names[1], names.len()), ("step_ns@rank3", "step_ns@rank1489", RANKS + 1));
        assert_eq!((names[RANKS], page.series.len()), ("step_ns", RANKS + 1));
    }

    #[test]
    fn a_job_that_fits_is_shown_whole() {
        assert!(fitting(&job(512)).is_none());
    }
}
