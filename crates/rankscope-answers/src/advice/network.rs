//! What collectives cost beyond what they have to: transfers that nothing hides, links that are slower than others, pipelines that
//! wait longer than their schedule makes them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use rankscope_execution::replay::{Change, Factor, Reach};

use super::{Advice, Figures, LateOut, Link, Rule, Scene, Sort, Whom};

/// Transfers that take this many times what the fastest of their sort take are on a slow link.
const SLOWER: f64 = crate::links::SLOWER;

/// Transfers of a fast group take less than this many times what the fastest of their sort takes.
const FAST: f64 = 1.2;

/// Transfers must be exposed for this share of a step before it is worth hiding them.
const EXPOSED_MIN: f64 = 0.05;

/// A pipeline that waits for longer than its schedule has to by this share of a step waits too long.
const BUBBLE_MIN: f64 = 0.05;

/// Sorts that are tried.
const SORTS_MAX: usize = 8;

pub(super) fn advice(scene: &Scene<'_>) -> Vec<Advice> {
    // What a slow link makes long is not what should have started earlier.
    let mut all: Vec<Advice> = slow_links(scene);
    all.extend(slow_groups(scene));
    // Unless it costs nothing: then it is not why they are exposed.
    let is_known = |all: &[Advice]| all.iter().any(|one| scene.is_worth_it(&one.worth));
    if !is_known(&all) {
        all.extend(late_out(scene));
    }
    if !is_known(&all) {
        all.extend(exposed(scene));
    }
    all.extend(bubble(scene));
    all
}

/// Links between two nodes that are slower than those between others.
fn slow_links(scene: &Scene<'_>) -> Vec<Advice> {
    let advice = |Link { slow, exchange, ranks }: &Link| {
        let (one, other) = slow.nodes;
        // As it can be written and read.
        let speed = Factor::of((slow.ratio * 100.0).round() / 100.0)?;
        let worth = scene.worth(&[Change::Link { reach: Reach::Between(one, other), speed }])?;
        let figures = Figures { own_ns: slow.own_ns, others_ns: slow.others_ns, ratio: speed.value(), ..Figures::default() };
        let (name, place) = (format!("{one}-{other}"), exchange.clone());
        Some(Advice { rule: Rule::SlowLink, worth, whom: Whom::Link(one, other), ranks: ranks.clone(), name, place, figures })
    };
    scene.input.slow_links.iter().take(SORTS_MAX).filter_map(advice).collect()
}

/// Groups whose transfers take longer than those of groups that do the same.
fn slow_groups(scene: &Scene<'_>) -> Vec<Advice> {
    // Beside another group that is fast, as transfers of one group alone may differ for any reason.
    let is_fast = |other: &Sort, sort: &Sort| {
        other.kind == sort.kind && other.group != sort.group && (1.0..FAST).contains(&slowness(other))
    };
    let has_reference = |sort: &Sort| scene.input.sorts.iter().any(|other| is_fast(other, sort));
    // Links between two nodes have been compared already, whatever uses them.
    let is_slow = |sort: &&Sort| {
        !sort.over_link && slowness(sort) >= SLOWER && sort.budget.network_saves_ns_per_step > 0 && has_reference(sort)
    };
    let mut slow: Vec<&Sort> = scene.input.sorts.iter().filter(is_slow).collect();
    slow.sort_by_key(|sort| Reverse(sort.budget.transfer_ns - sort.budget.transfer_at_best_ns));
    slow.truncate(SORTS_MAX);
    let Some(worst) = slow.first() else { return Vec::new() };
    let to_best = |sort: &&Sort| {
        let factor = Factor::of(1.0 / slowness(sort))?;
        Some(Change::Collective { kind: sort.kind.clone(), group: Some(sort.group.clone()), factor })
    };
    let mut changes: Vec<Change> = slow.iter().filter_map(to_best).collect();
    changes.dedup();
    let Some(worth) = scene.worth(&changes) else { return Vec::new() };
    let mut ranks: Vec<usize> = slow.iter().flat_map(|sort| sort.ranks.iter().copied()).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let count = worst.budget.count.max(1) as i64;
    let figures = Figures {
        own_ns: worst.budget.transfer_ns / count,
        others_ns: worst.budget.transfer_at_best_ns / count,
        ratio: slowness(worst),
        ..Figures::default()
    };
    let name = format!("{} {}", worst.group, worst.kind);
    vec![Advice { rule: Rule::SlowLink, worth, whom: Whom::Ranks, ranks, name, place: String::new(), figures }]
}

