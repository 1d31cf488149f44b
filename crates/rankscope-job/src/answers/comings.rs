//! [`Comings`]: how long the members of matched collectives stayed, and how much of that they waited.
//!
//! Who came when is what the analysis found when it lined the members up; stays are of the ranks' own clocks, and are told in the order
//! of members. What is not matched has no such thing, as nobody knows who was waited for.

use std::ops::Range;

use rankscope_analyze::{Arrival, Order, Waiting, together};
use rankscope_answers::budgets::Stay;
use rankscope_collectives::{Instance, Kind, Member, RankCollectives, Stretch};

use crate::{Job, JobRank};

/// The matched collectives of a job.
pub(super) struct Comings<'a> {
    ranks: &'a [JobRank],
    collectives: &'a [RankCollectives],
    instances: &'a [Instance],
    arrivals: &'a [Arrival],
    /// By instance, its arrival, plus 1; 0 of those that are not matched.
    arrival_of: Vec<u32>,
}

/// Members' stays in one collective at a time: room that is used again.
#[derive(Default)]
pub(super) struct Stays {
    /// Where each member's is in its rank's list.
    pub(super) members: Vec<Member>,
    /// In the order of members.
    pub(super) list: Vec<Stay>,
    /// By rank, how long it was there before the last one came.
    before_last_ns: Vec<i64>,
    /// Whether what is exposed of each stay is told as well.
    pub(super) with_exposed: bool,
    tile: Tile,
}

/// Collectives one after the other that are looked at together, rank by rank: the stays of a rank lie together, and those of a collective
/// do not.
#[derive(Default)]
struct Tile {
    /// By collective and member.
    cells: Vec<Cell>,
    places: Vec<u64>,
    starts_ns: Vec<u64>,
    stays_ns: Vec<u64>,
    exposed_ns: Vec<u64>,
}

/// A stay: where it is in its rank's list, how long it was, and what of it was exposed, where that is asked for.
#[derive(Clone, Copy)]
struct Cell {
    member: Member,
    stay_ns: i64,
    exposed_ns: i64,
}

impl<'a> Comings<'a> {
    /// Those of `job`, whose `arrivals` are what the analysis found.
    pub(super) fn of(job: &'a Job, arrivals: &'a [Arrival]) -> Self {
        let instances = job.matched.instances.as_slice();
        let mut arrival_of = vec![0; instances.len()];
        (1..).zip(arrivals).for_each(|(next, arrival)| arrival_of[arrival.instance as usize] = next);
        Self { ranks: &job.ranks, collectives: &job.collectives, instances, arrivals, arrival_of }
    }

