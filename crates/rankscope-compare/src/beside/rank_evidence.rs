//! What the evidence says of the time of each rank in collectives that move the same.
//!
//! One value a step: the median of the rank's times in such collectives; where nothing marks steps, each collective is one value. All
//! rows are one family, as some of so many differ by chance. There is none where a report does not list collectives rank by rank
//! (`nccl_long`), nor where fewer than ten steps are left.

use std::collections::BTreeMap;

use rankscope_document::{BesideStatus, Direction, MetricUnit, Over};
use rankscope_stats::Evidence;
use rustc_hash::FxHashMap;

use super::collectives::Key;
use crate::Settings;
use crate::evidence;
use crate::series::{Family, Metric, median};
use crate::side::{Run, Side};

/// What a rank's time is in: rank, name, type, size, and process group where that tells.
type Place<'a> = (u32, &'a str, &'a str, Option<u64>, Option<&'a str>);

/// Values by place, in order of time.
type Values<'a> = FxHashMap<Place<'a>, Vec<f64>>;

/// A word for each of `keys`, where there is evidence.
pub(super) fn words(base: &Side, test: &Side, keys: &[Key], settings: &Settings) -> Vec<Option<BesideStatus>> {
    let (base, test) = (of_side(base), of_side(test));
    let metric = Metric {
        name: String::new(),
        unit: MetricUnit::Nanoseconds,
        direction: Direction::LowerIsBetter,
        over: Over::OneRank,
        family: Family::Collectives,
        crosses_ranks: false,
    };
    let found = |key: &Key| -> Option<Evidence> {
        let (base, test) = (of_place(&base, key)?, of_place(&test, key)?);
        Some(evidence::evidence(&metric, &base, &test, 0, settings))
    };
    let found: Vec<Option<Evidence>> = keys.iter().map(found).collect();
    let p: Vec<f64> = found.iter().flatten().filter_map(|evidence| evidence.p).collect();
    let mut corrected = rankscope_stats::benjamini_hochberg(&p).into_iter();
    let word = |evidence: Option<Evidence>| {
        let evidence = evidence?;
        let p_adjusted = evidence.p.and_then(|_| corrected.next());
        Some(BesideStatus::from(evidence::verdict_of_many(&evidence, p_adjusted, settings).as_str()))
    };
    found.into_iter().map(word).collect()
}

/// The values of each run; none where one has none.
fn of_place<'a>(runs: &'a [Values<'a>], (rank, name, dtype, elements, group): &'a Key) -> Option<Vec<&'a [f64]>> {
    let place = ((*rank)?, name.as_str(), dtype.as_str(), *elements, group.as_deref());
    runs.iter().map(|run| run.get(&place).map(Vec::as_slice)).collect()
}

fn of_side(side: &Side) -> Vec<Values<'_>> {
    side.runs().iter().map(values).collect()
}

fn values(run: &Run) -> Values<'_> {
    let tables = run.document.collective_tables.as_ref();
    let instances = tables.and_then(|tables| tables.nccl_implicit_sync.as_ref()).into_iter().flatten();
    let step_of: FxHashMap<u64, i64> = instances.filter_map(|row| Some((row.id, row.step?))).collect();
    let mut by_step: FxHashMap<Place<'_>, BTreeMap<i64, Vec<f64>>> = FxHashMap::default();
    for (at, part) in (0..).zip(tables.and_then(|tables| tables.nccl_long.as_ref()).into_iter().flatten()) {
        // Where nothing marks steps, each collective is its own.
        let Some(step) = (if run.steps.is_whole() { Some(at) } else { step_of.get(&part.id).copied() }) else { continue };
        for group in [None, Some(part.process_group.as_str())] {
            let place = (part.rank, part.name.as_str(), part.dtype.as_str(), part.in_elements, group);
            by_step.entry(place).or_default().entry(step).or_default().push(part.stay_ns as f64);
        }
    }
    let in_order = |mut steps: BTreeMap<i64, Vec<f64>>| -> Vec<f64> {
        if run.steps.is_whole() {
            return steps.into_values().flatten().collect();
        }
        run.steps.keys().filter_map(|(number, _)| Some(median(steps.get_mut(&number)?))).collect()
    };
    by_step.into_iter().map(|(place, steps)| (place, in_order(steps))).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_document::{
        CollectiveInstanceRow, CollectiveTables, Convention, Document, Rank, RankCollectiveSummary, RankInstanceRow, Step, Time,
    };

    use super::*;
    use crate::compare;

    /// A run of 40 steps, if they are marked, with a collective each in which rank 0 spends about `stay_ns`.
    fn run(stay_ns: i64, is_marked: bool) -> Run {
        let step = |step| Step { step, window_ns: [step, step + 1], time_ns: Time { total: 1_000, ..Time::default() } };
        let steps: Vec<Step> = if is_marked { (0..40).map(step).collect() } else { Vec::new() };
        let part = |id: i64| RankInstanceRow {
            id: id.cast_unsigned(),
            name: "allreduce".to_owned(),
            stay_ns: stay_ns + id * 7_919 % 101 - 50,
            ..RankInstanceRow::default()
        };
        let instance =
            |id: i64| CollectiveInstanceRow { id: id.cast_unsigned(), step: Some(id), ..CollectiveInstanceRow::default() };
        let long = RankCollectiveSummary { name: "allreduce".to_owned(), count: 40, ..RankCollectiveSummary::default() };
        let tables = CollectiveTables {
            nccl_summary_long: Some(vec![long]),
            nccl_long: Some((0..40).map(part).collect()),
            nccl_implicit_sync: Some((0..40).map(instance).collect()),
            ..CollectiveTables::default()
        };
        let ranks = vec![Rank { steps, ..Rank::default() }];
        Run::new("run", Document { ranks, collective_tables: Some(tables), ..Document::default() })
    }

    fn status(base: [i64; 3], test: [i64; 3], is_marked: bool) -> BesideStatus {
        let side = |label: &str, stays: [i64; 3]| Side::new(label, stays.map(|ns| run(ns, is_marked)).into());
        let settings = Settings { convention: Convention::Rankscope, ..Settings::default() };
        let compared = compare(&[side("a", base), side("b", test)], &settings);
        compared.side_by_side[0].rank_collectives[0].status.clone()
    }

    #[test]
    fn several_runs_tell_whether_a_rank_is_longer_in_a_collective() {
        for is_marked in [true, false] {
            assert_eq!(status([10_000, 10_005, 9_995], [11_000, 11_005, 10_995], is_marked), BesideStatus::Regressed);
            assert_eq!(status([10_000, 10_005, 9_995], [10_001, 10_004, 9_996], is_marked), BesideStatus::Equivalent);
        }
    }
}
