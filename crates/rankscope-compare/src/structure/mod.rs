//! What was added, removed or replaced: operators, their arguments, their kernels, collectives, modules and marks of steps.
//!
//! Things are compared at their place: arguments and kernels under their operator, collectives in their process group. What
//! is inside something new or gone is not listed again. A replacement needs the same place and as many calls, and no second candidate;
//! where that is open, one is gone and the other new.

mod items;
mod matching;

use std::collections::BTreeMap;

use rankscope_document::{StructureChange, StructureChanges, StructureKind};

use crate::iterations::{Iterations, share};
use crate::work::{Leaf, RankWork, Splitting, Sum};

use items::{Item, items};
pub(crate) use matching::Fate;
use matching::{Match, matched};

/// What changed on one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankStructure {
    changes: Vec<(Fate, StructureChange)>,
    /// What of the base each replaced thing of the test stands for.
    renamed: BTreeMap<Leaf, Leaf>,
}

impl RankStructure {
    pub(crate) fn of(base: RankWork<'_>, test: RankWork<'_>, splitting: &Splitting, iterations: &Iterations) -> Self {
        let mut all = Self::default();
        let mut parents: Vec<(StructureKind, String)> = Vec::new();
        let (mut of_base, mut of_test) = (items(base, splitting), items(test, splitting));
        for kind in items::KINDS {
            let mut base_items = of_base.remove(&kind).unwrap_or_default();
            let mut test_items = of_test.remove(&kind).unwrap_or_default();
            // What is inside something that is on one side only goes with it.
            for own in [&mut base_items, &mut test_items] {
                own.retain(|item| {
                    !item.within.as_ref().is_some_and(|within| parents.contains(&(StructureKind::Operator, within.clone())))
                });
            }
            for found in matched(base_items, test_items, iterations) {
                if all.follows(&found) {
                    continue;
                }
                if matches!(found.fate, Fate::New | Fate::Gone | Fate::Swapped) {
                    parents
                        .extend([&found.base, &found.test].into_iter().flatten().map(|item| (kind.clone(), item.name.clone())));
                }
                all.put(&kind, found, base.rank.rank, iterations);
            }
        }
        all.put_marks(base.rank.rank, base.rank.steps.len(), test.rank.steps.len(), iterations);
        all
    }

    /// How much changed.
    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    /// What of the base `leaf` of the test stands for.
    pub(crate) fn base_of(&self, leaf: &Leaf) -> Leaf {
        self.renamed.get(leaf).unwrap_or(leaf).clone()
    }

    /// What of the test stands for `leaf` of the base.
    pub(crate) fn test_of<'a>(&'a self, leaf: &'a Leaf) -> &'a Leaf {
        self.renamed.iter().find(|(_, base)| *base == leaf).map_or(leaf, |(test, _)| test)
    }

    /// Changes of `kind` inside `within`.
    pub(crate) fn within<'a>(
        &'a self,
        kind: &'a StructureKind,
        within: Option<&'a str>,
    ) -> impl Iterator<Item = &'a (Fate, StructureChange)> {
        self.changes.iter().filter(move |(_, change)| change.kind == *kind && change.within.as_deref() == within)
    }

    /// Whether it is there as many times more often as the operator that it is inside: that is told of the operator.
    fn follows(&self, found: &Match) -> bool {
        let (Fate::Count, Some(base), Some(test)) = (found.fate, &found.base, &found.test) else { return false };
        let operators =
            self.changes.iter().filter(|(fate, change)| *fate == Fate::Count && change.kind == StructureKind::Operator);
        let ratio = |change: &StructureChange| {
            u128::from(change.base_count) * u128::from(test.sum.count)
                == u128::from(change.test_count) * u128::from(base.sum.count)
        };
        base.within.is_some()
            && operators.into_iter().any(|(_, change)| Some(&change.name) == base.within.as_ref() && ratio(change))
    }

    fn put(&mut self, kind: &StructureKind, found: Match, rank: u32, iterations: &Iterations) {
        if found.fate == Fate::Swapped
            && let (Some(base), Some(test)) = (&found.base, &found.test)
        {
            self.renamed.extend(test.leaves.iter().cloned().zip(base.leaves.iter().cloned()));
        }
        let is_same = iterations.base == iterations.test;
        let told = |item: Option<&Item>, iterations: u64| {
            let sum = item.map_or(Sum::default(), |item| item.sum);
            (if is_same { sum.count } else { share(sum.count as i64, iterations) as u64 }, share(sum.ns, iterations))
        };
        let (base_count, base_ns) = told(found.base.as_ref(), iterations.base);
        let (test_count, test_ns) = told(found.test.as_ref(), iterations.test);
        let replaced_by = (found.fate == Fate::Swapped).then(|| found.test.as_ref().map(|item| item.name.clone())).flatten();
        let Some(item) = found.base.or(found.test) else { return };
        let change = StructureChange {
            kind: kind.clone(),
            name: item.name,
            within: item.within,
            replaced_by,
            base_count,
            test_count,
            base_ns,
            test_ns,
            ranks: vec![rank],
        };
        self.changes.push((found.fate, change));
    }

    fn put_marks(&mut self, rank: u32, base: usize, test: usize, iterations: &Iterations) {
        let Some(lost) = &iterations.lost else { return };
        let change = StructureChange {
            kind: StructureKind::StepMarks,
            name: steps(&lost.steps),
            base_count: base as u64,
            test_count: test as u64,
            ranks: vec![rank],
            ..StructureChange::default()
        };
        self.changes.push((if lost.in_test { Fate::Gone } else { Fate::New }, change));
    }
}

/// `step 5`, or `steps 5, 6`.
pub(crate) fn steps(numbers: &[i64]) -> String {
    let list = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if numbers.len() == 1 { format!("step {list}") } else { format!("steps {list}") }
}

/// What changed, with the ranks that have each change; counts and times are those of the first of them.
pub(crate) fn changes<'a>(ranks: impl IntoIterator<Item = &'a RankStructure>) -> StructureChanges {
    let mut lists: BTreeMap<Fate, Vec<StructureChange>> = BTreeMap::new();
    for (fate, change) in ranks.into_iter().flat_map(|rank| &rank.changes) {
        let list = lists.entry(*fate).or_default();
        match list.iter_mut().find(|other| is_same(other, change)) {
            Some(other) => other.ranks.extend(&change.ranks),
            None => list.push(change.clone()),
        }
    }
    let mut sorted = |fate| {
        let mut list: Vec<StructureChange> = lists.remove(&fate).unwrap_or_default();
        list.iter_mut().for_each(|change| change.ranks.sort_unstable());
        list.sort_by_key(|change| {
            let moved = (change.test_ns.abs_diff(change.base_ns), change.base_ns.max(change.test_ns));
            (std::cmp::Reverse(moved), change.kind.clone(), change.name.clone(), change.within.clone())
        });
        list
    };
    StructureChanges {
        new: sorted(Fate::New),
        gone: sorted(Fate::Gone),
        swapped: sorted(Fate::Swapped),
        count_changed: sorted(Fate::Count),
    }
}

fn is_same(a: &StructureChange, b: &StructureChange) -> bool {
    let key = |of: &StructureChange| (of.base_count, of.test_count);
    a.kind == b.kind && a.name == b.name && a.within == b.within && a.replaced_by == b.replaced_by && key(a) == key(b)
}
