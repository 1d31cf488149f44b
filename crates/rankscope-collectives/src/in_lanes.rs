//! Collectives of the same ranks, put in step.
//!
//! However collectives were found to be one, most of them are of the same ranks again and again. Those need not list their members each.

use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::members::InStep;
use crate::{Column, Member, Members};

/// Collectives of the same ranks that are worth a lane: its columns take room by rank, too.
const WORTH: u32 = 64;

/// The same collectives in the same order, those that share their ranks with many in step. Members ascend in rank.
pub(crate) fn in_lanes(instances: Vec<Vec<Member>>) -> Vec<Members> {
    let (set_of, counts) = sets(&instances);
    let mut lanes: Vec<Option<Lane>> = counts.iter().map(|count| (*count >= WORTH).then(Lane::default)).collect();
    let mut listed = Vec::with_capacity(set_of.len());
    for (members, set) in instances.into_iter().zip(&set_of) {
        listed.push(match &mut lanes[*set as usize] {
            Some(lane) => {
                lane.add(&members);
                Vec::new()
            }
            None => members,
        });
    }
    let mut of_lanes: Vec<Option<std::vec::IntoIter<Members>>> =
        lanes.into_iter().map(|lane| lane.map(|lane| lane.members().into_iter())).collect();
    let next = |set: u32| of_lanes[set as usize].as_mut().and_then(Iterator::next);
    set_of.into_iter().map(next).zip(listed).map(|(in_step, listed)| in_step.unwrap_or_else(|| listed.into())).collect()
}

/// By collective the number of its set of ranks, and how many are of each.
fn sets(instances: &[Vec<Member>]) -> (Vec<u32>, Vec<u32>) {
    let (mut set_of, mut firsts, mut counts) = (Vec::with_capacity(instances.len()), Vec::new(), Vec::new());
    // Sets of one hash, of which the first collective has the ranks.
    let mut known: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
    for members in instances {
        let same = |set: &&u32| ranks(members).eq(ranks(firsts[**set as usize]));
        let of_hash = known.entry(hash(members));
        let found = match &of_hash {
            Entry::Occupied(sets) => sets.get().iter().find(same).copied(),
            Entry::Vacant(_) => None,
        };
        let set = found.unwrap_or_else(|| {
            let next = counts.len() as u32;
            of_hash.or_default().push(next);
            firsts.push(members.as_slice());
            counts.push(0);
            next
        });
        counts[set as usize] += 1;
        set_of.push(set);
    }
    (set_of, counts)
}

fn ranks(members: &[Member]) -> impl Iterator<Item = usize> {
    members.iter().map(Member::rank)
}

fn hash(members: &[Member]) -> u64 {
    let mut hasher = FxHasher::default();
    ranks(members).for_each(|rank| rank.hash(&mut hasher));
    hasher.finish()
}

/// Collectives of the same ranks, as they are gone through.
#[derive(Default)]
struct Lane {
    ranks: Vec<usize>,
    places: Vec<Column>,
    count: usize,
}

impl Lane {
    fn add(&mut self, members: &[Member]) {
        if self.count == 0 {
            self.ranks = ranks(members).collect();
            self.places = vec![Column::default(); members.len()];
        }
        self.places.iter_mut().zip(members).for_each(|(places, member)| places.push(member.collective() as u64));
        self.count += 1;
    }

    fn members(self) -> Vec<Members> {
        let mut lane = InStep::default();
        self.ranks.into_iter().zip(self.places).for_each(|(rank, places)| lane.add(rank, places));
        lane.members(self.count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn members_stay_what_they_are(
            sets in prop::collection::vec(prop::collection::btree_set(0usize..9, 1..5), 1..4),
            of in prop::collection::vec(any::<prop::sample::Index>(), 0..300)
        ) {
            let instance = |(at, set): (usize, &prop::sample::Index)| -> Vec<Member> {
                sets[set.index(sets.len())].iter().map(|rank| Member::of(*rank, at * 3 + rank)).collect()
            };
            let instances: Vec<Vec<Member>> = of.iter().enumerate().map(instance).collect();
            let listed: Vec<Members> = instances.iter().cloned().map(Members::from).collect();
            let in_step = in_lanes(instances);
            prop_assert_eq!(&in_step, &listed);
            let counts = sets.iter().map(|set| listed.iter().filter(|one| one.ranks().eq(set.iter().copied())).count() as u32);
            let worth = counts.max().unwrap_or(0) >= WORTH;
            prop_assert_eq!(in_step.iter().any(Members::are_in_step), worth);
        }
    }
}
