//! What changed on all ranks in one list: the same change on several ranks, or in several modules, is one row.

use rankscope_document::{OrderChange, StructureChange, StructureChanges, StructureKind, StructureVariation};
use rustc_hash::FxHashMap;

use super::{Fate, RankStructure};

/// Rows that a list has at most.
const LISTED: usize = 1_000;

/// Modules that a row names at most.
const MODULES: usize = 64;

/// A change by what it is, on whatever ranks.
type Key<'a> = (Fate, &'a StructureKind, &'a str, Option<&'a str>, Option<&'a str>, u64, u64);

/// What changed, with the ranks that have each change; counts and times are those of the first of them.
pub(crate) fn changes<'a>(ranks: impl IntoIterator<Item = &'a RankStructure>) -> StructureChanges {
    let mut lists: [Vec<StructureChange>; 4] = Default::default();
    let mut places: FxHashMap<Key<'a>, usize> = FxHashMap::default();
    let (mut reordered, mut varying) = (Vec::<OrderChange>::new(), Vec::<StructureVariation>::new());
    let mut orders: FxHashMap<(&Option<String>, &str, &str), usize> = FxHashMap::default();
    let mut variations: FxHashMap<(&str, &StructureKind, &str, &Option<String>), usize> = FxHashMap::default();
    for (number, rank) in ranks.into_iter().map(|rank| (rank.number, rank)) {
        for (fate, change) in &rank.changes {
            let list = &mut lists[*fate as usize];
            let place = *places.entry(key(*fate, change)).or_insert_with(|| {
                list.push(StructureChange { ranks: Vec::new(), ..change.clone() });
                list.len() - 1
            });
            list[place].ranks.push(number);
        }
        for change in &rank.reordered {
            let place = *orders.entry((&change.parent, &change.base, &change.test)).or_insert_with(|| {
                reordered.push(change.clone());
                reordered.len() - 1
            });
            reordered[place].ranks.push(number);
        }
        for one in &rank.varying {
            let place = *variations.entry((&one.side, &one.kind, &one.name, &one.within)).or_insert_with(|| {
                varying.push(one.clone());
                varying.len() - 1
            });
            let known = &mut varying[place];
            (known.least, known.most) = (known.least.min(one.least), known.most.max(one.most));
            known.runs = known.runs.min(one.runs);
            known.ranks.push(number);
        }
    }
    let mut left_out = 0;
    for list in &mut lists {
        list.sort_by_cached_key(|change| {
            let moved = (change.test_ns.abs_diff(change.base_ns), change.base_ns.max(change.test_ns));
            (std::cmp::Reverse(moved), change.kind.clone(), change.name.clone(), change.within.clone())
        });
        left_out += cut(list);
        list.iter_mut().for_each(|change| change.modules.truncate(MODULES));
    }
    reordered.sort_by(|a, b| (b.base_count, &a.parent, &a.base).cmp(&(a.base_count, &b.parent, &b.base)));
    left_out += cut(&mut reordered) + cut(&mut varying);
    let [new, gone, swapped, count_changed] = lists;
    StructureChanges { new, gone, swapped, count_changed, reordered, varying, left_out }
}

fn key(fate: Fate, change: &StructureChange) -> Key<'_> {
    let StructureChange { kind, name, within, replaced_by, base_count, test_count, .. } = change;
    (fate, kind, name, within.as_deref(), replaced_by.as_deref(), *base_count, *test_count)
}

fn cut<T>(list: &mut Vec<T>) -> usize {
    let more = list.len().saturating_sub(LISTED);
    list.truncate(LISTED);
    more
}
