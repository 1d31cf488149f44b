//! What each rank's lateness cost, as sets of time.
//!
//! The lead of whoever comes last to a collective reaches from the arrival of the last of the others to its own. Of ranks that
//! are known to be late, the others are those that are not. Leads that overlap, as of two collectives in flight at once, are one
//! stretch of time. Where the clocks leave something open, a lead begins that much later: only what is beyond it is certain.

use crate::Intervals;
use crate::arrivals::Arrival;
use crate::intervals::Length;

use super::evidence::Others;
use super::rounds::Rounds;

/// A collective of which it is judged who is late. What is asked of it again and again is kept here, as the lists of its arrival lie
/// elsewhere in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged<'a> {
    pub(super) arrival: &'a Arrival,
    start_ns: i64,
    /// Who came last, and before that, and when.
    last: (usize, i64),
    before: (usize, i64),
}

impl<'a> Judged<'a> {
    /// None where fewer than two came.
    pub(super) fn of(arrival: &'a Arrival) -> Option<Self> {
        let mut latest = arrival.comings().rev();
        Some(Self { arrival, start_ns: arrival.start_ns, last: latest.next()?, before: latest.next()? })
    }

    /// The last two that are not `known`, the last one first.
    fn last_two(&self, known: &[usize]) -> Option<((usize, i64), (usize, i64))> {
        if ![self.last.0, self.before.0].iter().any(|rank| known.contains(rank)) {
            return Some((self.last, self.before));
        }
        let mut last = self.arrival.comings().rev().filter(|(rank, _)| !known.contains(rank));
        Some((last.next()?, last.next()?))
    }
}

/// Delays by rank and round, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    by_rank: Vec<Vec<i64>>,
}

