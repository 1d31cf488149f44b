//! What the targets of changes are in a job: names that users write, as the keys and collectives that they mean.
//!
//! A name that is not there is an error that lists those like it; nothing is changed in its place.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_collectives::{CollectiveStay, Group, Kind, Parallelism};
use rankscope_time::Rank;

use super::{Reach, Scene};
use crate::{Activity, Key};

/// Sorts of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetSort {
    /// An operator.
    Operator,
    /// A kernel.
    Kernel,
    /// An annotation, a function or an operator on the host.
    Host,
    /// A module or function of the program.
    Place,
    /// A rank.
    Rank,
    /// A sort of collective.
    Collective,
}

impl TargetSort {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Kernel => "kernel",
            Self::Host => "annotation, function or operator of the host",
            Self::Place => "module or function",
            Self::Rank => "rank",
            Self::Collective => "collective",
        }
    }
}

/// Why a change cannot be made in a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// What it changes is not there.
    #[error("there is no {} {name:?} in what was recorded{}", sort.name(), listed(near))]
    UnknownTarget {
        /// What sort of thing.
        sort: TargetSort,
        /// Its name.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// Several begin with the name.
    #[error("several {}s begin with {name:?}: {}. Write one of them in full", sort.name(), near.join(", "))]
    AmbiguousTarget {
        /// What sort of thing.
        sort: TargetSort,
        /// The name.
        name: String,
        /// Those that begin with it.
        near: Vec<String>,
    },
    /// There is no other rank to take a median of.
    #[error("rank {rank} is the only rank that was recorded, so there is no median of others. Give the traces of more ranks")]
    NoOtherRank {
        /// The rank.
        rank: Rank,
    },
    /// It is not known which ranks share a node.
    #[error("link:{reach} cannot be changed: neither the traces nor the run name the nodes. Pass --ranks-per-node")]
    UnknownNodes {
        /// The link.
        reach: Reach,
    },
    /// No collective uses the link.
    #[error("link:{reach} cannot be changed: no matched collective {}", match reach {
        Reach::Inter => "reaches from one node to another",
        Reach::Intra => "stays within one node",
        Reach::Between(..) => "is one of these two nodes and of no others",
    })]
    UnusedLink {
        /// The link.
        reach: Reach,
    },
}

/// So many names are listed at most.
const LISTED: usize = 5;

fn listed(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) }
}

/// Whether a copy of this name goes from a device to its host.
pub(super) fn is_to_host(name: &str) -> bool {
    name.contains("DtoH") || name.contains("DeviceToHost")
}

/// Whether the time of `key` is that of the operator `name`: kernels that it launches, and the host in it.
pub(super) fn is_of_operator(key: &Key, name: &str) -> bool {
    key.operator == name || (key.activity == Activity::Operator && key.name == name)
}

/// Whether the time of `key` is the host's in `name`.
pub(super) fn is_of_host(key: &Key, name: &str) -> bool {
    key.activity.is_host() && (key.name == name || key.operator == name || key.place == name)
}

/// Whether the time of `key` is that of a kernel, copy or collective called `name`.
pub(super) fn is_of_kernel(key: &Key, name: &str) -> bool {
    !key.activity.is_host() && key.name == name
}

/// The operator called `name`.
pub(super) fn operator<'a>(scene: &Scene<'a>, name: &str) -> Result<&'a str, TargetError> {
    let all = keys(scene).flat_map(|key| {
        let own = (key.activity == Activity::Operator).then_some(key.name.as_str());
        own.into_iter().chain([key.operator.as_str()])
    });
    found(TargetSort::Operator, name, all, false)
}

/// The kernel called `name`, or the only one that begins so.
pub(super) fn kernel<'a>(scene: &Scene<'a>, name: &str) -> Result<&'a str, TargetError> {
    let all = keys(scene).filter(|key| !key.activity.is_host()).map(|key| key.name.as_str());
    found(TargetSort::Kernel, name, all, true)
}

/// What the host does called `name`, or the only such thing that begins so.
pub(super) fn host<'a>(scene: &Scene<'a>, name: &str) -> Result<&'a str, TargetError> {
    let host = keys(scene).filter(|key| key.activity.is_host());
    found(TargetSort::Host, name, host.flat_map(|key| [key.name.as_str(), &key.operator, &key.place]), true)
}

/// The module or function called `name`, or the only one that begins so.
pub(super) fn place<'a>(scene: &Scene<'a>, name: &str) -> Result<&'a str, TargetError> {
    found(TargetSort::Place, name, keys(scene).map(|key| key.place.as_str()), true)
}

/// The index of `rank`.
pub(super) fn rank(scene: &Scene<'_>, rank: Rank) -> Result<usize, TargetError> {
    scene.index(rank).ok_or_else(|| TargetError::UnknownTarget {
        sort: TargetSort::Rank,
        name: rank.0.to_string(),
        near: ranges((0..scene.collectives.len()).map(|at| scene.rank(at).0)),
    })
}

