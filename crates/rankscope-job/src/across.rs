//! The same row of every rank's table, side by side: many lists become one.
//!
//! A rank whose table does not have a row counts with 0 there: an operator that only one rank runs is as much a difference as one that takes
//! longer. Nothing is said of why ranks differ.

use std::collections::BTreeMap;

use rankscope_analyze::Side;
use rankscope_document::{AcrossRanks, AcrossRow, OverlapAcross};
use rankscope_tables::{Hidden, RankTables};

/// A name, and what tells it from others of that name.
type Key = (String, Option<String>);

/// How often something ran on one rank, and for how long in nanoseconds.
type Time = (u64, i64);

/// The tables of `ranks`, ascending; none of fewer than two.
pub(crate) fn across(ranks: &[(u32, &RankTables)]) -> Option<AcrossRanks> {
    if ranks.len() < 2 {
        return None;
    }
    let operators = rows(ranks, |tables| {
        let row = |row: &rankscope_tables::OperatorRow| {
            ((row.name.clone(), Some(row.category.name().to_owned())), (row.count, row.direct_kernel_ns))
        };
        tables.operators.iter().map(row).collect()
    });
    let kernels = rows(ranks, |tables| {
        let row = |row: &rankscope_tables::KernelRow| ((row.name.clone(), None), (row.time.count, row.time.sum_ns));
        tables.kernels.iter().map(row).collect()
    });
    let annotations = rows(ranks, |tables| {
        let row = |row: &rankscope_tables::AnnotationRow| {
            ((row.name.clone(), Some(side(row.side).to_owned())), (row.time.count, row.time.sum_ns))
        };
        tables.annotations.iter().map(row).collect()
    });
    let mut idle = rows(ranks, |tables| {
        let whole = tables.idle.whole;
        let causes = [("host_wait", whole.host_wait_ns), ("kernel_wait", whole.kernel_wait_ns), ("other", whole.other_ns)];
        causes.map(|(cause, ns)| ((cause.to_owned(), None), (1, ns))).to_vec()
    });
    for row in &mut idle {
        row.count = None;
    }
    Some(AcrossRanks {
        ops_across_ranks: Some(operators),
        kernels_across_ranks: Some(kernels),
        annotations_across_ranks: Some(annotations),
        idle_across_ranks: Some(idle),
        overlap_across_ranks: Some(overlaps(ranks)),
    })
}

/// As the document writes it.
fn side(side: Side) -> &'static str {
    match side {
        Side::Device => "device",
        Side::Host => "host",
    }
}

/// The `rows` of each of `ranks`, those that took longest in all first, then by name.
fn rows(ranks: &[(u32, &RankTables)], rows: impl Fn(&RankTables) -> Vec<(Key, Time)>) -> Vec<AcrossRow> {
    let mut times: BTreeMap<Key, Vec<Time>> = BTreeMap::new();
    for (at, (_, tables)) in ranks.iter().enumerate() {
        for (key, (count, ns)) in rows(tables) {
            let all = times.entry(key).or_insert_with(|| vec![(0, 0); ranks.len()]);
            all[at] = (all[at].0.saturating_add(count), all[at].1.saturating_add(ns));
        }
    }
    let mut rows: Vec<AcrossRow> = times.into_iter().map(|(key, times)| row(ranks, key, &times)).collect();
    // Stable: names are in order already.
    rows.sort_by_key(|row| std::cmp::Reverse(row.sum_ns));
    rows
}

/// One row of the `times` of `ranks`, of which there is at least one.
fn row(ranks: &[(u32, &RankTables)], (name, category): Key, times: &[Time]) -> AcrossRow {
    let of_rank = |at: usize| (times[at].1, ranks[at].0);
    let mut sorted: Vec<(i64, u32)> = (0..times.len()).map(of_rank).collect();
    sorted.sort_unstable();
    let (median_ns, (min_ns, min_rank), max_ns) = (sorted[(sorted.len() - 1) / 2].0, sorted[0], sorted[sorted.len() - 1].0);
    let first_with = |ns: i64| sorted.iter().find(|(own, _)| *own == ns).map_or(min_rank, |(_, rank)| *rank);
    AcrossRow {
        name,
        category,
        ranks: times.iter().filter(|(count, _)| *count > 0).count() as u32,
        count: Some(times.iter().map(|(count, _)| *count).fold(0, u64::saturating_add)),
        sum_ns: times.iter().map(|(_, ns)| *ns).fold(0, i64::saturating_add),
        median_ns,
        min_ns,
        min_rank,
        max_ns,
        max_rank: first_with(max_ns),
        spread: (median_ns > 0).then(|| max_ns.saturating_sub(min_ns) as f64 / median_ns as f64),
    }
}

