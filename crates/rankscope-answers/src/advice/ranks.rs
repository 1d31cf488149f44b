//! Ranks, nodes and stages that make the others wait: which of their own work does it, and what a step would take if they worked as
//! long as the median.

use rankscope_execution::Activity;
use rankscope_execution::replay::Change;
use rankscope_time::Rank;
use rustc_hash::FxHashMap;

use super::ledger::median;
use super::names::{is_garbage, is_loader, is_of_data};
use super::{Advice, Figures, Rule, Scene, Whom};
use crate::blame::{Culprit, Reason, ReasonKind, Suspect};
use crate::pattern::Pattern;

/// Suspects that are looked at.
const SUSPECTS_MAX: usize = 8;

pub(super) fn advice(scene: &Scene<'_>) -> Vec<Advice> {
    scene.input.suspects.iter().take(SUSPECTS_MAX).filter_map(|suspect| of_suspect(scene, suspect)).collect()
}

fn of_suspect(scene: &Scene<'_>, suspect: &Suspect) -> Option<Advice> {
    let reasons = Why::of(scene, &suspect.ranks);
    let changes: Vec<Change> = suspect.ranks.iter().map(|rank| Change::RankAtMedian { rank: scene.number(*rank) }).collect();
    let worth = scene.worth(&changes)?;
    let why = reasons.rule(scene, &suspect.ranks);
    let (rule, whom) = match suspect.culprit {
        Culprit::Rank(_) => (why.rule, Whom::Ranks),
        Culprit::Node(node) => (Rule::StragglerNode, Whom::Node(node)),
        Culprit::Stage(stage) => (Rule::HeavyStage, Whom::Stage(stage)),
    };
    let every = match suspect.pattern {
        Pattern::Periodic { every } => Some(every),
        _ => None,
    };
    let figures = Figures { every, ..why.figures };
    Some(Advice { rule, worth, whom, ranks: suspect.ranks.clone(), name: why.name, place: why.place, figures })
}

/// What a set of ranks is late by, each sort of reason summed up.
struct Why {
    reasons: Vec<Reason>,
    kernels_ns: i64,
    host_ns: i64,
}

/// A rule and what it is about.
struct Because {
    rule: Rule,
    name: String,
    place: String,
    figures: Figures,
}

/// A name that has this share of the reasons of its sort is the reason.
const MOST: f64 = 0.5;

/// A rank whose kernels are all slower by this factor, or more, has a slow device.
const SLOWER_MIN: f64 = 1.03;

/// So many operators must be slower alike.
const ALIKE_MIN: usize = 4;

/// Share of the computation that must be slower alike.
const ALIKE_SHARE: f64 = 0.8;

impl Why {
    fn of(scene: &Scene<'_>, ranks: &[usize]) -> Self {
        let mut sums: FxHashMap<(ReasonKind, String, String), (i64, i64)> = FxHashMap::default();
        for reason in ranks.iter().flat_map(|rank| &scene.input.blamed.ranks[*rank].reasons) {
            let sum = sums.entry((reason.kind, reason.name.clone(), reason.place.clone())).or_default();
            *sum = (sum.0 + reason.ns, sum.1 + reason.median_ns);
        }
        let reason = |((kind, name, place), (ns, median_ns))| Reason { kind, name, place, ns, median_ns, because_of: None };
        let mut reasons: Vec<Reason> = sums.into_iter().map(reason).filter(|reason| reason.ns > 0).collect();
        reasons.sort_by(|a, b| (b.ns, a.kind, &a.name, &a.place).cmp(&(a.ns, b.kind, &b.name, &b.place)));
        let sum = |is: &dyn Fn(ReasonKind) -> bool| reasons.iter().filter(|one| is(one.kind)).map(|one| one.ns).sum();
        let is_kernels = |kind| matches!(kind, ReasonKind::LongerKernels | ReasonKind::MoreKernels);
        let is_host = |kind| matches!(kind, ReasonKind::Host | ReasonKind::Unrecorded | ReasonKind::DeviceGap);
        Self { kernels_ns: sum(&is_kernels), host_ns: sum(&is_host), reasons }
    }

    /// The rule that the reasons speak for.
    fn rule(&self, scene: &Scene<'_>, ranks: &[usize]) -> Because {
        if self.kernels_ns >= self.host_ns {
            return self.of_kernels(scene, ranks);
        }
        let of_host = |one: &&Reason| matches!(one.kind, ReasonKind::Host | ReasonKind::Unrecorded);
        let by_name = by_name(self.reasons.iter().filter(of_host));
        let Some((name, ns, median_ns)) = by_name.first().cloned() else { return self.whole_host(scene, ranks) };
        let place = self.place_of(&name);
        let rule = if is_loader(&name, &place) {
            Rule::DataLoader
        } else if is_garbage(&name, &place) {
            Rule::GarbageCollection
        } else {
            Rule::StragglerRank
        };
        if rule == Rule::StragglerRank && (ns as f64) < MOST * self.host_ns as f64 {
            return self.whole_host(scene, ranks);
        }
        let figures = Figures {
            own_ns: scene.per_step(ns + median_ns) / ranks.len() as i64,
            others_ns: scene.per_step(median_ns) / ranks.len() as i64,
            ..Figures::default()
        };
        Because { rule, name, place, figures }
    }

