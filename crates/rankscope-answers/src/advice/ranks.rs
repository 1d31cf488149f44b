//! Ranks, nodes and stages that make the others wait: which of their own work does it, and what a step would take if they worked as
//! long as the median.

use rankscope_execution::replay::Change;
use rankscope_execution::{Activity, Key};
use rankscope_time::Rank;
use rustc_hash::FxHashMap;

use super::ledger::{Spent, median};
use super::names::{is_garbage, is_loader, is_of_data};
use super::sums::{computes, name_of};
use super::suspects::named;
use super::{Advice, Figures, Rule, Scene, Whom, Worth};
use crate::blame::{Culprit, Suspect};
use crate::pattern::Pattern;

/// Share of a step that a rank must cost which nothing but its cost speaks against.
const UNPROVEN_MIN: f64 = 0.05;

/// Ranks that are tried for it.
const UNPROVEN_MAX: usize = 4;

pub(super) fn advice(scene: &Scene<'_>) -> Vec<Advice> {
    let named = named(scene);
    if named.is_empty() {
        return unproven(scene).into_iter().collect();
    }
    named.iter().map(|(suspect, worth)| of_suspect(scene, suspect, *worth)).collect()
}

/// What a step would save if `ranks` worked as long as the median.
pub(super) fn at_median(scene: &Scene<'_>, ranks: &[usize]) -> Option<Worth> {
    let change = |rank: &usize| Change::RankAtMedian { rank: scene.number(*rank) };
    scene.worth(&ranks.iter().map(change).collect::<Vec<_>>())
}

/// The rank without whose own work a step is much shorter, where nobody stands out beyond chance but few steps or rare ones are why. Of
/// those that caused most, as ranks that meet the late one first are late with it.
fn unproven(scene: &Scene<'_>) -> Option<Advice> {
    let culprits = &scene.input.blamed.culprits;
    let mut most: Vec<usize> = (0..scene.ledger.ranks()).filter(|rank| culprits.caused_ns(*rank) > 0).collect();
    most.sort_by_key(|rank| (std::cmp::Reverse(culprits.caused_ns(*rank)), *rank));
    most.truncate(UNPROVEN_MAX);
    // Running the job again takes a pass over it for each of them, which none can be worth whose own work is not more by enough.
    let least_ns = MOST * UNPROVEN_MIN * scene.step_ns as f64;
    if most.iter().all(|rank| (scene.per_step(scene.sums().more_ns(*rank)) as f64) < least_ns) {
        return None;
    }
    let mut worths: Vec<(usize, Worth)> =
        most.into_iter().filter_map(|rank| Some((rank, at_median(scene, &[rank])?))).collect();
    worths.sort_by_key(|(rank, worth)| (std::cmp::Reverse(worth.ns), *rank));
    let (rank, worth) = *worths.first()?;
    let next_ns = worths.get(1).map_or(0, |(_, next)| next.ns.max(0));
    let is_much = worth.ns as f64 >= UNPROVEN_MIN * scene.step_ns as f64 && worth.ns >= next_ns.saturating_mul(2);
    // What the others do as much, only at other times, is no fault of this rank.
    if !is_much || !Why::of(scene, &[rank]).explains(scene, worth.ns) {
        return None;
    }
    let (caused_ns, pattern) = (culprits.caused_ns(rank), culprits.pattern(rank));
    let suspect = Suspect { culprit: Culprit::Rank(rank), ranks: vec![rank], caused_ns, pattern };
    Some(of_suspect(scene, &suspect, worth))
}

fn of_suspect(scene: &Scene<'_>, suspect: &Suspect, worth: Worth) -> Advice {
    let why = Why::of(scene, &suspect.ranks).rule(scene, &suspect.ranks, worth.ns);
    let (rule, whom) = match suspect.culprit {
        Culprit::Busiest(_) if why.rule == Rule::UnevenWork => (Rule::HeavyStage, Whom::Ranks),
        Culprit::Rank(_) | Culprit::Busiest(_) => (why.rule, Whom::Ranks),
        Culprit::Node(node) => (Rule::StragglerNode, Whom::Node(node)),
        Culprit::Stage(stage) => (Rule::HeavyStage, Whom::Stage(stage)),
    };
    let every = match suspect.pattern {
        Pattern::Periodic { every } => Some(every),
        _ => None,
    };
    let figures = Figures { every, ..why.figures };
    Advice { rule, worth, whom, ranks: suspect.ranks.clone(), name: why.name, place: why.place, figures }
}

