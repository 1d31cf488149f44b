//! Single changes that are worth trying on any job: those that a ranking is made of where nobody asks for others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::medians::Work;
use super::names::kinds;
use super::{Change, Factor, Scene};
use crate::Activity;

/// So many operators, ranks and sorts of collectives are tried at most, those with most time first.
const MOST: usize = 10;

/// The changes to try on `scene`, whose `work` is given where it has several ranks.
pub(super) fn candidates(scene: &Scene<'_>, work: Option<&Work>) -> Vec<Change> {
    let halved = |name| Change::Operator { name, factor: Factor::HALF };
    let mut changes: Vec<Change> = heaviest(operators(scene)).into_iter().map(halved).collect();
    let differences = work.map(Work::differences_ns).unwrap_or_default();
    // Half a nanosecond more or less than the median is the same.
    let different = differences.iter().enumerate().filter(|(_, ns)| **ns >= 1.0).map(|(at, ns)| (at, *ns as i64)).collect();
    let ranks: Vec<usize> = heaviest(different);
    changes.extend(ranks.into_iter().map(|at| Change::RankAtMedian { rank: scene.rank(at) }));
    let kinds = heaviest(kinds(scene));
    let has_collectives = !kinds.is_empty();
    changes.extend(kinds.into_iter().map(without));
    changes.extend(has_collectives.then_some(Change::PerfectOverlap));
    let launched = scene.job.ranks.iter().any(|rank| rank.ids().any(|id| rank.piece(id).launched_by.is_some()));
    changes.extend(launched.then_some(Change::NoLaunchLag));
    changes
}

fn without(name: String) -> Change {
    let (kind, group) = name.split_once('@').map_or((name.as_str(), None), |(kind, group)| (kind, Some(group.to_owned())));
    Change::Collective { kind: kind.to_owned(), group, factor: Factor::ZERO }
}

/// The keys with most time, of equal ones the first.
fn heaviest<K: Ord>(times: BTreeMap<K, i64>) -> Vec<K> {
    let mut times: Vec<(K, i64)> = times.into_iter().filter(|(_, ns)| *ns > 0).collect();
    times.sort_by_key(|(_, ns)| Reverse(*ns));
    times.into_iter().take(MOST).map(|(key, _)| key).collect()
}

/// How long kernels of each operator ran, and the host was in it, on all ranks.
fn operators(scene: &Scene<'_>) -> BTreeMap<String, i64> {
    let mut times: BTreeMap<String, i64> = BTreeMap::new();
    for rank in &scene.job.ranks {
        let mut of_key = vec![0_i64; rank.keys().len()];
        for share in rank.ids().flat_map(|id| rank.shares(id)) {
            let sum = &mut of_key[share.key.0 as usize];
            *sum = sum.saturating_add(share.ns);
        }
        for (key, ns) in rank.keys().iter().zip(of_key) {
            let name = if key.activity == Activity::Operator { &key.name } else { &key.operator };
            if !name.is_empty() && key.activity != Activity::Communication {
                let sum = times.entry(name.clone()).or_default();
                *sum = sum.saturating_add(ns);
            }
        }
    }
    times
}
