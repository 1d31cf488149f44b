//! Members of collectives on the job's clock.
//!
//! The stays of a rank lie together, and those of a collective do not: a thousand ranks have them in a thousand places. So collectives that
//! follow each other are gone through together, rank by rank, and each is put in order afterwards. Nothing is said here of what follows.

use rankscope_collectives::{Instance, Kind, Places, RankCollectives, Stretch};
use rankscope_time::{ClockCursor, RankClock, ReferenceClock};

use crate::arrivals::{Arrival, Map, Waiting};
use crate::order::Orders;
use crate::radix::sort_by_bits;
use crate::{ExposedTimes, Order};

/// Lines up the members of collectives on the job's clock, one collective after the other.
#[derive(Debug)]
pub struct Lineup<'a> {
    ranks: &'a [RankCollectives],
    /// By rank, the exposed time of each of its collectives; none where nobody asks.
    exposed_ns: &'a [&'a ExposedTimes],
    /// By rank.
    clocks: Vec<ClockCursor<'a, RankClock, ReferenceClock>>,
    /// By collective and member when it came, and what else is known of each collective: room that is used again.
    came_ns: Vec<i64>,
    seen: Vec<Seen>,
    keys: Keys,
    columns: Columns,
    orders: Orders,
}

/// Of one rank's stays in collectives that are gone through together, room for where each is in its list, when it began, how long it was, how much of
/// it was exposed, and when it began and ended on the job's clock.
#[derive(Debug, Default)]
struct Columns {
    places: Vec<u64>,
    starts_ns: Vec<u64>,
    stays_ns: Vec<u64>,
    exposed_ns: Vec<u64>,
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
}

/// What the members of one collective have in sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stays {
    /// How long they stayed.
    pub(crate) stay_ns: i64,
    /// As much of it as no compute hid.
    pub(crate) exposed_ns: i64,
}

/// One collective, as its members are gone through.
#[derive(Clone, Copy, Debug)]
struct Seen {
    stays: Stays,
    /// That of the first member that tells one.
    kind: Kind,
    /// The first member that receives, and how long it stayed.
    receiver: Option<(u32, i64)>,
    shortest_ns: i64,
    /// First and last end, on the job's clock.
    ended_ns: (i64, i64),
}

impl Seen {
    const NOTHING: Self = Self {
        stays: Stays { stay_ns: 0, exposed_ns: 0 },
        kind: Kind::Unknown,
        receiver: None,
        shortest_ns: i64::MAX,
        ended_ns: (i64::MAX, i64::MIN),
    };

    /// Takes up what the member of `rank` says that it is, which stayed for `dur_ns`.
    fn take_kind(&mut self, kind: Kind, rank: usize, dur_ns: i64) {
        if self.kind == Kind::Unknown {
            self.kind = kind;
        }
        if kind == Kind::Recv && self.receiver.is_none() {
            self.receiver = Some((rank as u32, dur_ns));
        }
    }
}

/// Collectives that are gone through together, at most, and their stays. A rank's columns are somewhere else for each, so what is read of
/// them at a time should be whole runs; of ten thousand ranks that is worth more than that the stays are in a cache.
const TILE: usize = 512;
const TILE_STAYS: usize = 1 << 22;

/// How many of collectives that have so many `members` each are gone through together, rank by rank: the first ones, as far as all have as many.
fn together(mut members: impl Iterator<Item = usize>) -> usize {
    let Some(first) = members.next() else { return 0 };
    let most = (TILE_STAYS / first.max(1)).clamp(1, TILE);
    1 + members.take(most - 1).take_while(|other| *other == first).count()
}

/// Stays between the columns of two collectives: so that those of a power of two of ranks do not all stand in the same place of a cache.
const APART: usize = 9;