/// Ascending numbers as ranges of them.
fn ranges(numbers: impl Iterator<Item = u32>) -> Vec<String> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") }).collect()
}

/// For each rank the collectives called `kind`, of `group` where one is given.
pub(super) fn collectives(scene: &Scene<'_>, kind: &str, group: Option<&str>) -> Result<Vec<Vec<usize>>, TargetError> {
    let is_kind = |name: &str| name == kind || plain(name) == plain(kind);
    let of_rank = |at: usize| {
        let own = &scene.collectives[at];
        let groups: Vec<bool> = own.groups.iter().map(|own| group.is_none_or(|name| is_called(own, name))).collect();
        let is_wanted = |one: &CollectiveStay<'_>| {
            is_kind(one.kind.name()) && groups.get(one.group as usize).copied().unwrap_or(group.is_none())
        };
        let all = own.collectives.iter().enumerate();
        all.filter(|(_, one)| is_wanted(one)).map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let found: Vec<Vec<usize>> = (0..scene.collectives.len()).map(of_rank).collect();
    if found.iter().any(|own| !own.is_empty()) {
        return Ok(found);
    }
    let name = group.map_or_else(|| kind.to_owned(), |group| format!("{kind}@{group}"));
    Err(TargetError::UnknownTarget {
        sort: TargetSort::Collective,
        name,
        near: kinds(scene).into_keys().take(LISTED).collect(),
    })
}

/// `all-reduce` and `AllReduce` are `all_reduce`, too.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// The collectives that were recorded, as a change names them: the operation, and what its group is for or is called; and how long
/// all ranks were in them, in nanoseconds.
pub(super) fn kinds(scene: &Scene<'_>) -> BTreeMap<String, i64> {
    let mut kinds: BTreeMap<String, i64> = BTreeMap::new();
    for own in scene.collectives {
        let mut times: BTreeMap<(Kind, u32), i64> = BTreeMap::new();
        for one in own.collectives.iter() {
            let sum = times.entry((one.kind, one.group)).or_default();
            *sum = sum.saturating_add(one.dur_ns());
        }
        for ((kind, group), ns) in times {
            let label = own.groups.get(group as usize).map(label).filter(|label| !label.is_empty());
            let name = label.map_or_else(|| kind.name().to_owned(), |label| format!("{}@{label}", kind.name()));
            let sum = kinds.entry(name).or_default();
            *sum = sum.saturating_add(ns);
        }
    }
    kinds
}

fn label(group: &Group) -> String {
    Parallelism::of(group).map_or_else(|| group.name.clone(), |known| known.to_string())
}

fn is_called(group: &Group, name: &str) -> bool {
    group.name == name
        || group.description == name
        || rankscope_analyze::group_name(group) == name
        || Parallelism::of(group).is_some_and(|known| known.to_string() == name)
}

fn keys<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Key> + use<'a> {
    scene.job.ranks.iter().flat_map(|rank| rank.keys())
}

/// The one of `all` that is `name`, or, with `by_prefix`, the only one that begins with it.
fn found<'a>(
    sort: TargetSort,
    name: &str,
    all: impl Iterator<Item = &'a str>,
    by_prefix: bool,
) -> Result<&'a str, TargetError> {
    let all: BTreeSet<&str> = all.filter(|known| !known.is_empty()).collect();
    if let Some(exact) = all.get(name) {
        return Ok(exact);
    }
    let begun: Vec<&str> = all.iter().copied().filter(|known| by_prefix && known.starts_with(name)).collect();
    match begun.as_slice() {
        [] => Err(TargetError::UnknownTarget { sort, name: name.to_owned(), near: near(name, &all) }),
        [only] => Ok(only),
        several => {
            let near = several.iter().take(LISTED).map(|name| (*name).to_owned()).collect();
            Err(TargetError::AmbiguousTarget { sort, name: name.to_owned(), near })
        }
    }
}

/// Names that hold `name`, else those that are written most like it.
fn near(name: &str, all: &BTreeSet<&str>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut like: Vec<(bool, f64, &str)> = all
        .iter()
        .map(|known| {
            let known_lower = known.to_lowercase();
            // Names of kernels may be thousands of characters long, and their beginnings tell them apart.
            let begun: String = known_lower.chars().take(lower.len() + 8).collect();
            (!known_lower.contains(&lower), -strsim::jaro_winkler(&begun, &lower), *known)
        })
        .filter(|(is_other, likeness, _)| !is_other || *likeness < -0.8)
        .collect();
    like.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(b.2)));
    like.into_iter().take(LISTED).map(|(_, _, known)| known.to_owned()).collect()
}
