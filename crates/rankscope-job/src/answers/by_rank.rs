//! Collectives gone through rank by rank: the stays of a rank lie together, and those of a collective do not.
//!
//! As many collectives are taken together as have some million stays. Of those each rank's are told at once, in the order of its list,
//! whether ranks are in step or not; ranks ascend, and so do the members of each collective.

use std::ops::Range;

use rankscope_analyze::Arrival;
use rankscope_collectives::{Instance, Places, Stretch};

/// A matched collective, and who came when.
pub(super) type Met<'a> = (&'a Instance, &'a Arrival);

/// One rank's parts in collectives that are gone through together.
pub(super) struct OfRank<'b> {
    /// Where they stand in the rank's list, ascending.
    pub(super) places: Places<'b>,
    parts: Parts<'b>,
}

/// What each of the parts is of.
enum Parts<'b> {
    /// Of collectives one after the other from `first` on, of each the same member.
    OfRun { first: usize, member: usize },
    /// Of any.
    Mixed(&'b [Part]),
}

/// A rank's part in a collective.
#[derive(Clone, Copy)]
struct Part {
    place: u32,
    /// The number of the collective among those that are gone through together.
    collective: u32,
    /// The place among its members.
    member: u32,
}

impl OfRank<'_> {
    /// The number of the collective that the part at `at` is of, among those that are gone through together, and the place among its members.
    #[inline]
    pub(super) fn part(&self, at: usize) -> (usize, usize) {
        match self.parts {
            Parts::OfRun { first, member } => (first + at, member),
            Parts::Mixed(parts) => (parts[at].collective as usize, parts[at].member as usize),
        }
    }
}

/// Room for the parts of one rank.
#[derive(Default)]
struct Room {
    places: Vec<u64>,
    parts: Vec<Part>,
}

/// Stays of collectives that are gone through together, at most. The more, the more of a rank is read at a time.
const STAYS: usize = 1 << 22;

/// Ranks of stretches that are gone through together, at most, each of which is listed.
const LISTED: usize = 1 << 20;

/// Collectives one after the other of the same ranks in step, or a single one of others.
struct Run<'a> {
    first: usize,
    len: usize,
    stretch: Option<Stretch<'a>>,
}

/// Those of `all` that are gone through together, one after the other.
pub(super) fn together<'b>(all: &'b [Met<'_>]) -> impl Iterator<Item = Range<usize>> + use<'b> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let (mut stays, mut listed, mut count) = (0, 0, 0);
        let mut last: Option<Stretch<'_>> = None;
        for (instance, _) in &all[from..] {
            let own = Stretch::of(std::iter::once(*instance));
            let members = instance.members.len();
            let goes_on = last.zip(own).is_some_and(|(last, own)| last.and(&own).is_some());
            stays += members;
            listed += if goes_on { 0 } else { members };
            if count > 0 && (stays > STAYS || listed > LISTED) {
                break;
            }
            (last, count) = (own, count + 1);
        }
        let own = from..from + count;
        from = own.end;
        (count > 0).then_some(own)
    })
}

/// Hands each rank and its parts in the collectives `met` to `look`.
pub(super) fn each_rank(met: &[Met<'_>], mut look: impl FnMut(usize, &OfRank<'_>)) {
    let runs = runs(met);
    let listed =
        |(run, of): (u32, &Run<'_>)| (0..).zip(met[of.first].0.members.ranks()).map(move |(member, rank)| (rank, run, member));
    let mut all: Vec<(usize, u32, u32)> = (0..).zip(&runs).flat_map(listed).collect();
    all.sort_by_key(|(rank, ..)| *rank);
    let mut room = Room::default();
    for own in all.chunk_by(|a, b| a.0 == b.0) {
        let run = |run: u32| &runs[run as usize];
        let of_rank = match own {
            [(_, only, member)] => {
                let (run, member) = (run(*only), *member as usize);
                OfRank { places: run.places(met, member, &mut room.places), parts: Parts::OfRun { first: run.first, member } }
            }
            several => {
                room.parts.clear();
                several.iter().for_each(|(_, of, member)| room.add(met, run(*of), *member));
                room.parts.sort_unstable_by_key(|part| part.place);
                room.places.clear();
                room.places.extend(room.parts.iter().map(|part| u64::from(part.place)));
                OfRank { places: Places::of(&room.places), parts: Parts::Mixed(&room.parts) }
            }
        };
        look(own[0].0, &of_rank);
    }
}

fn runs<'a>(met: &[Met<'a>]) -> Vec<Run<'a>> {
    let mut runs: Vec<Run<'a>> = Vec::new();
    for (at, (instance, _)) in met.iter().enumerate() {
        let stretch = Stretch::of(std::iter::once(*instance));
        let last = runs.last_mut();
        let longer = last.as_ref().and_then(|run| run.stretch).zip(stretch).and_then(|(run, own)| run.and(&own));
        match (longer, last) {
            (Some(longer), Some(run)) => (run.stretch, run.len) = (Some(longer), run.len + 1),
            _ => runs.push(Run { first: at, len: 1, stretch }),
        }
    }
    runs
}

