//! The members of a collective.
//!
//! In a job of thousands of ranks there are as many members as rows. But ranks that are in step do the same one after the other: the n-th of
//! each is one collective. Of all that such ranks do together the places are kept once, rank by rank, and a collective knows its number.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Column, Instance, Places};

/// One rank's part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    rank: u32,
    collective: u32,
}

impl Member {
    /// The collective numbered `collective` of the rank at index `rank`. A rank has fewer than 2³² of them, as it has spans.
    pub fn of(rank: usize, collective: usize) -> Self {
        Self { rank: rank as u32, collective: collective as u32 }
    }

    /// Index of the rank among those given.
    pub fn rank(&self) -> usize {
        self.rank as usize
    }

    /// Index of the collective in the rank's list.
    pub fn collective(&self) -> usize {
        self.collective as usize
    }
}

/// The ranks that have a collective, ascending, and where in their lists it is.
#[derive(Clone)]
pub struct Members(Kept);

#[derive(Clone)]
enum Kept {
    Listed(Vec<Member>),
    InStep { lane: Arc<InStep>, at: u32 },
}

/// Ranks of which the n-th collectives are one, whatever n is.
#[derive(Debug, Default)]
pub(crate) struct InStep {
    ranks: Vec<u32>,
    /// By rank, where its collectives stand in its list.
    places: Vec<Column>,
}

impl InStep {
    /// Adds the rank at index `rank`, which is behind those that are there, and has its collectives at these `places`.
    pub(crate) fn add(&mut self, rank: usize, mut places: Column) {
        places.shrink_to_fit();
        self.ranks.push(rank as u32);
        self.places.push(places);
    }

    /// All their collectives, of which each has so many.
    pub(crate) fn members(self, count: usize) -> Vec<Members> {
        let lane = Arc::new(self);
        (0..count as u32).map(|at| Members(Kept::InStep { lane: Arc::clone(&lane), at })).collect()
    }

    /// Where as many collectives from the one numbered `from` on stand in the list of the rank at `place`.
    fn places<'a>(&self, place: usize, from: u32, count: usize, room: &'a mut Vec<u64>) -> Places<'a> {
        if let Some(first) = self.places[place].counts_on(from as usize) {
            return Places::Following(first as usize..first as usize + count);
        }
        // All of it is written over.
        room.resize(count, 0);
        self.places[place].read(from as usize, room);
        Places::of(room)
    }

    #[inline]
    fn member(&self, place: usize, at: u32) -> Member {
        Member { rank: self.ranks[place], collective: self.places[place].get(at as usize) as u32 }
    }
}

impl Members {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Listed(list) => list.len(),
            Kept::InStep { lane, .. } => lane.ranks.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one at `place`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn at(&self, place: usize) -> Member {
        match &self.0 {
            Kept::Listed(list) => list[place],
            Kept::InStep { lane, at } => lane.member(place, *at),
        }
    }

    /// The index of the rank of the one at `place`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn rank(&self, place: usize) -> usize {
        match &self.0 {
            Kept::Listed(list) => list[place].rank(),
            Kept::InStep { lane, .. } => lane.ranks[place] as usize,
        }
    }

    /// The first one.
    pub fn first(&self) -> Option<Member> {
        (!self.is_empty()).then(|| self.at(0))
    }

    /// That of the rank at index `rank`, if it has the collective.
    pub fn of_rank(&self, rank: usize) -> Option<Member> {
        let found = match &self.0 {
            Kept::Listed(list) => list.binary_search_by_key(&rank, Member::rank),
            Kept::InStep { lane, .. } => lane.ranks.binary_search_by_key(&rank, |rank| *rank as usize),
        };
        found.ok().map(|place| self.at(place))
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Member> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|place| self.at(place))
    }

    /// The indices of their ranks.
    pub fn ranks(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone {
        (0..self.len()).map(|place| self.rank(place))
    }

    /// Whether they are kept with others of the same ranks.
    #[cfg(test)]
    pub(crate) fn are_in_step(&self) -> bool {
        matches!(self.0, Kept::InStep { .. })
    }

    /// Whether the same ranks have both.
    pub(crate) fn are_of_same_ranks(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kept::InStep { lane, .. }, Kept::InStep { lane: theirs, .. }) if Arc::ptr_eq(lane, theirs) => true,
            _ => self.ranks().eq(other.ranks()),
        }
    }
}

/// Collectives one after the other of ranks that are in step.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    lane: &'a InStep,
    from: u32,
    len: usize,
}

