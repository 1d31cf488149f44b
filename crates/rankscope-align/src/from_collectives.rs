//! The clocks of the ranks, as far as their collectives tell.
//!
//! The rules, each paid for on real traces:
//! the interval is the result; where it lets all clocks be equal nothing is corrected, because on an oversubscribed host every
//! point estimate is off by hundreds of microseconds while the interval holds; a point comes from the ends of the shorter
//! collectives, because large ring collectives truly end a third of a millisecond apart; and where those ends spread wider than
//! the interval, its middle is the better point.

use rankscope_collectives::{Matched, RankCollectives};

use crate::bounds::{Bound, Bounds};

/// One rank's stay in a collective, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Index of the rank.
    pub rank: usize,
    /// When it entered.
    pub start_ns: i64,
    /// When it left.
    pub end_ns: i64,
}

/// What the traces say about all clocks.
#[derive(Clone, Debug)]
pub struct ClockEstimate {
    /// The bounds between all pairs.
    pub bounds: Bounds,
    /// What is to be subtracted from each rank's stamps.
    pub clocks: Vec<RankClocks>,
    /// Whether any of it is not zero.
    pub corrected: bool,
}

/// What is to be done about one rank's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankClocks {
    /// To be subtracted from the rank's stamps.
    pub offset_ns: i64,
    /// The interval of its clock minus the first rank's.
    pub bound: Bound,
}

/// Estimates the clocks of `ranks` from the collectives that `matched` found on them. `hosts` says which ranks share a host, by
/// any name of it; ranks of one host share its clock.
pub fn estimate(ranks: &[RankCollectives], matched: &Matched, hosts: &[Option<&str>]) -> ClockEstimate {
    let meetings = meetings(ranks, matched);
    let mut bounds = Bounds::free(ranks.len());
    for stays in &meetings {
        let stays: Vec<_> = stays.iter().map(|stay| (stay.rank, stay.start_ns, stay.end_ns)).collect();
        bounds.overlap(&stays);
    }
    bounds.close();
    let bound = |rank: usize| if rank == 0 { Bound { lo_ns: Some(0), hi_ns: Some(0) } } else { bounds.between(0, rank) };
    let uncorrected = bounds.allow_zero() || bounds.contradiction().is_some();
    let offsets = if uncorrected { vec![0; ranks.len()] } else { offsets(ranks.len(), &meetings, &bounds, hosts) };
    let clocks: Vec<_> =
        offsets.into_iter().enumerate().map(|(rank, offset_ns)| RankClocks { offset_ns, bound: bound(rank) }).collect();
    let corrected = clocks.iter().any(|clock| clock.offset_ns != 0);
    ClockEstimate { bounds, clocks, corrected }
}

/// The stays of each collective that needs every rank and was found on more than one.
fn meetings(ranks: &[RankCollectives], matched: &Matched) -> Vec<Vec<Stay>> {
    let stay = |member: &rankscope_collectives::Member| {
        let collective = &ranks[member.rank].collectives[member.collective];
        Stay { rank: member.rank, start_ns: collective.start_ns, end_ns: collective.end_ns }
    };
    let needs_all = |member: &rankscope_collectives::Member| ranks[member.rank].collectives[member.collective].kind.needs_all();
    matched
        .instances
        .iter()
        .filter(|instance| instance.members.len() > 1 && instance.members.iter().all(needs_all))
        .map(|instance| instance.members.iter().map(stay).collect())
        .collect()
}

/// How two ranks' clocks differ by the ends of their short common collectives.
#[derive(Clone, Copy, Debug)]
struct Tie {
    difference_ns: i64,
    /// Half the spread of the middle half of the differences.
    spread_ns: i64,
    count: usize,
}

/// An offset for every rank: from the first rank along the pairs that share most collectives, averaged over the ranks of one
/// host, and inside the bounds.
fn offsets(ranks: usize, meetings: &[Vec<Stay>], bounds: &Bounds, hosts: &[Option<&str>]) -> Vec<i64> {
    let mut offsets: Vec<Option<i64>> = vec![None; ranks];
    for root in 0..ranks {
        // Ranks that share no collective, not even through others, keep their clocks.
        if offsets[root].is_none() {
            offsets[root] = Some(0);
            spread_from(root, &mut offsets, meetings, bounds);
        }
    }
    let offsets: Vec<i64> = offsets.into_iter().map(|offset| offset.unwrap_or(0)).collect();
    let shared: Vec<i64> = (0..ranks).map(|rank| of_host(rank, &offsets, hosts)).collect();
    let first = shared[0];
    (0..ranks).map(|rank| if rank == 0 { 0 } else { bounds.between(0, rank).clamp(shared[rank] - first) }).collect()
}

/// Gives an offset to every rank that `root` reaches, nearest first: a rank with an offset passes it on to those it shares
/// collectives with.
fn spread_from(root: usize, offsets: &mut [Option<i64>], meetings: &[Vec<Stay>], bounds: &Bounds) {
    let mut frontier = vec![root];
    while let Some(from) = frontier.pop() {
        let Some(base) = offsets[from] else { continue };
        for (to, offset) in offsets.iter_mut().enumerate().filter(|(_, offset)| offset.is_none()) {
            let Some(tie) = tie(from, to, meetings) else { continue };
            let bound = bounds.between(from, to);
            let too_wide = bound.width_ns().is_some_and(|width| tie.spread_ns > width / 2) || tie.count == 1;
            let difference = if too_wide { bound.middle().unwrap_or(tie.difference_ns) } else { tie.difference_ns };
            *offset = Some(base + bound.clamp(difference));
            frontier.insert(0, to);
        }
    }
}

/// The median difference of ends over the shorter quarter of the collectives that both ranks were in; `None` if they share none.
fn tie(a: usize, b: usize, meetings: &[Vec<Stay>]) -> Option<Tie> {
    let mut common: Vec<(i64, i64)> = meetings
        .iter()
        .filter_map(|stays| {
            let of = |rank| stays.iter().find(|stay| stay.rank == rank);
            let (ours, theirs) = (of(a)?, of(b)?);
            let shortest = stays.iter().map(|stay| stay.end_ns.saturating_sub(stay.start_ns)).min()?;
            Some((shortest, theirs.end_ns.saturating_sub(ours.end_ns)))
        })
        .collect();
    common.sort_unstable();
    common.truncate((common.len() / 4).max(common.len().min(3)));
    let mut differences: Vec<i64> = common.into_iter().map(|(_, difference)| difference).collect();
    differences.sort_unstable();
    let count = differences.len();
    let at = |quarter: usize| differences[(count - 1) * quarter / 4];
    (count > 0).then(|| Tie { difference_ns: at(2), spread_ns: (at(3) - at(1)) / 2, count })
}

/// The median offset of the ranks on `rank`'s host; its own where the host is not known.
fn of_host(rank: usize, offsets: &[i64], hosts: &[Option<&str>]) -> i64 {
    let Some(host) = hosts[rank] else { return offsets[rank] };
    let mut together: Vec<i64> =
        offsets.iter().zip(hosts).filter(|(_, other)| **other == Some(host)).map(|(offset, _)| *offset).collect();
    together.sort_unstable();
    together[together.len() / 2]
}
