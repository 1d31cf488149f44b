//! [`Comings`]: how long the members of matched collectives stayed, and how much of that they waited.
//!
//! Who came when is what the analysis found when it lined the members up; stays are of the ranks' own clocks, and are told in the order
//! of members. What is not matched has no such thing, as nobody knows who was waited for.

use rankscope_analyze::{Arrival, Order, Waiting, together};
use rankscope_answers::budgets::Stay;
use rankscope_collectives::{Instance, Kind, RankCollectives, Stretch};

use super::lengths::Lengths;
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
    /// In the order of members.
    pub(super) list: Vec<Stay>,
    /// By rank, how long it was there before the last one came.
    before_last_ns: Vec<i64>,
    tile: Tile,
}

/// Collectives one after the other that are looked at together, rank by rank: the stays of a rank lie together, and those of a collective
/// do not.
#[derive(Default)]
struct Tile {
    /// By collective and member, how long it stayed.
    stays_ns: Vec<i64>,
    /// What of that was exposed; none where nobody asks.
    exposed: Vec<Exposed>,
    /// Cells from one collective to the next.
    apart: usize,
    /// Of one rank.
    column: Column,
}

/// What of a stay was exposed, and what of that was waiting: together, as they are written and read at one time.
#[derive(Clone, Copy, Default)]
struct Exposed {
    exposed_ns: i64,
    waits_ns: i64,
}

/// Where a rank's stays are in its list, and what is told of each.
#[derive(Default)]
struct Column {
    places: Vec<u64>,
    stays_ns: Vec<u64>,
    exposed_ns: Vec<u64>,
    waits_ns: Vec<i64>,
}

