//! What devices do for nothing: copies that the host waits for, and work that is done twice.

use rankscope_execution::replay::{Change, Factor};
use rankscope_execution::{Activity, Key};

use super::names::{is_pageable, is_recompute};
use super::{Advice, Figures, Rule, Scene, Whom};

pub(super) fn advice(scene: &Scene<'_>) -> Vec<Advice> {
    [pageable(scene), recompute(scene)].into_iter().flatten().collect()
}

/// What all ranks spend a step on keys that `is` true of, how often, and the key with most.
fn spent(scene: &Scene<'_>, is: impl Fn(&Key) -> bool) -> Option<(Figures, Key)> {
    let ranks = scene.ledger.ranks();
    let sum = |at: u32| {
        (0..ranks).map(|rank| scene.ledger.spent(rank, at)).fold((0, 0), |sum, one| (sum.0 + one.ns, sum.1 + one.count))
    };
    let found: Vec<(&Key, (i64, u64))> =
        scene.ledger.keys().filter(|(_, key)| is(key)).map(|(at, key)| (key, sum(at))).collect();
    let (most, _) = found.iter().max_by(|a, b| (a.1.0, b.0).cmp(&(b.1.0, a.0)))?;
    let (ns, count) = found.iter().fold((0, 0), |all, (_, one)| (all.0 + one.0, all.1 + one.1));
    let figures = Figures {
        own_ns: scene.per_step(ns / ranks.max(1) as i64),
        count: count as f64 / ranks.max(1) as f64 / scene.steps as f64,
        ..Figures::default()
    };
    Some((figures, (*most).clone()))
}

fn pageable(scene: &Scene<'_>) -> Option<Advice> {
    let (figures, key) = spent(scene, |key| key.activity == Activity::Copy && is_pageable(&key.name))?;
    // The host is in the call for as long as it copies to memory that the device can read.
    let host = (!key.operator.is_empty()).then(|| Change::Host { name: key.operator.clone(), factor: Factor::ZERO });
    let copy = Change::Kernel { name: key.name.clone(), factor: Factor::ZERO };
    let worth = scene.worth(&[copy].into_iter().chain(host).collect::<Vec<_>>())?;
    Some(Advice {
        rule: Rule::PageableCopies,
        worth,
        whom: Whom::All,
        ranks: Vec::new(),
        name: key.name,
        place: key.operator,
        figures,
    })
}

fn recompute(scene: &Scene<'_>) -> Option<Advice> {
    let (figures, key) = spent(scene, |key| key.activity == Activity::Kernel && is_recompute(&key.operator, &key.place))?;
    let worth = scene.worth(&[Change::Within { place: key.place.clone(), factor: Factor::ZERO }])?;
    Some(Advice {
        rule: Rule::Recompute,
        worth,
        whom: Whom::All,
        ranks: Vec::new(),
        name: key.place,
        place: key.operator,
        figures,
    })
}
