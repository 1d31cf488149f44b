//! The host, on all ranks: batches that come late, garbage that is collected, calls that wait for the device, and launches that do not
//! keep up with it.

use rankscope_execution::replay::{Change, Factor};
use rankscope_execution::{Activity, Dependency, LaneKind, PathClass, PieceId};
use rustc_hash::FxHashMap;

use super::names::{is_compiling, is_copying, is_garbage, is_loader};
use super::path::Named;
use super::{Advice, Figures, Rule, Scene, Whom};

/// Paths that are the host's for this share are bound by the host.
const HOST_BOUND: f64 = 0.3;

/// Calls a step that wait for the device, beyond the one that ends it.
const WAITS_MIN: f64 = 2.0;

/// Kernels that are longer than this on average are not small, however long the host takes.
const SMALL_NS: i64 = 20_000;

/// Small kernels that cost less than this share of a step hide well enough.
const SMALL_WORTH_MIN: f64 = 0.05;

/// Kernels a step below which nobody needs to fuse them.
const SMALL_MIN: f64 = 50.0;

/// Advice on the host that is not one rank's, which `known` has.
pub(super) fn advice(scene: &Scene<'_>, known: &[Advice]) -> Vec<Advice> {
    let is_new = |rule: Rule| known.iter().all(|one| one.rule != rule);
    let mut all = Vec::new();
    if is_new(Rule::DataLoader) {
        all.extend(named(scene, Rule::DataLoader, |of| is_loader(&of.name, &of.place)));
    }
    if is_new(Rule::GarbageCollection) {
        all.extend(named(scene, Rule::GarbageCollection, |of| is_garbage(&of.name, &of.place)));
    }
    all.extend(synchronization(scene));
    let ranks: Vec<usize> = known.iter().flat_map(|one| one.ranks.iter().copied()).collect();
    all.extend(launches(scene, &ranks));
    all
}