/// Cells between those of two collectives: so that a member's do not all stand in the same place of a cache where members are a power of two.
const APART: usize = 9;

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

    /// Hands each of them to `then`, in that order, with how long each member stayed and waited for whom it waits for. How long each waited
    /// goes to `waits`, too.
    pub(super) fn each_with_waits(&self, waits: &mut Lengths, mut then: impl FnMut(&'a Instance, &'a Arrival, &[Stay])) {
        let mut stays = Stays::default();
        self.each_tile(|tile| {
            self.fill(&mut stays, tile, None);
            for (at, (instance, arrival)) in tile.iter().enumerate() {
                self.stays(at, (instance, arrival), &mut stays);
                then(instance, arrival, &stays.list);
                stays.tile.keep_waits(at, &stays.list);
            }
            self.put_waits(&mut stays.tile, tile, waits);
        });
    }

    /// The same with what was exposed of each stay, of which `exposed_waits` has the waiting.
    pub(super) fn each_with_exposed(&self, exposed_waits: &Lengths, mut then: impl FnMut(&'a Instance, &'a Arrival, &[Stay])) {
        let mut stays = Stays::default();
        self.each_tile(|tile| {
            self.fill(&mut stays, tile, Some(exposed_waits));
            for (at, (instance, arrival)) in tile.iter().enumerate() {
                self.stays(at, (instance, arrival), &mut stays);
                then(instance, arrival, &stays.list);
            }
        });
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// How long the members of one of them stayed and waited.
    pub(super) fn stays_of(&self, one: (&Instance, &Arrival), stays: &mut Stays) {
        self.fill(stays, &[one], None);
        self.stays(0, one, stays);
    }

    /// Hands all of them to `look`, as many at a time as are gone through together.
    fn each_tile(&self, mut look: impl FnMut(&[(&'a Instance, &'a Arrival)])) {
        let all: Vec<(&Instance, &Arrival)> = self.each().collect();
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let (tile, others) = rest.split_at(together(rest.iter().map(|(one, _)| one.members.len())));
            look(tile);
            rest = others;
        }
    }

    /// How long each member of the collective at `at` of the tile stayed and waited for whom it waits for.
    fn stays(&self, at: usize, (instance, arrival): (&Instance, &Arrival), stays: &mut Stays) {
        let Stays { list, before_last_ns, tile } = stays;
        before_last_ns.resize(self.collectives.len(), 0);
        for (rank, ns) in arrival.order.iter() {
            before_last_ns[rank] = ns;
        }
        let members = &instance.members;
        let cells = at * tile.apart..at * tile.apart + members.len();
        let is_sender = |place: usize| {
            let member = members.at(place);
            self.collectives[member.rank()].collectives.operation(member.collective()).kind == Kind::Send
        };
        list.clear();
        list.extend(members.ranks().zip(&tile.stays_ns[cells.clone()]).enumerate().map(|(place, (rank, stay_ns))| {
            let (stay_ns, before_last_ns) = ((*stay_ns).max(0), before_last_ns[rank]);
            let wait_ns = match arrival.waiting {
                Waiting::ForTheLast => before_last_ns,
                Waiting::Pairwise if is_sender(place) => 0,
                Waiting::Pairwise => before_last_ns,
                Waiting::ForSome => wait_for_some_ns(&arrival.order, before_last_ns, stay_ns),
            };
            Stay { stay_ns, wait_ns: wait_ns.clamp(0, stay_ns), ..Stay::default() }
        }));
        for (stay, exposed) in list.iter_mut().zip(tile.exposed.get(cells).unwrap_or_default()) {
            (stay.exposed_ns, stay.exposed_wait_ns) = (exposed.exposed_ns, exposed.waits_ns);
        }
    }

    /// Looks up all stays of the collectives of `tile`, and what was exposed of them where `exposed_waits` are given.
    fn fill(&self, stays: &mut Stays, tile: &[(&Instance, &Arrival)], exposed_waits: Option<&Lengths>) {
        let Tile { stays_ns, exposed, apart, column } = &mut stays.tile;
        *apart = tile.first().map_or(0, |(one, _)| one.members.len() + APART);
        // All of it is written over.
        stays_ns.resize(tile.len() * *apart, 0);
        exposed.resize(if exposed_waits.is_some() { stays_ns.len() } else { 0 }, Exposed::default());
        each_rank(tile, &mut column.places, |rank, places, first| {
            self.collectives[rank].collectives.gather_stays(places, &mut column.stays_ns);
            let own = stays_ns[first..].iter_mut().step_by(*apart);
            own.zip(&column.stays_ns).for_each(|(to, ns)| *to = ns.cast_signed());
            let Some(exposed_waits) = exposed_waits else { return };
            self.ranks[rank].report.exposed_ns.gather(places, &mut column.exposed_ns);
            exposed_waits.gather(rank, places, &mut column.waits_ns);
            let own = exposed[first..].iter_mut().step_by(*apart);
            for (to, (exposed_ns, waits_ns)) in own.zip(column.exposed_ns.iter().zip(&column.waits_ns)) {
                *to = Exposed { exposed_ns: exposed_ns.cast_signed(), waits_ns: *waits_ns };
            }
        });
    }

    /// Puts the waits that `kept` has of the collectives of `tile` where they belong.
    fn put_waits(&self, kept: &mut Tile, tile: &[(&Instance, &Arrival)], waits: &mut Lengths) {
        let Tile { stays_ns, apart, column, .. } = kept;
        each_rank(tile, &mut column.places, |rank, places, first| {
            waits.put(rank, places, stays_ns[first..].iter().step_by(*apart).copied());
        });
    }
}

impl Tile {
    /// Keeps how long members of the collective at `at` waited in place of how long they stayed.
    fn keep_waits(&mut self, at: usize, list: &[Stay]) {
        let cells = &mut self.stays_ns[at * self.apart..];
        cells.iter_mut().zip(list).for_each(|(cell, stay)| *cell = stay.wait_ns);
    }
}

/// Hands each rank's places in the collectives of `tile` to `look`, with the first of its cells: all of those of a rank at once where ranks
/// are in step, else each by itself. `places` are room for them.
fn each_rank(tile: &[(&Instance, &Arrival)], places: &mut Vec<u64>, mut look: impl FnMut(usize, &[u64], usize)) {
    let members = tile.first().map_or(0, |(one, _)| one.members.len());
    if let Some(stretch) = Stretch::of(tile.iter().map(|(instance, _)| *instance)) {
        for place in 0..members {
            stretch.places(place, places);
            look(stretch.rank(place), places, place);
        }
        return;
    }
    for (at, (instance, _)) in tile.iter().enumerate() {
        for (place, member) in instance.members.iter().enumerate() {
            look(member.rank(), &[member.collective() as u64], at * (members + APART) + place);
        }
    }
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