/// The rank that what it receives reaches late. What others send on is late for that, too, so only the first of them is named.
fn late_out(scene: &Scene<'_>) -> Option<Advice> {
    let LateOut { found, group, kind } = scene.input.late_out?;
    let factor = Factor::of((100.0 / found.ratio()).round() / 100.0)?;
    let change = Change::Collective { kind: kind.clone(), group: Some(group.clone()), factor };
    let figures = Figures {
        own_ns: found.own_ns,
        others_ns: found.others_ns,
        ratio: found.ratio(),
        share: f64::from(found.last) / f64::from(found.of.max(1)),
        ..Figures::default()
    };
    Some(Advice {
        rule: Rule::SlowLink,
        worth: scene.worth(&[change])?,
        whom: Whom::Receiver,
        ranks: vec![found.rank],
        name: kind.clone(),
        place: group.clone(),
        figures,
    })
}

/// What its transfers take beside the fastest.
fn slowness(sort: &Sort<'_>) -> f64 {
    let Sort { budget, .. } = sort;
    if budget.transfer_at_best_ns > 0 { budget.transfer_ns as f64 / budget.transfer_at_best_ns as f64 } else { 0.0 }
}

/// Collectives whose transfers cost a step much, by what their groups are for: gradients may start earlier, while activations of a layer
/// that is split up cannot.
fn exposed(scene: &Scene<'_>) -> Vec<Advice> {
    let mut sums: BTreeMap<(&str, Option<&str>), Exposed<'_>> = BTreeMap::new();
    for sort in scene.input.sorts.iter().filter(|sort| !sort.is_message) {
        let sum = sums.entry((&sort.kind, sort.dimension.as_deref())).or_default();
        sum.transfer_ns = sum.transfer_ns.saturating_add(sort.budget.transfer_ns);
        sum.groups.insert(&sort.group);
    }
    let mut order: Vec<_> = sums.into_iter().collect();
    order.sort_by_key(|(_, sum)| Reverse(sum.transfer_ns));
    order.truncate(SORTS_MAX);
    order.into_iter().filter_map(|((kind, dimension), sum)| of_exposed(scene, kind, dimension, &sum)).collect()
}

/// Transfers that nothing hides, and the groups that make them.
#[derive(Default)]
struct Exposed<'a> {
    transfer_ns: i64,
    groups: BTreeSet<&'a str>,
}

fn of_exposed(scene: &Scene<'_>, kind: &str, dimension: Option<&str>, sum: &Exposed<'_>) -> Option<Advice> {
    let own_ns = scene.per_step(sum.transfer_ns / scene.ledger.ranks().max(1) as i64);
    if (own_ns as f64) < EXPOSED_MIN * scene.step_ns as f64 {
        return None;
    }
    let groups: Vec<&str> = dimension.map_or_else(|| sum.groups.iter().copied().collect(), |dimension| vec![dimension]);
    // Perfect overlap keeps what starts too late; what starting it early enough would save is at most its transfer.
    let change =
        |group: &&str| Change::Collective { kind: kind.to_owned(), group: Some((*group).to_owned()), factor: Factor::ZERO };
    let worth = scene.worth(&groups.iter().map(change).collect::<Vec<_>>())?;
    let figures = Figures { own_ns, ..Figures::default() };
    // Of several groups of which nobody knows what they are for, none is named.
    let place = if let [one] = groups.as_slice() { (*one).to_owned() } else { String::new() };
    let name = kind.to_owned();
    Some(Advice { rule: Rule::ExposedCommunication, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// What stages wait for each other, beside the least that they have to.
fn bubble(scene: &Scene<'_>) -> Option<Advice> {
    let stages = scene.input.stages.len();
    // Of a recording without steps nobody knows how many batches go through the pipeline before it is empty.
    if stages < 2 || !scene.has_steps() {
        return None;
    }
    let messages = || scene.input.sorts.iter().filter(|sort| sort.is_message);
    let pairs = (scene.ledger.ranks() * (stages - 1) / stages).max(1);
    let count: u64 = messages().map(|sort| sort.budget.count).sum();
    // Of each pair of neighbours a batch has one message there and one back.
    let batches = (count as f64 / pairs as f64 / 2.0 / scene.steps as f64).round().max(1.0);
    let waited_ns: i64 = messages().map(|sort| sort.budget.wait_ns).sum();
    let own = scene.per_step(waited_ns) as f64 / scene.ledger.ranks() as f64 / scene.step_ns as f64;
    let least = (stages - 1) as f64 / (batches + stages as f64 - 1.0);
    if own < least + BUBBLE_MIN {
        return None;
    }
    let (own_ns, others_ns) = ((own * scene.step_ns as f64) as i64, (least * scene.step_ns as f64) as i64);
    let ns = own_ns - others_ns;
    Some(Advice {
        rule: Rule::PipelineBubble,
        worth: super::Worth { ns, lo_ns: ns, hi_ns: own_ns, steps: scene.steps },
        whom: Whom::All,
        ranks: Vec::new(),
        name: String::new(),
        place: String::new(),
        figures: Figures { own_ns, others_ns, count: batches, ..Figures::default() },
    })
}
