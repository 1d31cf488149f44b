//! What each rank's lateness cost, as sets of time.
//!
//! The lead of whoever comes last to a collective reaches from the arrival of the last of the others to its own. Of ranks that
//! are known to be late, the others are those that are not. Leads that overlap, as of two collectives in flight at once, are one
//! stretch of time. Where the clocks leave something open, a lead begins that much later: only what is beyond it is certain.

use crate::Intervals;
use crate::arrivals::Arrival;

use super::evidence::Others;
use super::rounds::Rounds;

/// Delays by rank and round, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    by_rank: Vec<Vec<i64>>,
}

impl Delays {
    /// The delays of all ranks that are not `known` to be late, as if those were not there.
    pub(super) fn of(arrivals: &[&Arrival], rounds: &Rounds, known: &[usize], open_ns: i64, ranks: usize) -> Self {
        let mut leads: Vec<Vec<Vec<(i64, i64)>>> = vec![Vec::new(); ranks];
        for (arrival, round) in arrivals.iter().zip(&rounds.of) {
            let Some(round) = *round else { continue };
            let mut last = arrival.comings().rev().filter(|(rank, _)| !known.contains(rank));
            let (Some((rank, came_ns)), Some((_, before_ns))) = (last.next(), last.next()) else { continue };
            if let Some(lead) = lead(before_ns, came_ns, open_ns) {
                leads[rank].resize(rounds.count, Vec::new());
                leads[rank][round].push(lead);
            }
        }
        let by_round = |rounds: Vec<Vec<(i64, i64)>>| rounds.into_iter().map(union_ns).collect();
        Self { by_rank: leads.into_iter().map(by_round).collect() }
    }

    /// The delay of `rank` by round, beside the ranks that are not among the `late`, of which it is one.
    pub(super) fn of_set(arrivals: &[&Arrival], rounds: &Rounds, late: &[usize], rank: usize, open_ns: i64) -> Vec<i64> {
        let mut leads: Vec<Vec<(i64, i64)>> = vec![Vec::new(); rounds.count];
        for (arrival, round) in arrivals.iter().zip(&rounds.of) {
            if let (Some(round), Some(lead)) = (*round, lead_of(arrival, late, rank, open_ns)) {
                leads[round].push(lead);
            }
        }
        leads.into_iter().map(union_ns).collect()
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
pub(super) fn intervals_of(arrivals: &[&Arrival], late: &[usize], rank: usize, open_ns: i64) -> Intervals {
    Intervals::union_of(arrivals.iter().filter_map(|arrival| lead_of(arrival, late, rank, open_ns)))
}

/// Ranks by how long after the middle one of a collective they come on the whole, latest first.
pub(super) fn by_mean_lateness(arrivals: &[&Arrival], ranks: usize) -> Vec<usize> {
    let mut late_ns = vec![0i128; ranks];
    for arrival in arrivals {
        let Some((_, middle_ns)) = arrival.comings().nth((arrival.order.len() - 1) / 2) else { continue };
        for (rank, came_ns) in arrival.comings() {
            late_ns[rank] += i128::from(came_ns) - i128::from(middle_ns);
        }
    }
    let mut order: Vec<usize> = (0..ranks).collect();
    order.sort_by_key(|rank| (std::cmp::Reverse(late_ns[*rank]), *rank));
    order
}

fn lead_of(arrival: &Arrival, late: &[usize], rank: usize, open_ns: i64) -> Option<(i64, i64)> {
    let mut came_ns = None;
    // Whoever came before the last of the others has no lead, so nobody is looked for among those.
    for (other, ns) in arrival.comings().rev() {
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

fn union_ns(leads: Vec<(i64, i64)>) -> i64 {
    Intervals::union_of(leads).length_ns()
}