impl<'a> Stretch<'a> {
    /// That of these `instances`, one after the other; none where they are of no such ranks.
    pub fn of(mut instances: impl ExactSizeIterator<Item = &'a Instance>) -> Option<Self> {
        let len = instances.len();
        let Kept::InStep { lane, at: from } = &instances.next()?.members.0 else { return None };
        let is_next = |(instance, next): (&Instance, u32)| matches!(&instance.members.0, Kept::InStep { lane: own, at } if Arc::ptr_eq(own, lane) && *at == next);
        instances.zip(from + 1..).all(is_next).then_some(Self { lane, from: *from, len })
    }

    /// How many collectives there are.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells which ranks they are of from others that are in step: stretches of the same have the same.
    pub fn lane(&self) -> usize {
        std::ptr::from_ref(self.lane).addr()
    }

    /// Those in `range`, of which there is one at least.
    ///
    /// # Panics
    /// If there are not so many.
    #[must_use]
    pub fn part(&self, range: Range<usize>) -> Self {
        assert!(range.start < range.end && range.end <= self.len, "there are {} collectives and not {range:?}", self.len);
        Self { lane: self.lane, from: self.from + range.start as u32, len: range.len() }
    }

    /// Both, where `next` is of the same ranks and begins where this ends.
    pub fn and(&self, next: &Self) -> Option<Self> {
        let goes_on = std::ptr::eq(self.lane, next.lane) && self.from as usize + self.len == next.from as usize;
        goes_on.then_some(Self { len: self.len + next.len, ..*self })
    }

    /// The member at `place` of the collective numbered `at`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn member(&self, place: usize, at: usize) -> Member {
        self.lane.member(place, self.from + at as u32)
    }

    /// The index of the rank at `place`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn rank(&self, place: usize) -> usize {
        self.lane.ranks[place] as usize
    }

    /// Where they stand in the list of the rank at `place`. `room` is for what does not go without saying.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn places<'b>(&self, place: usize, room: &'b mut Vec<u64>) -> Places<'b> {
        self.lane.places(place, self.from, self.len, room)
    }
}

/// Has to ascend in rank.
impl From<Vec<Member>> for Members {
    fn from(list: Vec<Member>) -> Self {
        debug_assert!(list.is_sorted_by_key(Member::rank), "members ascend in rank");
        Self(Kept::Listed(list))
    }
}

impl FromIterator<Member> for Members {
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        Vec::from_iter(members).into()
    }
}

/// The same members, however they are kept.
impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Members {}

impl fmt::Debug for Members {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Members of ranks that are in step are those that would have been listed.
        #[test]
        fn those_in_step_are_as_if_listed(
            ranks in prop::collection::btree_set(0usize..40, 0..9), starts in prop::collection::vec(0u32..90, 9), count in 1usize..300
        ) {
            let places = |own: u32| (0..count as u32).map(move |at| 3 * at + own).collect::<Vec<u32>>();
            let mut lane = InStep::default();
            ranks.iter().zip(&starts).for_each(|(rank, own)| lane.add(*rank, places(*own).into_iter().map(u64::from).collect()));
            let all = lane.members(count);
            prop_assert_eq!(all.len(), count);
            let instance = |members: &Members| Instance { group: 0, members: members.clone(), absent: [].into(), complete: true };
            let instances: Vec<Instance> = all.iter().map(instance).collect();
            let stretch = Stretch::of(instances.iter()).expect("all of them are of one lane");
            let (first, rest) = (stretch.part(0..count.div_ceil(2)), (count > 1).then(|| stretch.part(count.div_ceil(2)..count)));
            let whole = rest.map_or(Some(first), |rest| first.and(&rest));
            prop_assert_eq!(whole.map(|whole| (whole.lane(), whole.len())), Some((stretch.lane(), count)));
            prop_assert!(first.and(&first).is_none());
            let mut room = Vec::new();
            for place in 0..ranks.len() {
                let own = stretch.places(place, &mut room);
                prop_assert_eq!(own.iter().collect::<Vec<_>>(), all.iter().map(|members| members.at(place).collective()).collect::<Vec<_>>());
            }
            for (at, members) in all.iter().enumerate() {
                prop_assert!((0..ranks.len()).all(|place| stretch.member(place, at) == members.at(place)));
                let listed: Members = ranks.iter().zip(&starts).map(|(rank, own)| Member::of(*rank, places(*own)[at] as usize)).collect();
                prop_assert_eq!(members, &listed);
                prop_assert_eq!((members.len(), members.first()), (listed.len(), listed.first()));
                prop_assert!(members.are_of_same_ranks(&all[0]) && members.are_of_same_ranks(&listed));
                for rank in 0..40 {
                    prop_assert_eq!(members.of_rank(rank), listed.of_rank(rank));
                    prop_assert_eq!(members.of_rank(rank).is_some(), ranks.contains(&rank));
                }
            }
        }
    }
}
