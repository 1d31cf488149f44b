//! Who came when to the collectives of the job.

use rankscope_collectives::{Instance, Kind, RankCollectives};
use rankscope_time::{ClockCursor, ClockMap, Instant, RankClock, ReferenceClock};

use crate::intervals::Length;
use crate::radix::sort_by_bits;

/// Who waits for whom in a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Everybody for the last to come.
    #[default]
    ForTheLast,
    /// The receiver of a message for its sender, and perhaps the sender for the receiver.
    Pairwise,
    /// Some for some: a root or its own part of the data decides, or it is not known which operation it is.
    ForSome,
}

impl Waiting {
    /// Who waits in an operation of this kind.
    pub fn of(kind: Kind) -> Self {
        if kind.needs_all() {
            Self::ForTheLast
        } else if kind.is_point_to_point() {
            Self::Pairwise
        } else {
            Self::ForSome
        }
    }
}

/// One matched collective: who came when, what was waited and what transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index of its row in the table.
    pub row: usize,
    /// Indices of the ranks, first to come first.
    pub order: Vec<u32>,
    /// How long each of them waited for the last, in that order.
    pub wait_ns: Vec<i64>,
    /// First arrival, on the job's clock.
    pub start_ns: i64,
    /// The shortest stay of any rank: what remained once everybody had come. No clock but the rank's own is in it. Of a message,
    /// the receiver's stay without its wait for the sender.
    pub transfer_ns: i64,
    /// Last end minus first.
    pub end_skew_ns: i64,
    /// Who waits for whom in it.
    pub waiting: Waiting,
    /// The step it lies in, on the rank that came first.
    pub step: Option<i64>,
}

impl Arrival {
    /// The ranks with the moments they came, on the job's clock, first to come first.
    pub(crate) fn comings(&self) -> impl DoubleEndedIterator<Item = (usize, i64)> {
        let last_ns = self.start_ns.saturating_add(self.wait_ns.first().copied().unwrap_or(0));
        self.order.iter().zip(&self.wait_ns).map(move |(rank, wait)| (*rank as usize, last_ns.saturating_sub(*wait)))
    }
}

/// One rank's part in all matched collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankArrivals {
    /// Matched collectives it took part in, of more than one rank; messages are not counted here.
    pub matched: u64,
    /// Times it came last.
    pub last: u64,
    /// Times it came first.
    pub first: u64,
    /// Time in which it waited for others.
    pub wait_ns: i64,
    /// Time in which others waited for it alone: where it came last, its lead over the one before it.
    pub delay_ns: i64,
}

/// From a rank's clock to the job's.
pub type Map = ClockMap<RankClock, ReferenceClock>;

/// Lines up the members of collectives on the job's clock, one collective after the other.
#[derive(Debug)]
pub struct Lineup<'a> {
    ranks: &'a [RankCollectives],
    /// By rank.
    clocks: Vec<ClockCursor<'a, RankClock, ReferenceClock>>,
    /// When the members came, and their places among the members: room that is used again.
    came: Vec<(i64, u32)>,
    keys: Keys,
}

impl<'a> Lineup<'a> {
    /// Of `ranks`, whose clocks have these `maps`.
    pub fn of(ranks: &'a [RankCollectives], maps: &[&'a Map]) -> Self {
        Self { ranks, clocks: maps.iter().map(|map| map.cursor()).collect(), came: Vec::new(), keys: Keys::default() }
    }

    /// Lines up the members of `instance`. `row` is where it belongs in a table.
    pub fn arrival(&mut self, instance: &Instance, row: usize) -> Arrival {
        let members = &instance.members;
        let (mut kind, mut receiver, mut shortest_ns) = (Kind::Unknown, None, i64::MAX);
        let mut ended_ns: Option<(i64, i64)> = None;
        self.came.clear();
        for (member, place) in members.iter().zip(0..) {
            let one = &self.ranks[member.rank()].collectives[member.collective()];
            let clock = &mut self.clocks[member.rank()];
            let mut mapped = |ns: i64| clock.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
            self.came.push((mapped(one.start_ns), place));
            let end_ns = mapped(one.end_ns);
            ended_ns = Some(ended_ns.map_or((end_ns, end_ns), |(first, last)| (first.min(end_ns), last.max(end_ns))));
            shortest_ns = shortest_ns.min(one.dur_ns());
            if kind == Kind::Unknown {
                kind = one.kind;
            }
            if one.kind == Kind::Recv && receiver.is_none() {
                receiver = Some((member.rank() as u32, one.dur_ns()));
            }
        }
        // Equal arrivals stand in order of rank, so that the same input gives the same answer.
        sort(&mut self.came, &mut self.keys);
        let last_ns = self.came.last().map_or(0, |(came_ns, _)| *came_ns);
        let order: Vec<u32> = self.came.iter().map(|(_, place)| members[*place as usize].rank() as u32).collect();
        let wait_ns: Vec<i64> = self.came.iter().map(|(came_ns, _)| last_ns - came_ns).collect();
        let waiting = Waiting::of(kind);
        let waited = |rank: u32| order.iter().position(|other| *other == rank).map_or(0, |at| wait_ns[at]);
        let transfer_ns = match waiting {
            Waiting::Pairwise => receiver.map_or(0, |(rank, dur_ns)| (dur_ns - waited(rank)).max(0)),
            _ if members.is_empty() => 0,
            _ => shortest_ns,
        };
        let step = self.came.first().and_then(|(_, place)| {
            let first = &members[*place as usize];
            let of_rank = &self.ranks[first.rank()];
            of_rank.step_at(of_rank.collectives[first.collective()].start_ns)
        });
        let start_ns = self.came.first().map_or(0, |(came_ns, _)| *came_ns);
        let end_skew_ns = ended_ns.map_or(0, |(first, last)| last - first);
        Arrival { row, order, wait_ns, start_ns, transfer_ns, end_skew_ns, waiting, step }
    }
}