/// What a set of ranks is late by. Blame looks at single stretches, in which the same work may stand on one rank and not on the other;
/// over the whole recording it does not.
pub(super) struct Why {
    /// Whether there is a device, beside which a slower host may cost nothing.
    on_device: bool,
    /// What the ranks' hosts do longer than those of the other ranks, by name, the largest first.
    host: Vec<More>,
    /// What does the computing, by operator: devices, or hosts where there are none.
    work: Vec<More>,
}

/// Work of one name.
#[derive(Clone, Debug)]
struct More {
    operator: String,
    place: String,
    own: Spent,
    others: Spent,
}

impl More {
    fn ns(&self) -> i64 {
        self.own.ns - self.others.ns
    }

    fn is_more(&self) -> bool {
        self.own.count as f64 >= MORE_KERNELS * self.others.count as f64
    }
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

/// Kernels that are more by this factor are other work, and not the same that takes longer.
const MORE_KERNELS: f64 = 1.05;

impl Why {
    pub(super) fn of(scene: &Scene<'_>, ranks: &[usize]) -> Self {
        let on_device = scene.ledger.of_activity(Activity::Kernel).count > 0;
        let works = |activity: Activity| computes(activity, on_device);
        let of_host = |activity: Activity| activity.is_host() && !works(activity);
        Self { on_device, host: more(scene, ranks, of_host), work: more(scene, ranks, works) }
    }

    /// Whether the ranks work longer than the others by most of `worth_ns` a step.
    pub(super) fn explains(&self, scene: &Scene<'_>, worth_ns: i64) -> bool {
        scene.per_step(self.more_ns()) as f64 >= MOST * worth_ns as f64
    }

    /// What they do longer than the others.
    fn more_ns(&self) -> i64 {
        self.work.iter().chain(&self.host).map(|one| one.ns().max(0)).fold(0, i64::saturating_add)
    }

    /// Whether what they do longer is done more often, too.
    pub(super) fn has_more_work(&self) -> bool {
        self.work.first().is_some_and(More::is_more)
    }

    /// The rule that speaks for `ranks`, without which a step takes `worth_ns` less.
    fn rule(&self, scene: &Scene<'_>, ranks: &[usize], worth_ns: i64) -> Because {
        let sum = |all: &[More]| all.iter().map(More::ns).filter(|ns| *ns > 0).sum::<i64>();
        let (work_ns, host_ns) = (sum(&self.work), sum(&self.host));
        let most_ns = |all: &[More]| all.first().map_or(0, More::ns);
        // On a host without a device everything is host time, and the name that has most of it is the reason.
        let is_work = self.on_device || (work_ns > host_ns && most_ns(&self.work) >= most_ns(&self.host));
        if scene.per_step(work_ns) as f64 >= MOST * worth_ns as f64 && is_work {
            return self.of_work(scene, ranks);
        }
        let Some(most) = self.host.first() else { return whole_host(scene, ranks) };
        let is_most = most.ns() as f64 >= MOST * host_ns as f64;
        let rule = if is_loader(&most.operator, &most.place) {
            Rule::DataLoader
        } else if is_garbage(&most.operator, &most.place) {
            Rule::GarbageCollection
        } else {
            Rule::StragglerRank
        };
        if rule == Rule::StragglerRank && !is_most {
            return whole_host(scene, ranks);
        }
        let name = if most.operator.is_empty() { UNRECORDED } else { &most.operator };
        let figures =
            Figures { own_ns: scene.per_step(most.own.ns), others_ns: scene.per_step(most.others.ns), ..Figures::default() };
        Because { rule, name: name.to_owned(), place: most.place.clone(), figures }
    }