    /// No name stands out: the host as a whole is slower.
    fn whole_host(&self, scene: &Scene<'_>, ranks: &[usize]) -> Because {
        let (own_ns, others_ns) = scene.beside(ranks, |activity| activity.is_host());
        let figures = Figures { own_ns, others_ns, ratio: ratio(own_ns, others_ns), ..Figures::default() };
        Because { rule: Rule::StragglerRank, name: HOST.to_owned(), place: String::new(), figures }
    }

    fn of_kernels(&self, scene: &Scene<'_>, ranks: &[usize]) -> Because {
        if let Some(ratio) = slower_alike(scene, ranks) {
            let (own_ns, others_ns) = scene.beside(ranks, |activity| activity == Activity::Kernel);
            let figures = Figures { own_ns, others_ns, ratio, ..Figures::default() };
            return Because { rule: Rule::ThrottledDevice, name: String::new(), place: String::new(), figures };
        }
        let is_kernels = |one: &&Reason| matches!(one.kind, ReasonKind::LongerKernels | ReasonKind::MoreKernels);
        let by_name = by_name(self.reasons.iter().filter(is_kernels));
        let (name, ns, median_ns) = by_name.first().cloned().unwrap_or_default();
        let place = self.place_of(&name);
        let more_ns: i64 = self.reasons.iter().filter(|one| one.kind == ReasonKind::MoreKernels).map(|one| one.ns).sum();
        let is_uneven = more_ns * 2 > self.kernels_ns || is_of_data(&name, &place);
        let rule = if is_uneven { Rule::UnevenWork } else { Rule::StragglerRank };
        let figures = Figures {
            own_ns: scene.per_step(ns + median_ns) / ranks.len() as i64,
            others_ns: scene.per_step(median_ns) / ranks.len() as i64,
            ratio: ratio(ns + median_ns, median_ns),
            ..Figures::default()
        };
        Because { rule, name, place, figures }
    }

    /// Where the reason of this name that costs most is.
    fn place_of(&self, name: &str) -> String {
        self.reasons.iter().find(|one| one.name == name).map(|one| one.place.clone()).unwrap_or_default()
    }
}

/// What advice calls the host of a rank as a whole.
pub(super) const HOST: &str = "host";

/// Reasons by name: what they cost, and what the median spends; the largest first.
fn by_name<'a>(reasons: impl Iterator<Item = &'a Reason>) -> Vec<(String, i64, i64)> {
    let mut sums: FxHashMap<&str, (i64, i64)> = FxHashMap::default();
    for one in reasons {
        let sum = sums.entry(&one.name).or_default();
        *sum = (sum.0 + one.ns, sum.1 + one.median_ns);
    }
    let mut sums: Vec<(String, i64, i64)> =
        sums.into_iter().map(|(name, (ns, median))| (name.to_owned(), ns, median)).collect();
    sums.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    sums
}

fn ratio(own_ns: i64, others_ns: i64) -> f64 {
    if others_ns > 0 { own_ns as f64 / others_ns as f64 } else { 0.0 }
}

/// The factor by which the kernels of `ranks` are all slower than those of the other ranks.
fn slower_alike(scene: &Scene<'_>, ranks: &[usize]) -> Option<f64> {
    let mut operators: FxHashMap<&str, (i64, i64)> = FxHashMap::default();
    for (key, of) in scene.ledger.keys().filter(|(_, key)| key.activity == Activity::Kernel) {
        let others = (0..scene.ledger.ranks()).filter(|rank| !ranks.contains(rank));
        let other = median(others.map(|rank| scene.ledger.spent(rank, key).ns))?;
        let own = median(ranks.iter().map(|rank| scene.ledger.spent(*rank, key).ns))?;
        let sum = operators.entry(if of.operator.is_empty() { &of.name } else { &of.operator }).or_default();
        *sum = (sum.0 + own, sum.1 + other);
    }
    operators.retain(|_, (own, other)| *own > 0 && *other > 0);
    let (own, other) = operators.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let factor = ratio(own, other);
    let is_alike = |one: &&(i64, i64)| {
        let of_one = ratio(one.0, one.1) - 1.0;
        (0.6..1.5).contains(&(of_one / (factor - 1.0)))
    };
    let alike: Vec<&(i64, i64)> = operators.values().filter(is_alike).collect();
    let alike_ns: i64 = alike.iter().map(|one| one.1).sum();
    let is_so = factor >= SLOWER_MIN && alike.len() >= ALIKE_MIN && alike_ns as f64 >= ALIKE_SHARE * other as f64;
    is_so.then_some(factor)
}

impl Scene<'_> {
    /// The number of the rank at index `at`.
    pub(super) fn number(&self, at: usize) -> Rank {
        self.input.replay.rank(at)
    }

    /// What the median of `ranks` and the median of the others spend a step on activities that `is` true of.
    fn beside(&self, ranks: &[usize], is: impl Fn(Activity) -> bool) -> (i64, i64) {
        let keys: Vec<u32> = self.ledger.keys().filter(|(_, key)| is(key.activity)).map(|(at, _)| at).collect();
        let of = |rank: usize| self.per_step(keys.iter().map(|key| self.ledger.spent(rank, *key).ns).sum());
        let others = (0..self.ledger.ranks()).filter(|rank| !ranks.contains(rank));
        (median(ranks.iter().map(|rank| of(*rank))).unwrap_or(0), median(others.map(of)).unwrap_or(0))
    }
}
