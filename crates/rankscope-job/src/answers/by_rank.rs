//! Collectives gone through rank by rank: the stays of a rank lie together, and those of a collective do not.
//!
//! As many collectives are taken together as have some million stays. Of those each rank's are told at once, in the order of its list,
//! whether ranks are in step or not; ranks ascend, and so do the members of each collective.

use std::ops::Range;

use rankscope_analyze::Arrival;
use rankscope_collectives::{Instance, Stretch};

/// A matched collective, and who came when.
pub(super) type Met<'a> = (&'a Instance, &'a Arrival);

/// One rank's part in collectives that are gone through together: room that is used again.
#[derive(Default)]
pub(super) struct OfRank {
    /// Where the rank's parts stand in its list, ascending.
    pub(super) places: Vec<u64>,
    /// Which collective each is of, and which member that rank is.
    pub(super) parts: Vec<Part>,
    room: Vec<u64>,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    place: u32,
    /// The number of the collective among those that are gone through together.
    pub(super) collective: u32,
    /// The place among its members.
    pub(super) member: u32,
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
pub(super) fn each_rank(met: &[Met<'_>], of_rank: &mut OfRank, mut look: impl FnMut(usize, &OfRank)) {
    let runs = runs(met);
    let listed =
        |(run, of): (u32, &Run<'_>)| (0..).zip(met[of.first].0.members.ranks()).map(move |(member, rank)| (rank, run, member));
    let mut all: Vec<(usize, u32, u32)> = (0..).zip(&runs).flat_map(listed).collect();
    all.sort_by_key(|(rank, ..)| *rank);
    for own in all.chunk_by(|a, b| a.0 == b.0) {
        of_rank.parts.clear();
        own.iter().for_each(|(_, run, member)| of_rank.add(met, &runs[*run as usize], *member));
        if own.len() > 1 {
            of_rank.parts.sort_unstable_by_key(|part| part.place);
        }
        of_rank.places.clear();
        of_rank.places.extend(of_rank.parts.iter().map(|part| u64::from(part.place)));
        look(own[0].0, of_rank);
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

impl OfRank {
    /// Adds its parts in a run, of which it is that member.
    fn add(&mut self, met: &[Met<'_>], run: &Run<'_>, member: u32) {
        match &run.stretch {
            Some(stretch) => stretch.places(member as usize, &mut self.room),
            None => {
                self.room.clear();
                self.room.push(met[run.first].0.members.at(member as usize).collective() as u64);
            }
        }
        let collectives = run.first as u32..(run.first + run.len) as u32;
        // A rank has fewer than 2³² of them.
        let part = |(place, collective): (&u64, u32)| Part { place: *place as u32, collective, member };
        self.parts.extend(self.room.iter().zip(collectives).map(part));
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
                each_rank(met, &mut OfRank::default(), |rank, own| {
                    assert!(last < Some(rank) && own.places.is_sorted_by(|a, b| a < b), "{last:?} {rank} {:?}", own.places);
                    last = Some(rank);
                    let part = |(place, part): (&u64, &Part)| (range.start + part.collective as usize, part.member as usize, rank, *place as usize);
                    told.extend(own.places.iter().zip(&own.parts).map(part));
                });
            }
            told.sort_unstable();
            let member = |at: usize| all[at].0.members.iter().enumerate().map(move |(place, member)| (at, place, member.rank(), member.collective()));
            prop_assert_eq!(told, (0..all.len()).flat_map(member).collect::<Vec<_>>());
        }
    }
}