impl Run<'_> {
    /// Where the collectives stand in the list of that member's rank.
    fn places<'b>(&self, met: &[Met<'_>], member: usize, room: &'b mut Vec<u64>) -> Places<'b> {
        match &self.stretch {
            Some(stretch) => stretch.places(member, room),
            None => {
                let only = met[self.first].0.members.at(member).collective();
                Places::Following(only..only + 1)
            }
        }
    }
}

impl Room {
    /// Adds a rank's parts in a run, of which it is that member.
    fn add(&mut self, met: &[Met<'_>], run: &Run<'_>, member: u32) {
        let places = run.places(met, member as usize, &mut self.places);
        // A rank has fewer than 2³² of them.
        let part = |(place, collective): (usize, u32)| Part { place: place as u32, collective, member };
        self.parts.extend(places.iter().zip(run.first as u32..).map(part));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_analyze::Waiting;
    use rankscope_collectives::{Group, Kind, LocalCollective, Operation, RankCollectives, Sequence, match_ranks};
    use rankscope_time::Rank;
    use rankscope_trace::SpanId;

    use super::*;

    /// Ranks that do the same in a group of all and in one of some, in any order, but for what one of them did not record.
    fn ranks(of_some: &[bool], lost: usize) -> Vec<RankCollectives> {
        let operation = std::sync::Arc::new(Operation::of(Kind::AllReduce));
        let group = |name: &str, ranks: &[u32]| Group {
            name: name.to_owned(),
            description: String::new(),
            ranks: ranks.iter().copied().map(Rank).collect(),
        };
        let rank = |rank: u32| {
            let is_there = |(at, some): &(usize, &bool)| (!**some || rank < 2) && (rank != 2 || *at != lost);
            let row = |(at, some): (usize, &bool)| {
                let mut stay = LocalCollective::new(
                    SpanId(at as u32),
                    at as i64 * 100,
                    at as i64 * 100 + 50,
                    std::sync::Arc::clone(&operation),
                );
                (stay.group, stay.sequence) = (u32::from(*some), Sequence::of(Some(at as u64)));
                stay
            };
            let rows: Vec<LocalCollective> = of_some.iter().enumerate().filter(is_there).map(row).collect();
            RankCollectives {
                rank: Rank(rank),
                groups: vec![group("all", &[0, 1, 2]), group("some", &[0, 1])],
                collectives: rows.into(),
                steps: Vec::new(),
            }
        };
        (0..3).map(rank).collect()
    }

    proptest! {
        #[test]
        fn each_part_is_told_once_in_the_order_of_the_ranks_list(of_some in prop::collection::vec(any::<bool>(), 1..300), lost in 0usize..400) {
            let ranks = ranks(&of_some, lost);
            let matched = match_ranks(&ranks);
            let arrival = Arrival { row: 0, instance: 0, order: Default::default(), start_ns: 0, transfer_ns: 0, end_skew_ns: 0, waiting: Waiting::ForTheLast, step: None };
            let all: Vec<Met<'_>> = matched.instances.iter().map(|instance| (instance, &arrival)).collect();
            let mut told = Vec::new();
            for range in together(&all) {
                let met = &all[range.clone()];
                let mut last = None;
                each_rank(met, |rank, own| {
                    let places: Vec<usize> = own.places.iter().collect();
                    assert!(last < Some(rank) && places.is_sorted_by(|a, b| a < b), "{last:?} {rank} {places:?}");
                    last = Some(rank);
                    told.extend(places.into_iter().enumerate().map(|(at, place)| {
                        let (collective, member) = own.part(at);
                        (range.start + collective, member, rank, place)
                    }));
                });
            }
            told.sort_unstable();
            let member = |at: usize| all[at].0.members.iter().enumerate().map(move |(place, member)| (at, place, member.rank(), member.collective()));
            prop_assert_eq!(told, (0..all.len()).flat_map(member).collect::<Vec<_>>());
        }
    }
}
