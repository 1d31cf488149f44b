//! The first steps: what they take more than those after them.

use std::collections::BTreeMap;

use rankscope_execution::{Execution, KeyId, PathClass};

use super::names::is_compiling;
use super::path::{Named, PathTime};
use super::worth::Worth;
use super::{Advice, Figures, Rule, Scene, Whom};

/// Steps there must be.
const STEPS_MIN: usize = 5;

/// A first step that takes this many times as long as the median one is slow.
const SLOWER: f64 = 1.2;

pub(super) fn advice(scene: &Scene<'_>) -> Option<Advice> {
    let mut steps_ns = scene.input.replay.observed_steps_ns().to_vec();
    if steps_ns.len() < STEPS_MIN {
        return None;
    }
    // A step's window begins with its first work on a device; what compiles before it is of the first step, too.
    let (compiled_ns, compiled) = compiled(scene);
    steps_ns[0] = steps_ns[0].saturating_add(compiled_ns);
    let mut sorted = steps_ns.clone();
    sorted.sort_unstable();
    let usual_ns = sorted[sorted.len() / 2];
    let is_slow = |ns: &i64| *ns as f64 > SLOWER * usual_ns as f64;
    let first = steps_ns.iter().take_while(|ns| is_slow(ns)).count();
    // Slow steps that come again are nothing that warming up would take away.
    if first == 0 || first * 3 > steps_ns.len() || steps_ns[first..].iter().any(is_slow) {
        return None;
    }
    let more_ns: i64 = steps_ns[..first].iter().map(|ns| ns - usual_ns).sum();
    let ns = more_ns / steps_ns.len() as i64;
    let (name, place) = compiled.unwrap_or_else(|| cause(&scene.path, first));
    let figures = Figures {
        own_ns: steps_ns[..first].iter().sum::<i64>() / first as i64,
        others_ns: usual_ns,
        count: first as f64,
        ..Figures::default()
    };
    let worth = Worth { ns, lo_ns: ns, hi_ns: ns, steps: first };
    Some(Advice { rule: Rule::FirstSteps, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// What the rank that compiles longest before its first step spends on that, and in what.
fn compiled(scene: &Scene<'_>) -> (i64, Option<(String, String)>) {
    let of_rank = |(execution, begins_ns): (&&Execution, &Option<i64>)| {
        let mut sums: BTreeMap<KeyId, i64> = BTreeMap::new();
        let before = execution.ids().take_while(|id| begins_ns.is_some_and(|ns| execution.start_ns(*id) < ns));
        for share in before.flat_map(|id| execution.shares(id)) {
            let key = execution.key(share.key);
            if key.activity.is_host() && is_compiling(&key.name, &key.place) {
                *sums.entry(share.key).or_default() += share.ns;
            }
        }
        let most = sums.iter().max_by_key(|(key, ns)| (**ns, std::cmp::Reverse(**key)));
        let name = most.map(|(key, _)| (execution.key(*key).name.clone(), execution.key(*key).place.clone()));
        (sums.values().sum::<i64>(), name)
    };
    let ranks = scene.input.job.ranks.iter().zip(scene.input.begins_ns);
    ranks.map(of_rank).max_by_key(|(ns, _)| *ns).unwrap_or_default()
}

/// What the paths of the first steps have more than that of a later one.
fn cause(path: &PathTime, first: usize) -> (String, String) {
    let later = path.by_path.len().saturating_sub(1);
    let (Some(begun), Some(usual)) = (path.by_path.first(), path.by_path.get(later).filter(|_| later >= first)) else {
        return Default::default();
    };
    let more = |(named, ns): &(&Named, &i64)| **ns - usual.get(*named).copied().unwrap_or(0);
    let host = begun.iter().filter(|(named, _)| named.class == PathClass::Host);
    let most = host.max_by(|a, b| (more(a), b.0).cmp(&(more(b), a.0)));
    most.map(|(named, _)| (named.name.clone(), named.place.clone())).unwrap_or_default()
}