impl<'a> Lineup<'a> {
    /// Of `ranks`, whose clocks have these `maps`.
    pub fn of(ranks: &'a [RankCollectives], maps: &[&'a Map]) -> Self {
        Self::with_exposed(ranks, maps, &[])
    }

    /// The same where `exposed_ns` gives, by rank, the exposed time of each of its collectives.
    pub(crate) fn with_exposed(ranks: &'a [RankCollectives], maps: &[&'a Map], exposed_ns: &'a [&'a ExposedTimes]) -> Self {
        let clocks = maps.iter().map(|map| map.cursor()).collect();
        Self {
            ranks,
            exposed_ns,
            clocks,
            came_ns: Vec::new(),
            seen: Vec::new(),
            keys: Keys::default(),
            columns: Columns::default(),
            orders: Orders::default(),
        }
    }

    /// Lines up the members of each of `instances`, and hands what came of it to `then`, in their order.
    pub fn each<'b>(&mut self, instances: &'b [Instance], mut then: impl FnMut(&'b Instance, Arrival)) {
        self.each_with_stays(instances, |instance, _, arrival| then(instance, arrival));
    }

    /// The same with the sums of their stays.
    pub(crate) fn each_with_stays<'b>(
        &mut self,
        instances: &'b [Instance],
        mut then: impl FnMut(&'b Instance, Stays, Arrival),
    ) {
        let mut rest = instances;
        while let Some(first) = rest.first() {
            let members = first.members.len();
            let (tile, others) = rest.split_at(together(rest.iter().map(|one| one.members.len())));
            self.gather(tile, members);
            let arrivals: Vec<Arrival> = tile.iter().enumerate().map(|(at, instance)| self.arrival(at, instance)).collect();
            let orders = self.orders.keep();
            for (((instance, seen), arrival), order) in tile.iter().zip(&self.seen).zip(arrivals).zip(orders) {
                then(instance, seen.stays, Arrival { order, ..arrival });
            }
            rest = others;
        }
    }

    /// Goes through the stays of the collectives in `tile`, each of so many `members`.
    fn gather(&mut self, tile: &[Instance], members: usize) {
        self.seen.clear();
        self.seen.resize(tile.len(), Seen::NOTHING);
        // All of it is written over.
        self.came_ns.resize(tile.len() * (members + APART), 0);
        match Stretch::of(tile.iter()) {
            Some(stretch) => {
                let mut room = std::mem::take(&mut self.columns.places);
                (0..members).for_each(|place| {
                    let places = stretch.places(place, &mut room);
                    self.take_up(stretch.rank(place), &places, place, 0, members);
                });
                self.columns.places = room;
            }
            None => (0..members).for_each(|place| {
                for (at, instance) in tile.iter().enumerate() {
                    let member = instance.members.at(place);
                    let only = Places::Following(member.collective()..member.collective() + 1);
                    self.take_up(member.rank(), &only, place, at, members);
                }
            }),
        }
    }

    /// Takes up the stays of a rank at these `places` of its list, in the collectives from the one at `first` of the tile on, among whose
    /// `members` it stands at `place`.
    fn take_up(&mut self, rank: usize, places: &Places<'_>, place: usize, first: usize, members: usize) {
        let Columns { starts_ns, stays_ns, exposed_ns, entered_ns, left_ns, .. } = &mut self.columns;
        let own = &self.ranks[rank].collectives;
        own.gather(places, starts_ns, stays_ns);
        exposed_ns.clear();
        match self.exposed_ns.get(rank) {
            Some(times) => times.gather(places, exposed_ns),
            None => exposed_ns.resize(places.len(), 0),
        }
        entered_ns.clear();
        entered_ns.extend(starts_ns.iter().map(|ns| ns.cast_signed()));
        left_ns.clear();
        left_ns
            .extend(starts_ns.iter().zip(&*stays_ns).map(|(start_ns, stay_ns)| start_ns.wrapping_add(*stay_ns).cast_signed()));
        let clock = &mut self.clocks[rank];
        clock.map_all(entered_ns);
        clock.map_all(left_ns);
        let came = self.came_ns[first * (members + APART) + place..].iter_mut().step_by(members + APART);
        came.zip(&*entered_ns).for_each(|(came, entered_ns)| *came = *entered_ns);
        let stays = left_ns.iter().zip(&*stays_ns).zip(&*exposed_ns).zip(places.iter());
        for (seen, (((end_ns, stay_ns), exposed_ns), at)) in self.seen[first..].iter_mut().zip(stays) {
            let (end_ns, dur_ns) = (*end_ns, stay_ns.cast_signed());
            seen.ended_ns = (seen.ended_ns.0.min(end_ns), seen.ended_ns.1.max(end_ns));
            seen.shortest_ns = seen.shortest_ns.min(dur_ns);
            seen.stays.stay_ns = seen.stays.stay_ns.saturating_add(dur_ns);
            seen.stays.exposed_ns += exposed_ns.cast_signed();
            // Of what is no message it is enough that one member tells what it is.
            if seen.kind == Kind::Unknown || seen.kind.is_point_to_point() {
                seen.take_kind(own.operation(at).kind, rank, dur_ns);
            }
        }
    }

    /// Lines up the members of `instance`, which stands at `at` in the tile. Its row and its number are for the caller to tell, and who came
    /// when is with the orders.
    fn arrival(&mut self, at: usize, instance: &Instance) -> Arrival {
        let members = &instance.members;
        let Seen { kind, receiver, shortest_ns, ended_ns, .. } = self.seen[at];
        // Equal arrivals stand in order of rank, so that the same input gives the same answer.
        let (came_ns, places) = in_order(&self.came_ns[at * (members.len() + APART)..][..members.len()], &mut self.keys);
        let last_ns = came_ns.last().copied().unwrap_or(0);
        let comings = places.iter().zip(came_ns);
        let comings = comings.map(|(place, came_ns)| (members.rank(*place as usize) as u32, last_ns - came_ns));
        let waiting = Waiting::of(kind);
        let waited = |rank: u32| comings.clone().find(|(other, _)| *other == rank).map_or(0, |(_, wait_ns)| wait_ns);
        let transfer_ns = match waiting {
            Waiting::Pairwise => receiver.map_or(0, |(rank, dur_ns)| (dur_ns - waited(rank)).max(0)),
            _ if members.is_empty() => 0,
            _ => shortest_ns,
        };
        let step = places.first().and_then(|place| {
            let first = members.at(*place as usize);
            let of_rank = &self.ranks[first.rank()];
            of_rank.step_at(of_rank.collectives.start_ns(first.collective()))
        });
        let start_ns = came_ns.first().copied().unwrap_or(0);
        let end_skew_ns = if members.is_empty() { 0 } else { ended_ns.1 - ended_ns.0 };
        self.orders.push(comings);
        Arrival { row: 0, instance: 0, order: Order::default(), start_ns, transfer_ns, end_skew_ns, waiting, step }
    }
}