/// Room for arrivals and places as one number each.
#[derive(Debug, Default)]
struct Keys {
    list: Vec<u64>,
    room: Vec<u64>,
}

/// Puts those who `came` in order: by when they came, then by their places, which ascend. `keys` is room for it.
fn sort(came: &mut Vec<(i64, u32)>, keys: &mut Keys) {
    let ends = |(first, last): (i64, i64), (came, _): &(i64, u32)| (first.min(*came), last.max(*came));
    let (first, last) = came.iter().fold((i64::MAX, i64::MIN), ends);
    let apart = if came.is_empty() { 0 } else { last.abs_diff(first) };
    if apart >> (u64::BITS - PLACE_BITS) > 0 || came.len() >> PLACE_BITS > 0 {
        came.sort_unstable();
        return;
    }
    // Both fit one number.
    let Keys { list, room } = keys;
    list.clear();
    list.extend(came.iter().map(|(came, place)| came.abs_diff(first) << PLACE_BITS | u64::from(*place)));
    sort_by_bits(list, room, PLACE_BITS, u64::BITS - apart.leading_zeros());
    came.clear();
    came.extend(list.iter().map(|key| (first.wrapping_add_unsigned(key >> PLACE_BITS), (key & PLACES) as u32)));
}

/// Places of a million members, and four hours between the first and the last of them.
const PLACE_BITS: u32 = 20;
const PLACES: u64 = (1 << PLACE_BITS) - 1;

/// Sums up every rank's part in what is between more than two ends: who is last to a message may be its receiver, whom nobody
/// waits for. Times that overlap count once, as two collectives in flight at once are one wait. `arrivals` are in order of time.
pub(crate) fn by_rank(arrivals: &[Arrival], ranks: usize) -> Vec<RankArrivals> {
    let mut sums = vec![RankArrivals::default(); ranks];
    let mut waits = vec![Length::default(); ranks];
    let mut delays = vec![Length::default(); ranks];
    let of_groups = |arrival: &&Arrival| arrival.waiting != Waiting::Pairwise && arrival.order.len() > 1;
    for arrival in arrivals.iter().filter(of_groups) {
        let mut latest = arrival.comings().rev();
        let (Some((last, end_ns)), Some((_, before_ns))) = (latest.next(), latest.next()) else { continue };
        for (rank, came_ns) in arrival.comings() {
            sums[rank].matched += 1;
            waits[rank].add(arrival.start_ns, (came_ns, end_ns));
        }
        sums[arrival.order[0] as usize].first += 1;
        sums[last].last += 1;
        // The one before the last waited just for the last.
        delays[last].add(arrival.start_ns, (before_ns, end_ns));
    }
    for ((sums, waits), delays) in sums.iter_mut().zip(waits).zip(delays) {
        sums.wait_ns = waits.ns();
        sums.delay_ns = delays.ns();
    }
    sums
}

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
            let mut quickly: Vec<(i64, u32)> = came.into_iter().zip(0..).collect();
            let mut slowly = quickly.clone();
            slowly.sort_unstable();
            sort(&mut quickly, &mut Keys::default());
            prop_assert_eq!(quickly, slowly);
        }
    }
}
