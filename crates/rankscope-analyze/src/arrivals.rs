//! Who came when to the collectives of the job.

use rankscope_collectives::{Instance, RankCollectives};
use rankscope_time::{ClockMap, Instant, RankClock, ReferenceClock};

/// One matched collective: who came when, what was waited and what transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index of its row in the table.
    pub row: usize,
    /// Indices of the ranks, first to come first.
    pub order: Vec<usize>,
    /// How long each of them waited for the last, in that order.
    pub wait_ns: Vec<i64>,
    /// First arrival, on the job's clock.
    pub start_ns: i64,
    /// The shortest stay of any rank: what remained once everybody had come. No clock but the rank's own is in it.
    pub transfer_ns: i64,
    /// Last end minus first.
    pub end_skew_ns: i64,
}

/// One rank's part in all matched collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankArrivals {
    /// Matched collectives it took part in, of more than one rank.
    pub matched: u64,
    /// Times it came last.
    pub last: u64,
    /// Times it came first.
    pub first: u64,
    /// Its wait for others.
    pub wait_ns: i64,
    /// Where it came last, its lead over the one before it: what its own lateness cost the job.
    pub delay_ns: i64,
}

pub(crate) type Map = ClockMap<RankClock, ReferenceClock>;

/// Lines up the members of a complete `instance` on the job's clock.
pub(crate) fn arrival(instance: &Instance, ranks: &[RankCollectives], maps: &[&Map], row: usize) -> Arrival {
    let mapped = |rank: usize, nanos: i64| maps[rank].map(Instant::from_nanos_since_epoch(nanos)).nanos_since_epoch();
    let mut stays: Vec<(i64, i64, usize)> = instance
        .members
        .iter()
        .map(|member| {
            let collective = &ranks[member.rank].collectives[member.collective];
            (mapped(member.rank, collective.start_ns), mapped(member.rank, collective.end_ns), member.rank)
        })
        .collect();
    // Equal arrivals stand in order of rank, so that the same input gives the same answer.
    stays.sort_unstable_by_key(|(start, _, rank)| (*start, *rank));
    let ends = || stays.iter().map(|(_, end, _)| *end);
    let last_start = stays.last().map_or(0, |(start, ..)| *start);
    let durations = instance.members.iter().map(|member| ranks[member.rank].collectives[member.collective].dur_ns());
    Arrival {
        row,
        order: stays.iter().map(|(_, _, rank)| *rank).collect(),
        wait_ns: stays.iter().map(|(start, ..)| last_start - start).collect(),
        start_ns: stays.first().map_or(0, |(start, ..)| *start),
        transfer_ns: durations.min().unwrap_or(0),
        end_skew_ns: ends().max().unwrap_or(0) - ends().min().unwrap_or(0),
    }
}

/// Adds up every rank's part.
pub(crate) fn by_rank(arrivals: &[Arrival], ranks: usize) -> Vec<RankArrivals> {
    let mut sums = vec![RankArrivals::default(); ranks];
    for arrival in arrivals.iter().filter(|arrival| arrival.order.len() > 1) {
        for (rank, wait) in arrival.order.iter().zip(&arrival.wait_ns) {
            sums[*rank].matched += 1;
            sums[*rank].wait_ns = sums[*rank].wait_ns.saturating_add(*wait);
        }
        if let (Some(first), Some(last)) = (arrival.order.first(), arrival.order.last()) {
            sums[*first].first += 1;
            sums[*last].last += 1;
            // The one before the last waited just for the last.
            let lead = arrival.wait_ns[arrival.wait_ns.len() - 2];
            sums[*last].delay_ns = sums[*last].delay_ns.saturating_add(lead);
        }
    }
    sums
}