/// Room for arrivals and places as one number each, and for those of which these do not fit one.
#[derive(Debug, Default)]
struct Keys {
    list: Vec<u64>,
    room: Vec<u64>,
    wide: Vec<(i64, u32)>,
    /// What came of it.
    came_ns: Vec<i64>,
    places: Vec<u32>,
}

/// When members came, and their places, in order: by when they came, then by their places. `keys` is room for it.
fn in_order<'a>(came_ns: &[i64], keys: &'a mut Keys) -> (&'a [i64], &'a [u32]) {
    let ends = |(first, last): (i64, i64), came: &i64| (first.min(*came), last.max(*came));
    let (first, last) = came_ns.iter().fold((i64::MAX, i64::MIN), ends);
    let apart = if came_ns.is_empty() { 0 } else { last.abs_diff(first) };
    let Keys { list, room, wide, came_ns: sorted_ns, places } = keys;
    sorted_ns.clear();
    places.clear();
    if apart >> (u64::BITS - PLACE_BITS) > 0 || came_ns.len() >> PLACE_BITS > 0 {
        wide.clear();
        wide.extend(came_ns.iter().copied().zip(0..));
        wide.sort_unstable();
        sorted_ns.extend(wide.iter().map(|(came_ns, _)| came_ns));
        places.extend(wide.iter().map(|(_, place)| place));
    } else {
        // Both fit one number.
        list.clear();
        list.extend(came_ns.iter().zip(0..).map(|(came, place)| came.abs_diff(first) << PLACE_BITS | place));
        sort_by_bits(list, room, PLACE_BITS, u64::BITS - apart.leading_zeros());
        sorted_ns.extend(list.iter().map(|key| first.wrapping_add_unsigned(key >> PLACE_BITS)));
        places.extend(list.iter().map(|key| (key & PLACES) as u32));
    }
    (sorted_ns, places)
}

/// Places of a million members, and four hours between the first and the last of them.
const PLACE_BITS: u32 = 20;
const PLACES: u64 = (1 << PLACE_BITS) - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn who_came_first_stands_first_however_far_apart(
            came in prop_oneof![
                prop::collection::vec(prop_oneof![20 => -50i64..50, 1 => any::<i64>()], 0..70),
                prop::collection::vec(-50_000i64..50_000, 500..900)
            ]
        ) {
            let mut slowly: Vec<(i64, u32)> = came.iter().copied().zip(0..).collect();
            slowly.sort_unstable();
            let mut keys = Keys::default();
            // Twice: what is left in the room does not show.
            for _ in 0..2 {
                let (came_ns, places) = in_order(&came, &mut keys);
                prop_assert_eq!(came_ns.iter().copied().zip(places.iter().copied()).collect::<Vec<_>>(), slowly.clone());
            }
        }
    }
}
