//! What collectives cost beyond what they have to: transfers that nothing hides, links that are slower than others, pipelines that
//! wait longer than their schedule makes them.

use rankscope_execution::replay::{Change, Factor};
use rustc_hash::FxHashMap;

use super::{Advice, Figures, Rule, Scene, Sort, Whom};

/// Transfers that take this many times what the fastest of their sort take are on a slow link.
const SLOWER: f64 = 1.3;

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
    if all.is_empty() {
        all.extend(exposed(scene));
    }
    all.extend(bubble(scene));
    all
}

/// Groups whose transfers take longer than those of groups that do the same.
fn slow_links(scene: &Scene<'_>) -> Vec<Advice> {
    // Beside another group that is fast, as transfers of one group alone may differ for any reason.
    let is_fast = |other: &Sort, sort: &Sort| {
        other.kind == sort.kind && other.group != sort.group && (1.0..FAST).contains(&slowness(other))
    };
    let has_reference = |sort: &Sort| scene.input.sorts.iter().any(|other| is_fast(other, sort));
    let is_slow = |sort: &&Sort| slowness(sort) >= SLOWER && sort.budget.network_saves_ns_per_step > 0 && has_reference(sort);
    let mut slow: Vec<&Sort> = scene.input.sorts.iter().filter(is_slow).collect();
    slow.sort_by_key(|sort| std::cmp::Reverse(sort.budget.transfer_ns - sort.budget.transfer_at_best_ns));
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

/// What its transfers take beside the fastest.
fn slowness(sort: &Sort<'_>) -> f64 {
    let Sort { budget, .. } = sort;
    if budget.transfer_at_best_ns > 0 { budget.transfer_ns as f64 / budget.transfer_at_best_ns as f64 } else { 0.0 }
}

/// The collectives whose transfers cost a step most.
fn exposed(scene: &Scene<'_>) -> Option<Advice> {
    let mut sums: FxHashMap<(&str, &str), i64> = FxHashMap::default();
    for sort in scene.input.sorts.iter().filter(|sort| !sort.is_message) {
        *sums.entry((&sort.kind, &sort.group)).or_default() += sort.budget.transfer_ns;
    }
    let of_kind = |kind: &str| sums.iter().filter(|((own, _), _)| *own == kind).map(|(_, ns)| *ns).sum::<i64>();
    let ((kind, group), _) =
        sums.iter().max_by_key(|((kind, group), ns)| (of_kind(kind), **ns, std::cmp::Reverse((*kind, *group))))?;
    let transfer_ns = of_kind(kind);
    let own_ns = scene.per_step(transfer_ns / scene.ledger.ranks().max(1) as i64);
    if (own_ns as f64) < EXPOSED_MIN * scene.step_ns as f64 {
        return None;
    }
    // Perfect overlap keeps what starts too late; what starting it early enough would save is at most its transfer.
    let worth = scene.worth(&[Change::Collective { kind: (*kind).to_owned(), group: None, factor: Factor::ZERO }])?;
    let figures = Figures { own_ns, ..Figures::default() };
    let (name, place) = ((*kind).to_owned(), (*group).to_owned());
    Some(Advice { rule: Rule::ExposedCommunication, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// What stages wait for each other, beside the least that they have to.
fn bubble(scene: &Scene<'_>) -> Option<Advice> {
    let stages = scene.input.stages.len();
    if stages < 2 {
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
        worth: super::Worth { ns, lo_ns: ns, hi_ns: own_ns },
        whom: Whom::All,
        ranks: Vec::new(),
        name: String::new(),
        place: String::new(),
        figures: Figures { own_ns, others_ns, count: batches, ..Figures::default() },
    })
}