    fn of_work(&self, scene: &Scene<'_>, ranks: &[usize]) -> Because {
        if let Some(ratio) = self.slower_alike() {
            let (own_ns, others_ns) = scene.beside(ranks, |activity| activity == Activity::Kernel);
            let figures = Figures { own_ns, others_ns, ratio, ..Figures::default() };
            return Because { rule: Rule::ThrottledDevice, name: String::new(), place: String::new(), figures };
        }
        let Some(most) = self.work.first() else { return whole_host(scene, ranks) };
        let is_uneven = most.is_more() || is_of_data(&most.operator, &most.place);
        let figures = Figures {
            own_ns: scene.per_step(most.own.ns),
            others_ns: scene.per_step(most.others.ns),
            ratio: ratio(most.own.ns, most.others.ns),
            ..Figures::default()
        };
        let rule = if is_uneven { Rule::UnevenWork } else { Rule::StragglerRank };
        Because { rule, name: most.operator.clone(), place: most.place.clone(), figures }
    }

    /// The factor by which all kernels are slower than those of the other ranks.
    fn slower_alike(&self) -> Option<f64> {
        let both = || self.work.iter().filter(|one| one.own.ns > 0 && one.others.ns > 0);
        let (own, others) = both().fold((0, 0), |sum, one| (sum.0 + one.own.ns, sum.1 + one.others.ns));
        let factor = ratio(own, others);
        let is_alike = |one: &&More| {
            let same_count = (one.own.count as f64) < MORE_KERNELS * one.others.count as f64;
            same_count && (0.6..1.5).contains(&((ratio(one.own.ns, one.others.ns) - 1.0) / (factor - 1.0)))
        };
        let alike_ns: i64 = both().filter(is_alike).map(|one| one.others.ns).sum();
        let is_so = both().filter(is_alike).count() >= ALIKE_MIN && alike_ns as f64 >= ALIKE_SHARE * others as f64;
        (factor >= SLOWER_MIN && is_so).then_some(factor)
    }
}

/// No name stands out: the host as a whole is slower.
fn whole_host(scene: &Scene<'_>, ranks: &[usize]) -> Because {
    let (own_ns, others_ns) = scene.beside(ranks, Activity::is_host);
    let figures = Figures { own_ns, others_ns, ratio: ratio(own_ns, others_ns), ..Figures::default() };
    Because { rule: Rule::StragglerRank, name: HOST.to_owned(), place: String::new(), figures }
}

/// What `ranks` do beside the others, of activities that `is` true of, by operator or else by name, what they do most longer first; the
/// median of either.
fn more(scene: &Scene<'_>, ranks: &[usize], is: impl Fn(Activity) -> bool) -> Vec<More> {
    let others: Vec<usize> = (0..scene.ledger.ranks()).filter(|rank| !ranks.contains(rank)).collect();
    let mut operators: FxHashMap<&str, Vec<(u32, &Key)>> = FxHashMap::default();
    for (at, key) in scene.ledger.keys().filter(|(_, key)| is(key.activity)) {
        operators.entry(name_of(key)).or_default().push((at, key));
    }
    let more = |(operator, keys): (&str, Vec<(u32, &Key)>)| {
        let sum = |rank: usize, of: fn(Spent) -> i64| keys.iter().map(|(at, _)| of(scene.ledger.spent(rank, *at))).sum::<i64>();
        let middle = |ranks: &[usize], of: fn(Spent) -> i64| median(ranks.iter().map(|rank| sum(*rank, of))).unwrap_or(0);
        let both = |ranks: &[usize]| Spent {
            ns: middle(ranks, |spent| spent.ns),
            count: middle(ranks, |spent| spent.count as i64).max(0) as u64,
        };
        let excess = |at: u32| {
            let own = median(ranks.iter().map(|rank| scene.ledger.spent(*rank, at).ns)).unwrap_or(0);
            own - median(others.iter().map(|rank| scene.ledger.spent(*rank, at).ns)).unwrap_or(0)
        };
        let (_, most) = keys.iter().max_by(|a, b| (excess(a.0), b.1).cmp(&(excess(b.0), a.1))).copied()?;
        Some(More { operator: operator.to_owned(), place: most.place.clone(), own: both(ranks), others: both(&others) })
    };
    let mut all: Vec<More> = operators.into_iter().filter_map(more).collect();
    all.sort_by(|a, b| (b.ns(), &a.operator).cmp(&(a.ns(), &b.operator)));
    all
}

/// What advice calls the host of a rank as a whole.
pub const HOST: &str = "host";

/// What it calls the time in which a trace records nothing.
pub const UNRECORDED: &str = "unrecorded";

fn ratio(own_ns: i64, others_ns: i64) -> f64 {
    if others_ns > 0 { own_ns as f64 / others_ns as f64 } else { 0.0 }
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