impl Delays {
    /// The delays of all ranks that are not `known` to be late, as if those were not there.
    pub(super) fn of(judged: &[Judged<'_>], rounds: &Rounds, known: &[usize], open_ns: i64, ranks: usize) -> Self {
        let mut leads: Vec<Vec<Length>> = vec![Vec::new(); ranks];
        for (one, round) in judged.iter().zip(&rounds.of) {
            let Some(round) = *round else { continue };
            let Some(((rank, came_ns), (_, before_ns))) = one.last_two(known) else { continue };
            if let Some(lead) = lead(before_ns, came_ns, open_ns) {
                leads[rank].resize(rounds.count, Length::default());
                leads[rank][round].add(one.start_ns, lead);
            }
        }
        let by_round = |rounds: Vec<Length>| rounds.into_iter().map(Length::ns).collect();
        Self { by_rank: leads.into_iter().map(by_round).collect() }
    }

    /// The delay of `rank` by round, beside the ranks that are not among the `late`, of which it is one.
    pub(super) fn of_set(judged: &[Judged<'_>], rounds: &Rounds, late: &[usize], rank: usize, open_ns: i64) -> Vec<i64> {
        let mut leads: Vec<Length> = vec![Length::default(); rounds.count];
        for (one, round) in judged.iter().zip(&rounds.of) {
            if let (Some(round), Some(lead)) = (*round, lead_of(one, late, rank, open_ns)) {
                leads[round].add(one.start_ns, lead);
            }
        }
        leads.into_iter().map(Length::ns).collect()
    }

    /// The rank whose delay is largest over the rounds that count, of those not `known`.
    pub(super) fn largest(&self, known: &[usize]) -> Option<usize> {
        let total = |rank: usize| {
            let rounds = &self.by_rank[rank];
            rounds[rounds.len() - super::evidence::kept(rounds.len())..].iter().sum::<i64>()
        };
        let candidates = (0..self.by_rank.len()).filter(|rank| !known.contains(rank) && total(*rank) > 0);
        candidates.max_by_key(|rank| (total(*rank), std::cmp::Reverse(*rank)))
    }

    /// In each of `rounds`, the delays of the ranks that are not of `set`.
    pub(super) fn of_others(&self, set: &[usize], rounds: usize) -> Others {
        let mut others = Others { largest_ns: vec![0; rounds], mean_ns: vec![0.0; rounds] };
        let count = self.by_rank.len().saturating_sub(set.len()).max(1) as f64;
        for (_, delays) in self.by_rank.iter().enumerate().filter(|(rank, _)| !set.contains(rank)) {
            for (round, delay) in delays.iter().enumerate() {
                others.largest_ns[round] = others.largest_ns[round].max(*delay);
                others.mean_ns[round] += *delay as f64 / count;
            }
        }
        others
    }
}

/// All that the lateness of `rank` cost, beside the ranks that are not among the `late`.
pub(super) fn intervals_of(judged: &[Judged<'_>], late: &[usize], rank: usize, open_ns: i64) -> Intervals {
    Intervals::union_of(judged.iter().filter_map(|one| lead_of(one, late, rank, open_ns)))
}

/// Ranks by how long after the middle one of a collective they come on the whole, latest first.
pub(super) fn by_mean_lateness(judged: &[Judged<'_>], ranks: usize) -> Vec<usize> {
    let mut late_ns = vec![0i128; ranks];
    for arrival in judged.iter().map(|one| one.arrival) {
        let Some((_, middle_ns)) = arrival.comings().nth((arrival.order.len() - 1) / 2) else { continue };
        for (rank, came_ns) in arrival.comings() {
            late_ns[rank] += i128::from(came_ns) - i128::from(middle_ns);
        }
    }
    let mut order: Vec<usize> = (0..ranks).collect();
    order.sort_by_key(|rank| (std::cmp::Reverse(late_ns[*rank]), *rank));
    order
}

fn lead_of(one: &Judged<'_>, late: &[usize], rank: usize, open_ns: i64) -> Option<(i64, i64)> {
    if !late.contains(&one.last.0) {
        return None;
    }
    let mut came_ns = None;
    // Whoever came before the last of the others has no lead, so nobody is looked for among those.
    for (other, ns) in one.arrival.comings().rev() {
        if other == rank {
            came_ns = Some(ns);
        }
        if !late.contains(&other) {
            return lead(ns, came_ns?, open_ns);
        }
    }
    None
}

fn lead(before_ns: i64, came_ns: i64, open_ns: i64) -> Option<(i64, i64)> {
    let from_ns = before_ns.saturating_add(open_ns);
    (from_ns < came_ns).then_some((from_ns, came_ns))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrivals::Waiting;

    fn arrival(mut came: Vec<(i64, u32)>) -> Arrival {
        came.sort_unstable();
        let (start_ns, last_ns) = (came[0].0, came[came.len() - 1].0);
        let order = crate::Order::of(came.iter().map(|(came_ns, rank)| (*rank, last_ns - came_ns)));
        let waiting = Waiting::ForTheLast;
        Arrival { row: 0, instance: 0, order, start_ns, transfer_ns: 0, end_skew_ns: 0, waiting, step: None }
    }

    proptest! {
        /// By a look at everybody who came, and by the set of all leads.
        #[test]
        fn delays_are_as_long_as_all_leads_together(
            all in prop::collection::vec(prop::collection::vec(0i64..90, 5), 1..30),
            late in prop::collection::btree_set(0usize..5, 0..4), open_ns in 0i64..20
        ) {
            // They come in order of time, and some overlap.
            let came = |(at, came): (i64, &Vec<i64>)| arrival(came.iter().map(|ns| at * 50 + ns).zip(0..).collect());
            let mut arrivals: Vec<Arrival> = (0..).zip(&all).map(came).collect();
            arrivals.sort_by_key(|arrival| arrival.start_ns);
            let judged: Vec<Judged<'_>> = arrivals.iter().filter_map(Judged::of).collect();
            let rounds = Rounds { of: vec![Some(0); judged.len()], count: 1, repetitions: 1 };
            let late: Vec<usize> = late.into_iter().collect();
            let lead_beside = |rank: usize, others: &[usize]| {
                Intervals::union_of(arrivals.iter().filter_map(|arrival| {
                    let came_ns = arrival.comings().find(|(one, _)| *one == rank)?.1;
                    let before_ns = arrival.comings().filter(|(one, _)| others.contains(one)).map(|(_, ns)| ns).max()?;
                    lead(before_ns, came_ns, open_ns)
                }))
            };
            let of = Delays::of(&judged, &rounds, &late, open_ns, 5);
            for rank in 0..5 {
                let others: Vec<usize> = (0..5).filter(|one| *one != rank && !late.contains(one)).collect();
                let own = lead_beside(rank, &others);
                let in_round = of.by_rank[rank].first().copied().unwrap_or(0);
                prop_assert_eq!(in_round, if late.contains(&rank) { 0 } else { own.length_ns() });
                if late.contains(&rank) {
                    prop_assert_eq!(Delays::of_set(&judged, &rounds, &late, rank, open_ns), [own.length_ns()]);
                    prop_assert_eq!(intervals_of(&judged, &late, rank, open_ns), own);
                }
            }
        }
    }
}