/// What is on the path by names that `is` true of.
fn named(scene: &Scene<'_>, rule: Rule, is: impl Fn(&Named) -> bool) -> Option<Advice> {
    let of_host = |(of, _): &&(Named, i64)| of.class == PathClass::Host && is(of);
    let (first, _) = scene.path.names.iter().find(of_host)?;
    let mut names: Vec<&str> = scene.path.names.iter().filter(of_host).map(|(of, _)| of.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let host = |name: &&str| Change::Host { name: (*name).to_owned(), factor: Factor::ZERO };
    let worth = scene.worth(&names.iter().map(host).collect::<Vec<_>>())?;
    let figures = Figures { own_ns: scene.per_step(scene.path.host_ns(&is)), ..Figures::default() };
    let (name, place) = (first.name.clone(), first.place.clone());
    Some(Advice { rule, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// Calls in which the host waits for a device, more than once a step.
fn synchronization(scene: &Scene<'_>) -> Option<Advice> {
    // Once a step is no fault, and nobody knows how many there are.
    if !scene.has_steps() {
        return None;
    }
    let mut waits = 0_u64;
    let mut names: FxHashMap<(&str, &str), u64> = FxHashMap::default();
    for execution in &scene.input.job.ranks {
        let on_host = |piece: &PieceId| execution.lane_kind(*piece) == LaneKind::Thread;
        for piece in execution.ids().filter(on_host) {
            let of_device = |other| execution.lane_kind(other) == LaneKind::Stream;
            if !execution.dependencies(piece).any(|(other, how)| how == Dependency::Wait && of_device(other)) {
                continue;
            }
            waits += 1;
            let call = execution
                .shares(piece)
                .map(|share| execution.key(share.key))
                .find(|key| key.activity == Activity::Synchronization);
            if let Some(key) = call {
                *names.entry((&key.name, &key.operator)).or_default() += 1;
            }
        }
    }
    let count = waits as f64 / scene.ledger.ranks().max(1) as f64 / scene.steps as f64;
    if count < WAITS_MIN {
        return None;
    }
    let worth = scene.worth(&[Change::NoSynchronization])?;
    let most = names.into_iter().max_by(|a, b| (a.1, b.0).cmp(&(b.1, a.0)));
    let (name, place) = most.map(|((name, place), _)| (name.to_owned(), place.to_owned())).unwrap_or_default();
    let figures = Figures { count, ..Figures::default() };
    Some(Advice { rule: Rule::Synchronization, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// Devices that wait for launches, and whether their kernels are too small for them. What is on `late` ranks is those ranks' own.
fn launches(scene: &Scene<'_>, late: &[usize]) -> Option<Advice> {
    let floor_ns = (SMALL_WORTH_MIN * scene.step_ns as f64) as i64;
    small_kernels(scene, late).filter(|small| small.worth.ns > floor_ns).or_else(|| host_bound(scene, late))
}

/// Devices that wait for launches for much of the time.
fn host_bound(scene: &Scene<'_>, late: &[usize]) -> Option<Advice> {
    let kernels = scene.ledger.of_activity(Activity::Kernel);
    let has_another_rule = |of: &Named| {
        let by_name = [is_loader, is_garbage, is_compiling].iter().any(|is| is(&of.name, &of.place));
        by_name || is_copying(&of.name)
    };
    let other_ns = scene.path.host_ns(has_another_rule);
    let total_ns = (scene.step_ns * scene.steps as i64).max(1);
    let share = scene.path.host_share_beside(late) - other_ns as f64 / total_ns as f64;
    if kernels.count == 0 || share < HOST_BOUND {
        return None;
    }
    let worth = scene.worth(&[Change::AllHost { factor: Factor::ZERO }, Change::NoLaunchLag])?;
    let figures = Figures {
        own_ns: (share * scene.step_ns as f64) as i64,
        others_ns: (kernels.ns as f64 / kernels.count as f64) as i64,
        ratio: share,
        count: kernels.count as f64 / scene.ledger.ranks().max(1) as f64 / scene.steps as f64,
        ..Figures::default()
    };
    let busiest = scene.path.names.iter().find(|(of, _)| of.class == PathClass::Host);
    let (name, place) = busiest.map(|(of, _)| (of.name.clone(), of.place.clone())).unwrap_or_default();
    Some(Advice { rule: Rule::HostBound, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}

/// What an operator's kernels take, and its host.
#[derive(Clone, Copy, Debug, Default)]
struct Launched {
    kernels_ns: i64,
    kernels: u64,
    host_ns: i64,
}

impl Launched {
    fn mean_ns(&self, ns: i64) -> i64 {
        ns / i64::try_from(self.kernels.max(1)).unwrap_or(i64::MAX)
    }

    /// Whether its kernels are shorter than launching them takes.
    fn is_small(&self) -> bool {
        let mean_ns = self.mean_ns(self.kernels_ns);
        self.kernels > 0 && mean_ns < self.mean_ns(self.host_ns) && mean_ns < SMALL_NS
    }
}

/// What each operator launches on ranks that are not `late`.
fn launched<'a>(scene: &'a Scene<'_>, late: &[usize]) -> FxHashMap<&'a str, Launched> {
    let mut operators: FxHashMap<&str, Launched> = FxHashMap::default();
    let ranks = || (0..scene.ledger.ranks()).filter(|rank| !late.contains(rank));
    for (at, key) in scene.ledger.keys() {
        let is_kernel = key.activity == Activity::Kernel;
        let name = if key.activity == Activity::Operator { &key.name } else { &key.operator };
        if name.is_empty() || !(is_kernel || key.activity.is_host()) {
            continue;
        }
        let sum = operators.entry(name).or_default();
        for spent in ranks().map(|rank| scene.ledger.spent(rank, at)) {
            if is_kernel {
                (sum.kernels_ns, sum.kernels) = (sum.kernels_ns.saturating_add(spent.ns), sum.kernels + spent.count);
            } else {
                sum.host_ns = sum.host_ns.saturating_add(spent.ns);
            }
        }
    }
    operators
}

/// The operator that launches most kernels that are shorter than launching them takes, where most kernels are.
fn small_kernels(scene: &Scene<'_>, late: &[usize]) -> Option<Advice> {
    let operators = launched(scene, late);
    let all: u64 = operators.values().map(|one| one.kernels).sum();
    let small = || operators.iter().filter(|(_, one)| one.is_small());
    let (name, most) = small().max_by(|a, b| (a.1.kernels, b.0).cmp(&(b.1.kernels, a.0)))?;
    let runs = (scene.ledger.ranks().saturating_sub(late.len()).max(1) * scene.steps) as f64;
    if (all as f64) < SMALL_MIN * runs || small().map(|(_, one)| one.kernels).sum::<u64>() * 2 < all {
        return None;
    }
    let name = (*name).to_owned();
    let worth = scene.worth(&[Change::Operator { name: name.clone(), factor: Factor::ZERO }])?;
    let figures = Figures {
        own_ns: most.mean_ns(most.kernels_ns),
        others_ns: most.mean_ns(most.host_ns),
        count: most.kernels as f64 / runs,
        ..Figures::default()
    };
    let place = String::new();
    Some(Advice { rule: Rule::SmallKernels, worth, whom: Whom::All, ranks: Vec::new(), name, place, figures })
}
