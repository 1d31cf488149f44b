//! Ranks that called different things by one number: another operation, another size, another type.
//!
//! They are compared by majority and never with the first of them, which may be the one that is wrong. What was not recorded on some
//! rank is compared on none, and sizes only where the operation wants them equal.

use std::collections::BTreeMap;

use rankscope_collectives::Kind;

use crate::call::Shape;
use crate::told::{GroupId, Scene};

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Operation,
    Size,
    Type,
}

/// One collective that is called differently.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) what: What,
    /// Ranks by what they called, as words, the most first.
    pub(crate) sides: Vec<(String, Vec<u32>)>,
}

impl Difference {
    /// Those who differ from the majority; all, where there is none.
    pub(crate) fn roots(&self) -> Vec<u32> {
        let all: usize = self.sides.iter().map(|(_, ranks)| ranks.len()).sum();
        let skipped = usize::from(self.majority().is_some_and(|(_, ranks)| ranks.len() * 2 > all));
        let mut roots: Vec<u32> = self.sides.iter().skip(skipped).flat_map(|(_, ranks)| ranks.iter().copied()).collect();
        roots.sort_unstable();
        roots
    }

    /// What more than half of them called, if anything.
    pub(crate) fn majority(&self) -> Option<&(String, Vec<u32>)> {
        let all: usize = self.sides.iter().map(|(_, ranks)| ranks.len()).sum();
        self.sides.first().filter(|(_, ranks)| ranks.len() * 2 > all)
    }

    /// What `rank` called.
    pub(crate) fn called(&self, rank: u32) -> &str {
        self.sides.iter().find(|(_, ranks)| ranks.contains(&rank)).map_or("", |(called, _)| called)
    }
}

/// How ranks differ in a collective, if they do.
pub(crate) fn difference(scene: &Scene<'_>, group: GroupId, sequence: u64) -> Option<Difference> {
    let called = scene.groups[group.0].ranks.iter().filter_map(|rank| {
        let state = scene.place(*rank).map(|place| &scene.ranks[place]).filter(|state| !state.is_stale)?;
        let place = state.progress.find(group, sequence)?;
        Some((*rank, state.progress.at(place).shape(&state.dumped?.dumps)))
    });
    let called: Vec<(u32, &Shape)> = called.collect();
    let all_have = |has: fn(&Shape) -> bool| called.iter().all(|(_, shape)| has(shape));
    let operations = sides(&called, |shape| shape.operation.to_string());
    if operations.len() > 1 {
        return Some(Difference { what: What::Operation, sides: operations });
    }
    let operation = called.first().map(|(_, shape)| &*shape.operation)?;
    if wants_equal_inputs(operation) && all_have(|shape| !shape.inputs.is_empty()) {
        let sizes = sides(&called, |shape| counts(&shape.inputs, scene.form.unit()));
        if sizes.len() > 1 {
            return Some(Difference { what: What::Size, sides: sizes });
        }
    }
    if all_have(|shape| !shape.dtypes.is_empty()) {
        let types = sides(&called, |shape| shape.dtypes.join(", "));
        if types.len() > 1 {
            return Some(Difference { what: What::Type, sides: types });
        }
    }
    None
}

/// Ranks by what they called, the most first, then by the words.
fn sides(called: &[(u32, &Shape)], of: impl Fn(&Shape) -> String) -> Vec<(String, Vec<u32>)> {
    let mut sides: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (rank, shape) in called {
        sides.entry(of(shape)).or_default().push(*rank);
    }
    let mut sides: Vec<_> = sides.into_iter().collect();
    sides.sort_by_key(|(_, ranks)| std::cmp::Reverse(ranks.len()));
    sides
}

fn counts(sizes: &[i64], unit: &str) -> String {
    let all: Vec<String> = sizes.iter().map(i64::to_string).collect();
    format!("{} {unit}", all.join(" + "))
}

/// Whether every rank puts in as much. Exchanges, gathers to one and scatters from one may be uneven, and so may gathers of vectors.
fn wants_equal_inputs(operation: &str) -> bool {
    match Kind::of_name(operation) {
        Kind::AllGather => !operation.replace('_', "").to_ascii_lowercase().contains("allgatherv"),
        kind => matches!(kind, Kind::AllReduce | Kind::ReduceScatter | Kind::Broadcast | Kind::Reduce | Kind::Barrier),
    }
}