    /// Each matched collective and who came when to it, in the order of the job's.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a Instance, &'a Arrival)> + use<'_, 'a> {
        let matched = self.instances.iter().zip(&self.arrival_of);
        matched.filter_map(|(instance, next)| Some((instance, &self.arrivals[(*next as usize).checked_sub(1)?])))
    }

    /// Hands each of them to `then`, in that order, with how long each member stayed and waited for whom it waits for.
    pub(super) fn each_with_stays(&self, stays: &mut Stays, mut then: impl FnMut(&'a Instance, &'a Arrival, &mut Stays)) {
        let all: Vec<(&Instance, &Arrival)> = self.each().collect();
        let mut rest = all.as_slice();
        while let Some((first, _)) = rest.first() {
            let members = first.members.len();
            let (tile, others) = rest.split_at(together(rest.iter().map(|(one, _)| one.members.len())));
            self.fill(stays, tile, members);
            for (at, (instance, arrival)) in tile.iter().enumerate() {
                self.stays(at * members..(at + 1) * members, arrival, stays);
                then(instance, arrival, stays);
            }
            rest = others;
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// The same of one of them by itself.
    pub(super) fn stays_of(&self, (instance, arrival): (&Instance, &Arrival), stays: &mut Stays) {
        let members = instance.members.len();
        self.fill(stays, &[(instance, arrival)], members);
        self.stays(0..members, arrival, stays);
    }

    /// How long each member of the collective that has these `cells` of the tile stayed and waited for whom it waits for.
    fn stays(&self, cells: Range<usize>, arrival: &Arrival, stays: &mut Stays) {
        let Stays { members, list, before_last_ns, tile, .. } = stays;
        before_last_ns.resize(self.collectives.len(), 0);
        for (rank, ns) in arrival.order.iter() {
            before_last_ns[rank] = ns;
        }
        let cells = &tile.cells[cells];
        members.clear();
        members.extend(cells.iter().map(|cell| cell.member));
        list.clear();
        list.extend(cells.iter().map(|Cell { member, stay_ns, exposed_ns }| {
            let (rank, at) = (member.rank(), member.collective());
            let of_rank = &self.collectives[rank].collectives;
            let (stay_ns, before_last_ns) = ((*stay_ns).max(0), before_last_ns[rank]);
            let wait_ns = match arrival.waiting {
                Waiting::ForTheLast => before_last_ns,
                Waiting::Pairwise if of_rank.operation(at).kind == Kind::Send => 0,
                Waiting::Pairwise => before_last_ns,
                Waiting::ForSome => wait_for_some_ns(&arrival.order, before_last_ns, stay_ns),
            };
            Stay { stay_ns, wait_ns: wait_ns.clamp(0, stay_ns), exposed_ns: *exposed_ns, ..Stay::default() }
        }));
    }
}

impl Comings<'_> {
    /// Looks up all stays of the collectives of `tile`, each of so many `members`.
    fn fill(&self, stays: &mut Stays, tile: &[(&Instance, &Arrival)], members: usize) {
        let with_exposed = stays.with_exposed;
        let Tile { cells, places, starts_ns, stays_ns, exposed_ns } = &mut stays.tile;
        cells.clear();
        cells.resize(tile.len() * members, Cell { member: Member::of(0, 0), stay_ns: 0, exposed_ns: 0 });
        let Some(stretch) = Stretch::of(tile.iter().map(|(instance, _)| *instance)) else {
            let all = tile.iter().flat_map(|(instance, _)| instance.members.iter());
            for (cell, member) in cells.iter_mut().zip(all) {
                let (rank, at) = (member.rank(), member.collective());
                let exposed_ns = if with_exposed { exposed_ns_of(&self.ranks[rank], at) } else { 0 };
                *cell = Cell { member, stay_ns: self.collectives[rank].collectives.stay_ns(at), exposed_ns };
            }
            return;
        };
        exposed_ns.clear();
        exposed_ns.resize(tile.len(), 0);
        for place in 0..members {
            let rank = stretch.rank(place);
            stretch.places(place, places);
            self.collectives[rank].collectives.gather(places, starts_ns, stays_ns);
            if with_exposed {
                self.ranks[rank].report.exposed_ns.gather(places, exposed_ns);
            }
            let own = cells[place..].iter_mut().step_by(members);
            for ((cell, at), (stay_ns, exposed_ns)) in own.zip(&*places).zip(stays_ns.iter().zip(&*exposed_ns)) {
                let member = Member::of(rank, *at as usize);
                *cell = Cell { member, stay_ns: stay_ns.cast_signed(), exposed_ns: exposed_ns.cast_signed() };
            }
        }
    }
}

/// The exposed time of a rank's collective.
fn exposed_ns_of(rank: &JobRank, at: usize) -> i64 {
    rank.report.exposed_ns.get(at).unwrap_or(0)
}

/// How long one waited that stayed for `stay_ns`, where nobody waits for those who come later than that: until the last that came before it
/// left. All are counted back from the last one's coming, those in `order` and the own, which is one of them.
fn wait_for_some_ns(order: &Order, own_ns: i64, stay_ns: i64) -> i64 {
    let left_ns = own_ns.saturating_sub(stay_ns);
    let last = order.longer_than(left_ns).checked_sub(1);
    last.map_or(0, |last| own_ns - order.wait_ns(last))
}

/// When the median rank of a collective came and when the last one did, on the job's clock.
pub(super) fn came_ns(arrival: &Arrival) -> (i64, i64) {
    let last_ns = arrival.start_ns.saturating_add(arrival.order.wait_ns(0));
    let middle = arrival.order.len().saturating_sub(1) / 2;
    (last_ns.saturating_sub(arrival.order.wait_ns(middle)), last_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_rank_of_an_even_number_is_the_earlier_one() {
        let arrival = |wait_ns: Vec<i64>| Arrival {
            row: 0,
            instance: 0,
            order: Order::of((0..wait_ns.len()).map(|at| (at as u32, wait_ns[at]))),
            start_ns: 100,
            transfer_ns: 0,
            end_skew_ns: 0,
            waiting: Waiting::ForTheLast,
            step: None,
        };
        assert_eq!(came_ns(&arrival(vec![50, 40, 10, 0])), (110, 150));
        assert_eq!(came_ns(&arrival(vec![50, 10, 0])), (140, 150));
        assert_eq!(came_ns(&arrival(vec![0])), (100, 100));
        assert_eq!(came_ns(&arrival(Vec::new())), (100, 100));
    }

    #[test]
    fn where_some_wait_for_some_nobody_is_waited_for_who_comes_later_than_one_leaves() {
        // They came at 0, 10, 30 and 100.
        let before_last_ns = Order::of([(0, 100), (1, 90), (2, 70), (3, 0)].into_iter());
        let waits = |own_ns: i64, stay_ns: i64| wait_for_some_ns(&before_last_ns, own_ns, stay_ns);
        assert_eq!([5, 10, 11, 31, 200].map(|stay_ns| waits(100, stay_ns)), [0, 0, 10, 30, 100]);
        assert_eq!((waits(70, 20), waits(0, 50), waits(100, 0)), (0, 0, 0));
    }
}
