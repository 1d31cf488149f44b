//! Collectives of both sides by what they move.
//!
//! aorta joins by name, type and size, and takes the first row of each. We keep process groups apart where several move the same; where
//! one does, its name may be another in every run and says nothing.

use std::collections::BTreeMap;

use rankscope_document::{BesideStatus, CollectiveBeside, Convention, RankCollectiveBeside};

use super::convention::{Better, beside, word};
use super::figures::{CollectiveFigures, RankCollectiveFigures, SideFigures};
use crate::names;

/// Bytes of a gigabyte as aorta's rates count them, over ours.
const GIB: f64 = 1_073_741_824.0 / 1e9;

/// What collectives are joined by: the rank where there is one, name, type, size, process group where that tells.
pub(super) type Key = (Option<u32>, String, String, Option<u64>, Option<String>);

/// What is said of each of some places, where anything is.
pub(super) type RankWords<'a> = &'a dyn Fn(&[Key]) -> Vec<Option<BesideStatus>>;

/// What is joined.
trait Joined {
    /// Rank, name, type and size.
    fn moved(&self) -> (Option<u32>, String, String, Option<u64>);
    fn process_group(&self) -> &str;
}

impl Joined for CollectiveFigures {
    fn moved(&self) -> (Option<u32>, String, String, Option<u64>) {
        (None, self.name.clone(), self.dtype.clone(), self.in_elements)
    }
    fn process_group(&self) -> &str {
        &self.process_group
    }
}

impl Joined for RankCollectiveFigures {
    fn moved(&self) -> (Option<u32>, String, String, Option<u64>) {
        (Some(self.rank), self.name.clone(), self.dtype.clone(), self.in_elements)
    }
    fn process_group(&self) -> &str {
        &self.process_group
    }
}

/// Rows of both sides under their keys, in order of these.
fn joined<'a, T: Joined>(base: &'a [T], test: &'a [T], convention: &Convention) -> BTreeMap<Key, [Option<&'a T>; 2]> {
    let is_aorta = *convention == Convention::Aorta;
    let mut groups: [BTreeMap<_, usize>; 2] = Default::default();
    for (counts, rows) in groups.iter_mut().zip([base, test]) {
        for row in rows {
            *counts.entry(row.moved()).or_default() += 1;
        }
    }
    let mut both: BTreeMap<Key, [Option<&T>; 2]> = BTreeMap::new();
    for (side, rows) in [base, test].into_iter().enumerate() {
        for row in rows {
            let moved = row.moved();
            // aorta's tables have no row of what was recorded without a type or a size.
            if is_aorta && (moved.2.is_empty() || moved.3.is_none()) {
                continue;
            }
            let tells = !is_aorta && groups.iter().any(|counts| counts.get(&moved).is_some_and(|count| *count > 1));
            let group = tells.then(|| row.process_group().to_owned());
            let (rank, name, dtype, elements) = moved;
            both.entry((rank, name, dtype, elements, group)).or_default()[side].get_or_insert(row);
        }
    }
    if is_aorta {
        both.retain(|_, sides| sides.iter().all(Option::is_some));
    }
    both
}

/// How long transfers take.
pub(super) fn groups(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    verdicts: &dyn Fn(&str) -> Option<BesideStatus>,
) -> Vec<CollectiveBeside> {
    let is_aorta = *convention == Convention::Aorta;
    let rate = if is_aorta { GIB } else { 1.0 };
    let row = |((_, name, dtype, in_elements, process_group), sides): (Key, [Option<&CollectiveFigures>; 2])| {
        let of = |better, figure: &dyn Fn(&CollectiveFigures) -> Option<f64>| {
            let [base, test] = sides.map(|side| side.and_then(figure));
            beside(convention, better, base, test)
        };
        let latency = of(Better::Less, &|row| row.latency_ns);
        let any = sides[1].or(sides[0]);
        let kind = any.map(|row| row.kind.clone()).unwrap_or_default();
        let count = of(Better::Neither, &|row| Some(row.count));
        let status = if is_aorta {
            super::convention::of_rank(latency.percent_change)
        } else {
            word(&count, verdicts(&metric(kind.as_str(), &dtype, in_elements, process_group.as_deref())))
        };
        CollectiveBeside {
            bytes: any.and_then(|row| row.bytes),
            algbw: of(Better::More, &|row| Some(row.algbw_gbps? / rate)),
            busbw: of(Better::More, &|row| Some(row.busbw_gbps? / rate)),
            total: of(Better::Less, &|row| row.total_ns),
            count,
            name,
            kind,
            dtype,
            in_elements,
            process_group,
            latency,
            status,
        }
    };
    joined(&base.collectives, &test.collectives, convention).into_iter().map(row).collect()
}

