//! What the runs of one side agree on.
//!
//! A thing is a side's where each of its runs has it equally often in an iteration. What only some runs have tells nothing about the
//! configuration: it is listed, with how often the runs have it, and not compared.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{StructureKind, StructureVariation};

use super::items::{Item, Items, KINDS, Key};
use super::matching::differs;
use crate::iterations::{Iterations, share};

/// A side's things, and what its runs differ in.
pub(super) struct Agreed {
    pub(super) items: Items,
    /// What they differ in, by module, too.
    pub(super) varying: BTreeSet<(Key, Option<String>)>,
    pub(super) told: Vec<StructureVariation>,
}

/// The things that all of `runs`, each with its number of iterations, have.
pub(super) fn agreed(mut runs: Vec<(Items, u64)>) -> Agreed {
    let mut found = Agreed { items: Items::new(), varying: BTreeSet::new(), told: Vec::new() };
    let outer = if runs.len() > 1 { differences(&runs, &mut found) } else { Vec::new() };
    found.told = outer;
    if !runs.is_empty() {
        found.items = runs.swap_remove(0).0;
    }
    found
}

/// Puts what the runs differ in into `found`; returns what of it is to be told, without what is inside it.
fn differences(runs: &[(Items, u64)], found: &mut Agreed) -> Vec<StructureVariation> {
    let mut told = Vec::new();
    for kind in KINDS {
        let mut places: BTreeMap<(Key, &Option<String>), Vec<Option<&Item>>> = BTreeMap::new();
        for (at, (items, _)) in runs.iter().enumerate() {
            for item in items.get(&kind).into_iter().flatten() {
                places.entry((item.key(&kind), &item.module)).or_insert_with(|| vec![None; runs.len()])[at] = Some(item);
            }
        }
        for ((key, module), of_runs) in places {
            if !do_differ(&of_runs, runs) {
                continue;
            }
            let is_inside = of_runs.iter().flatten().any(|item| item.inside.iter().any(|outer| found.has(outer)));
            let is_detail = matches!(kind, StructureKind::Strides | StructureKind::Values);
            found.varying.insert((key.clone(), module.clone()));
            if !is_inside && !is_detail {
                told.push(variation(key, &of_runs, runs));
            }
        }
    }
    told
}

impl Agreed {
    /// Whether the runs differ in the thing of this key, in whatever module.
    pub(super) fn has(&self, key: &Key) -> bool {
        self.varying.range((key.clone(), None)..).next().is_some_and(|(found, _)| found == key)
    }
}

fn do_differ(of_runs: &[Option<&Item>], runs: &[(Items, u64)]) -> bool {
    let Some(first) = of_runs[0] else { return true };
    let pairs = of_runs.iter().zip(runs);
    pairs.into_iter().any(|(item, (_, iterations))| {
        let both = Iterations { base: runs[0].1, test: *iterations, lost: None };
        item.is_none_or(|item| differs(first, item, &both))
    })
}

fn variation((kind, within, name): Key, of_runs: &[Option<&Item>], runs: &[(Items, u64)]) -> StructureVariation {
    let is_same = runs.iter().all(|(_, iterations)| *iterations == runs[0].1);
    let count = |(item, (_, iterations)): (&Option<&Item>, &(Items, u64))| {
        let count = item.map_or(0, |item| item.sum.count);
        if is_same { count } else { share(count as i64, *iterations) as u64 }
    };
    let counts = || of_runs.iter().zip(runs).map(count);
    StructureVariation {
        side: String::new(),
        kind,
        name,
        within,
        runs: of_runs.iter().flatten().count(),
        least: counts().min().unwrap_or(0),
        most: counts().max().unwrap_or(0),
        ranks: Vec::new(),
    }
}
