//! What was added, removed or replaced: modules, operators, their arguments, their kernels, collectives and marks of steps; and what is
//! launched in another order.
//!
//! Things are compared at their place: arguments and kernels under their operator, kernels in their module too, collectives in their
//! process group. What is inside something new or gone is not listed again. A replacement needs the same place and as many calls, and
//! no second candidate; where that is open, one is gone and the other new. Of several runs a side, what they agree on is compared.

mod agreed;
mod details;
mod items;
mod matching;
mod order;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{OrderChange, StructureChange, StructureKind, StructureVariation};

use crate::iterations::{Iterations, share};
use crate::work::{Leaf, RankWork, Splitting, Sum};

use agreed::{Agreed, agreed};
use items::{Item, Key};
pub(crate) use matching::Fate;
use matching::{Match, matched};
pub(crate) use told::changes;

/// What changed on one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankStructure {
    number: u32,
    changes: Vec<(Fate, StructureChange)>,
    /// What is launched in another order.
    reordered: Vec<OrderChange>,
    /// What runs of one side differ in.
    varying: Vec<StructureVariation>,
    /// What of the base each replaced thing of the test stands for.
    renamed: BTreeMap<Leaf, Leaf>,
}

/// A rank in each run of one side.
pub(crate) struct RankSide<'a> {
    /// What the side is called.
    pub(crate) label: &'a str,
    /// The rank in its runs, of which there is one.
    pub(crate) runs: Vec<RankWork<'a>>,
}

impl RankStructure {
    /// What changed on a rank from `base` to `test`; `iterations` are those of the first runs.
    pub(crate) fn of(base: &RankSide<'_>, test: &RankSide<'_>, splitting: &Splitting, iterations: &Iterations) -> Self {
        let mut all =
            Self { number: base.runs[0].rank.rank, reordered: order::changed(&base.runs, &test.runs), ..Self::default() };
        let runs = || base.runs.iter().chain(&test.runs);
        let by_module = runs().all(|run| items::knows_modules(*run));
        let of_side = |side: &RankSide<'_>| {
            agreed(side.runs.iter().map(|run| (items::items(*run, splitting, by_module), run.iterations)).collect())
        };
        let (mut of_base, mut of_test) = (of_side(base), of_side(test));
        all.put_varying(base.label, &of_base);
        all.put_varying(test.label, &of_test);
        all.compare(&mut of_base, &mut of_test, iterations);
        all.merge_modules();
        all.put_marks(base.runs[0].rank.steps.len(), test.runs[0].rank.steps.len(), iterations);
        all
    }

    fn compare(&mut self, base: &mut Agreed, test: &mut Agreed, iterations: &Iterations) {
        let mut changed: BTreeSet<Key> = BTreeSet::new();
        for kind in items::KINDS {
            let mut both = [&mut *base, &mut *test].map(|side| side.items.remove(&kind).unwrap_or_default());
            // What is inside something that is on one side only goes with it; what the runs of a side differ in is not compared.
            for own in &mut both {
                own.retain(|item| {
                    let key = item.key(&kind);
                    let is_inside = |outer: &Key| changed.contains(outer) || base.has(outer) || test.has(outer);
                    let varies = |side: &Agreed| side.varying.contains(&(key.clone(), item.module.clone()));
                    !item.inside.iter().any(is_inside) && !varies(base) && !varies(test)
                });
            }
            let [mut of_base, mut of_test] = both;
            let is_detail = matches!(kind, StructureKind::Strides | StructureKind::Values);
            if is_detail {
                details::at_common_places(&mut of_base, &mut of_test);
            }
            let mut found = matched(of_base, of_test, iterations);
            // Of modules within each other the outer one is first.
            found.sort_by_key(|found| found.base.as_ref().or(found.test.as_ref()).map_or(0, |item| item.inside.len()));
            for found in found {
                let is_inside = [&found.base, &found.test]
                    .into_iter()
                    .flatten()
                    .any(|item| item.inside.iter().any(|outer| changed.contains(outer)));
                if is_inside || self.follows(&found) || (is_detail && found.fate == Fate::Count) {
                    continue;
                }
                if found.fate != Fate::Count {
                    changed.extend([&found.base, &found.test].into_iter().flatten().map(|item| item.key(&kind)));
                }
                self.put(&kind, found, iterations);
            }
        }
    }

    /// How much changed.
    pub(crate) fn len(&self) -> usize {
        self.changes.len() + self.reordered.len()
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

    fn put(&mut self, kind: &StructureKind, found: Match, iterations: &Iterations) {
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
            modules: item.module.into_iter().collect(),
            replaced_by,
            base_count,
            test_count,
            base_ns,
            test_ns,
            ranks: Vec::new(),
        };
        self.changes.push((found.fate, change));
    }

    /// Makes one of the changes that differ in the module alone.
    fn merge_modules(&mut self) {
        type Place = (Fate, StructureKind, Option<String>, String, Option<String>);
        let mut merged: Vec<(Fate, StructureChange)> = Vec::new();
        let mut places: BTreeMap<Place, usize> = BTreeMap::new();
        for (fate, change) in std::mem::take(&mut self.changes) {
            let place = (fate, change.kind.clone(), change.within.clone(), change.name.clone(), change.replaced_by.clone());
            let Some(at) = places.get(&place).filter(|_| !change.modules.is_empty()) else {
                places.insert(place, merged.len());
                merged.push((fate, change));
                continue;
            };
            let known = &mut merged[*at].1;
            known.modules.extend(change.modules);
            known.base_count += change.base_count;
            known.test_count += change.test_count;
            known.base_ns = known.base_ns.saturating_add(change.base_ns);
            known.test_ns = known.test_ns.saturating_add(change.test_ns);
        }
        self.changes = merged;
    }

    fn put_varying(&mut self, label: &str, side: &Agreed) {
        self.varying.extend(side.told.iter().map(|one| StructureVariation { side: label.to_owned(), ..one.clone() }));
    }

    fn put_marks(&mut self, base: usize, test: usize, iterations: &Iterations) {
        let Some(lost) = &iterations.lost else { return };
        let change = StructureChange {
            kind: StructureKind::StepMarks,
            name: steps(&lost.steps),
            base_count: base as u64,
            test_count: test as u64,
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