/// All communication first, then kernels, those that communicated longest first.
fn overlaps(ranks: &[(u32, &RankTables)]) -> Vec<OverlapAcross> {
    let mut kernels: BTreeMap<&str, Vec<(u32, Hidden)>> = BTreeMap::new();
    for (rank, tables) in ranks {
        for row in &tables.overlap.kernels {
            kernels.entry(&row.name).or_default().push((*rank, row.time));
        }
    }
    let all = ranks.iter().map(|(rank, tables)| (*rank, tables.overlap.whole)).collect::<Vec<_>>();
    let mut rows: Vec<OverlapAcross> = kernels.into_iter().map(|(name, times)| overlap(name, &times)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.comm_ns));
    rows.insert(0, overlap("all", &all));
    rows
}

fn overlap(name: &str, times: &[(u32, Hidden)]) -> OverlapAcross {
    let mut shares: Vec<(f64, u32)> = times.iter().filter_map(|(rank, time)| Some((time.share()?, *rank))).collect();
    shares.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let sum = |of: fn(&Hidden) -> i64| times.iter().map(|(_, time)| of(time)).fold(0, i64::saturating_add);
    let (comm_ns, hidden_ns) = (sum(|time| time.comm_ns), sum(|time| time.hidden_ns));
    let (least, middle) = (shares.first().copied(), shares.get(shares.len().saturating_sub(1) / 2));
    let most = shares.last().and_then(|last| shares.iter().find(|(share, _)| *share == last.0)).copied();
    OverlapAcross {
        name: name.to_owned(),
        ranks: shares.len() as u32,
        comm_ns,
        hidden_ns,
        share: (comm_ns > 0).then(|| hidden_ns as f64 / comm_ns as f64),
        median_share: middle.map(|(share, _)| *share),
        min_share: least.map(|(share, _)| share),
        min_rank: least.map(|(_, rank)| rank),
        max_share: most.map(|(share, _)| share),
        max_rank: most.map(|(_, rank)| rank),
    }
}

#[cfg(test)]
mod tests {
    use rankscope_tables::Category;

    use super::*;

    fn operator(name: &str, count: u64, direct_kernel_ns: i64) -> rankscope_tables::OperatorRow {
        let category = Category::Gemm;
        let name = name.to_owned();
        rankscope_tables::OperatorRow {
            name,
            category,
            count,
            direct_kernel_ns,
            subtree_kernel_ns: direct_kernel_ns,
            kernel_sum_ns: direct_kernel_ns,
        }
    }

    fn rank(operators: Vec<rankscope_tables::OperatorRow>, whole: Hidden) -> RankTables {
        let mut tables = RankTables::default();
        (tables.operators, tables.overlap.whole) = (operators, whole);
        tables
    }

    #[test]
    fn a_rank_without_a_row_counts_with_nothing() {
        let hidden = |comm_ns, hidden_ns| Hidden { comm_ns, hidden_ns };
        let tables = [
            rank(vec![operator("mm", 2, 10), operator("odd", 1, 5)], hidden(10, 5)),
            rank(vec![operator("mm", 2, 12)], hidden(0, 0)),
            rank(vec![operator("mm", 3, 40)], hidden(30, 3)),
            rank(vec![operator("mm", 2, 40)], hidden(10, 9)),
        ];
        let ranks: Vec<(u32, &RankTables)> = [3, 5, 8, 9].into_iter().zip(&tables).collect();
        let across = across(&ranks).expect("four ranks");
        let rows = across.ops_across_ranks.expect("operators");
        let figures = |row: &AcrossRow| (row.median_ns, row.min_ns, row.min_rank, row.max_ns, row.max_rank, row.sum_ns);
        assert_eq!((rows[0].name.as_str(), figures(&rows[0])), ("mm", (12, 10, 3, 40, 8, 102)));
        assert_eq!((rows[0].ranks, rows[0].count, rows[0].spread), (4, Some(9), Some(2.5)));
        assert_eq!((rows[1].name.as_str(), figures(&rows[1])), ("odd", (0, 0, 5, 5, 3, 5)));
        assert_eq!((rows[1].ranks, rows[1].spread), (1, None));
        // A rank that communicates nothing hides nothing, and has no share.
        let all = &across.overlap_across_ranks.expect("overlap")[0];
        assert_eq!((all.ranks, all.share, all.median_share), (3, Some(17.0 / 50.0), Some(0.5)));
        assert_eq!((all.min_share, all.min_rank, all.max_share, all.max_rank), (Some(0.1), Some(8), Some(0.9), Some(9)));
    }

    #[test]
    fn one_rank_is_nothing_to_compare() {
        assert_eq!(across(&[(0, &RankTables::default())]), None);
    }
}
