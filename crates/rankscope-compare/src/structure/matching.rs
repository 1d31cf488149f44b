//! Which thing of the base is which of the test.

use std::collections::BTreeMap;

use crate::iterations::Iterations;
use crate::names::skeleton;

use super::items::Item;

/// What became of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fate {
    New,
    Gone,
    Swapped,
    /// It is there another number of times.
    Count,
}

/// A thing that changed, on both sides where it is on both.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Match {
    pub(super) fate: Fate,
    pub(super) base: Option<Item>,
    pub(super) test: Option<Item>,
}

/// What of `base` and `test`, all of one kind, is not on both equally often.
pub(super) fn matched(base: Vec<Item>, test: Vec<Item>, iterations: &Iterations) -> Vec<Match> {
    type Place = (Option<String>, Option<String>);
    let mut places: BTreeMap<Place, [Vec<Item>; 2]> = BTreeMap::new();
    for (side, items) in [base, test].into_iter().enumerate() {
        for item in items {
            places.entry((item.within.clone(), item.module.clone())).or_default()[side].push(item);
        }
    }
    places.into_values().flat_map(|[base, test]| at_place(base, test, iterations)).collect()
}

fn at_place(base: Vec<Item>, test: Vec<Item>, iterations: &Iterations) -> Vec<Match> {
    let mut found = Vec::new();
    let mut left: BTreeMap<String, Item> = test.into_iter().map(|item| (item.name.clone(), item)).collect();
    let mut gone = Vec::new();
    for item in base {
        match left.remove(&item.name) {
            Some(other) if differs(&item, &other, iterations) => {
                found.push(Match { fate: Fate::Count, base: Some(item), test: Some(other) });
            }
            Some(_) => {}
            None => gone.push(item),
        }
    }
    let new: Vec<Item> = left.into_values().collect();
    let pairs = replaced(&gone, &new, iterations);
    let mut new: Vec<Option<Item>> = new.into_iter().map(Some).collect();
    for (index, item) in gone.into_iter().enumerate() {
        let other = pairs.get(&index).and_then(|place| new[*place].take());
        let fate = if other.is_some() { Fate::Swapped } else { Fate::Gone };
        found.push(Match { fate, base: Some(item), test: other });
    }
    found.extend(new.into_iter().flatten().map(|item| Match { fate: Fate::New, base: None, test: Some(item) }));
    found
}

/// Whether the two are there another number of times in an iteration. Where the two sides have other numbers of iterations, some of them
/// may be cut, so half a call in each is no difference.
pub(super) fn differs(base: &Item, test: &Item, iterations: &Iterations) -> bool {
    let (b, t) = (base.sum.count, test.sum.count);
    if iterations.base == iterations.test {
        return b != t;
    }
    (b as f64 / iterations.base as f64 - t as f64 / iterations.test as f64).abs() >= 0.5
}

/// Which of `new` each of `gone` was replaced by: its only best candidate, whose only best candidate it is.
fn replaced(gone: &[Item], new: &[Item], iterations: &Iterations) -> BTreeMap<usize, usize> {
    let is_only_pair = gone.len() == 1 && new.len() == 1;
    let score = |base: usize, test: usize| score(&gone[base], &new[test], is_only_pair, iterations);
    let forward: Vec<Option<usize>> = (0..gone.len()).map(|base| only_best(new.len(), |test| score(base, test))).collect();
    let backward: Vec<Option<usize>> = (0..new.len()).map(|test| only_best(gone.len(), |base| score(base, test))).collect();
    let mutual = forward.into_iter().enumerate().filter_map(|(base, test)| Some((base, test?)));
    mutual.filter(|(base, test)| backward[*test] == Some(*base)).collect()
}

/// How well `test` may stand for `base`; none where it cannot.
fn score(base: &Item, test: &Item, is_only_pair: bool, iterations: &Iterations) -> Option<usize> {
    let per = |count: u64, iterations: u64| count as f64 / iterations.max(1) as f64;
    let (b, t) = (per(base.sum.count, iterations.base), per(test.sum.count, iterations.test));
    // One of few calls more or less is another number; a tenth of many is not.
    let is_often = (b - t).abs() <= 0.1 * b.max(t) || (is_only_pair && b.max(t) <= 2.0 * b.min(t));
    if !is_often || base.alike != test.alike {
        return None;
    }
    let ((shape, sizes), (other_shape, other_sizes)) = (skeleton(&base.name), skeleton(&test.name));
    let common = sizes.iter().zip(&other_sizes).filter(|(a, b)| a == b).count();
    let exact = usize::from(!differs(base, test, iterations));
    Some(exact * 1_000_000 + if shape == other_shape { 1_000 + common } else { 0 })
}

fn only_best(candidates: usize, score: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let mut scored: Vec<(usize, usize)> = (0..candidates).filter_map(|index| Some((score(index)?, index))).collect();
    scored.sort_unstable_by(|a, b| b.cmp(a));
    match scored[..] {
        [(best, index), ..] if scored.get(1).is_none_or(|(next, _)| *next < best) => Some(index),
        _ => None,
    }
}