/// The metric whose evidence a collective's latency goes by.
fn metric(kind: &str, dtype: &str, in_elements: Option<u64>, group: Option<&str>) -> String {
    let group = group.map_or_else(String::new, |group| format!("@{group}"));
    format!("comm.{}.latency{group}", names::collective(kind, dtype, in_elements))
}

/// How long ranks are in them.
pub(super) fn by_rank(
    base: &SideFigures,
    test: &SideFigures,
    convention: &Convention,
    words: RankWords<'_>,
) -> Vec<RankCollectiveBeside> {
    let is_aorta = *convention == Convention::Aorta;
    let rows = joined(&base.rank_collectives, &test.rank_collectives, convention);
    let words = if is_aorta { vec![None; rows.len()] } else { words(&rows.keys().cloned().collect::<Vec<_>>()) };
    type Row<'a> = ((Key, [Option<&'a RankCollectiveFigures>; 2]), Option<BesideStatus>);
    let row = |(((rank, name, dtype, in_elements, process_group), sides), said): Row<'_>| {
        let of = |better, figure: &dyn Fn(&RankCollectiveFigures) -> f64| {
            let [base, test] = sides.map(|side| side.map(figure));
            beside(convention, better, base, test)
        };
        let [sum, mean, min, max] = std::array::from_fn(|at| of(Better::Less, &move |row| row.sum_mean_min_max_ns[at]));
        let status = if is_aorta { super::convention::of_rank(mean.percent_change) } else { word(&mean, said) };
        let count = of(Better::Neither, &|row| row.count);
        RankCollectiveBeside { rank, name, dtype, in_elements, process_group, sum, mean, min, max, count, status }
    };
    rows.into_iter().zip(words).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(rows: &[(&str, u64, &str, f64)]) -> SideFigures {
        let row = |(name, elements, group, latency): &(&str, u64, &str, f64)| CollectiveFigures {
            name: (*name).to_owned(),
            dtype: "float".to_owned(),
            in_elements: Some(*elements),
            process_group: (*group).to_owned(),
            latency_ns: Some(*latency),
            count: 1.0,
            ..CollectiveFigures::default()
        };
        SideFigures { collectives: rows.iter().map(row).collect(), ..SideFigures::default() }
    }

    fn listed(convention: &Convention) -> Vec<(u64, Option<String>, Option<f64>, BesideStatus)> {
        let base = side(&[
            ("all_reduce", 8, "a", 10.0),
            ("all_reduce", 8, "b", 20.0),
            ("all_reduce", 4, "a", 1.0),
            ("gone", 4, "a", 1.0),
        ]);
        let test = side(&[
            ("all_reduce", 8, "b", 30.0),
            ("all_reduce", 8, "a", 10.0),
            ("all_reduce", 4, "z", 2.0),
            ("new", 4, "a", 1.0),
        ]);
        let rows = groups(&base, &test, convention, &|_| None);
        rows.into_iter().map(|row| (row.in_elements.unwrap(), row.process_group, row.latency.diff, row.status)).collect()
    }

    #[test]
    fn groups_that_move_the_same_are_kept_apart_and_nothing_is_left_out() {
        let none = BesideStatus::NoEvidence;
        assert_eq!(
            listed(&Convention::Rankscope),
            [
                (4, None, Some(1.0), none.clone()),
                (8, Some("a".to_owned()), Some(0.0), none.clone()),
                (8, Some("b".to_owned()), Some(10.0), none),
                (4, None, None, BesideStatus::Gone),
                (4, None, None, BesideStatus::New),
            ]
        );
    }

    #[test]
    fn aorta_takes_the_first_row_and_leaves_out_what_one_side_lacks() {
        // The first of the test is group b's, beside group a's of the base.
        let worse = BesideStatus::Worse;
        assert_eq!(listed(&Convention::Aorta), [(4, None, Some(1.0), worse.clone()), (8, None, Some(20.0), worse)]);
    }
}
