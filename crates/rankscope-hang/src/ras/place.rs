//! Which ranks of the job an answer speaks of.

use std::collections::{BTreeMap, BTreeSet};

use super::{Process, RasAnswer, Silence};

/// What is said of ranks of the job.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    pub(crate) dead: BTreeSet<u32>,
    pub(crate) unresponsive: BTreeSet<u32>,
    /// Those that have launched fewer collectives than others of a communicator, and those that have not.
    pub(crate) behind: BTreeSet<u32>,
    pub(crate) level: BTreeSet<u32>,
    /// Processes or ranks that do not answer, of which nobody knows which ranks of the job they are.
    pub(crate) unplaced: usize,
    /// Whether a communicator of all ranks is known.
    pub(crate) is_placed: bool,
}

impl Placed {
    /// What `answer` says of a job of `world` ranks; none takes the largest communicator for all of them.
    pub(crate) fn of(answer: &RasAnswer, world: Option<usize>) -> Self {
        let world = world.or_else(|| answer.communicators.iter().filter_map(|communicator| communicator.size).max());
        let ranks = ranks(answer, world);
        let mut placed = Self { is_placed: ranks.is_some(), ..Self::default() };
        let ranks = ranks.unwrap_or_default();
        for communicator in &answer.communicators {
            let is_all = placed.is_placed && communicator.size == world;
            let place = |rank: u32, process: Option<&Process>| {
                if is_all { Some(rank) } else { process.and_then(|process| ranks.get(process).copied()) }
            };
            for member in communicator.members.iter().filter(|member| member.is_counted) {
                if let Some(rank) = place(member.rank, Some(&member.process)) {
                    if member.is_behind {
                        placed.behind.insert(rank)
                    } else {
                        placed.level.insert(rank)
                    };
                }
            }
            for absent in &communicator.absent {
                match (place(absent.rank, absent.process.as_ref()), absent.silence) {
                    (Some(rank), Silence::Dead) => placed.dead.insert(rank),
                    (Some(rank), Silence::Unresponsive) => placed.unresponsive.insert(rank),
                    (_, Silence::Unsaid) => continue,
                    (None, _) => {
                        placed.unplaced += 1;
                        continue;
                    }
                };
            }
        }
        if placed.dead.is_empty() {
            placed.unplaced += answer.dead.len();
        }
        placed.unresponsive.retain(|rank| !placed.dead.contains(rank));
        placed
    }
}

/// Which rank of the job `process` is, where the largest communicator is of all ranks.
pub(super) fn rank_of(answer: &RasAnswer, process: &Process) -> Option<u32> {
    let world = answer.communicators.iter().filter_map(|communicator| communicator.size).max();
    ranks(answer, world)?.get(process).copied()
}

/// Ranks of the job by their processes, from the communicators of all of them; none where there is none, or where two disagree.
fn ranks(answer: &RasAnswer, world: Option<usize>) -> Option<BTreeMap<Process, u32>> {
    let all: Vec<_> =
        answer.communicators.iter().filter(|communicator| world.is_some() && communicator.size == world).collect();
    let mut ranks = BTreeMap::new();
    for communicator in &all {
        let members = communicator.members.iter().map(|member| (&member.process, member.rank));
        let absent = communicator.absent.iter().filter_map(|absent| Some((absent.process.as_ref()?, absent.rank)));
        for (process, rank) in members.chain(absent) {
            if *ranks.entry(process.clone()).or_insert(rank) != rank {
                return None;
            }
        }
    }
    (!all.is_empty()).then_some(ranks)
}
