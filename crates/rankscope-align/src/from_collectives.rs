//! The clocks of the ranks, as far as their collectives tell.
//!
//! The rules, each paid for on real traces:
//! the interval is the result, and it comes only from operations that need every rank; on one host nothing is corrected that the
//! interval lets be, because on an oversubscribed host every point estimate is off by hundreds of microseconds while the
//! interval holds; a point comes from the ends of collectives, those of the shorter ones first, because large ring collectives
//! truly end a third of a millisecond apart; and a point counts only if the ends agree on it far better than it is large.

use std::collections::VecDeque;

use rankscope_collectives::{Matched, Member, RankCollectives};

use crate::bounds::{Bound, Bounds};

/// One rank's stay in a collective, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stay {
    /// Index of the rank.
    rank: usize,
    start_ns: i64,
    end_ns: i64,
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
    /// How far apart the ends of one collective lie, by chance, once corrected: what the clocks may be off in practice, where
    /// the bounds say what they may be off at most. Nothing on one host; none if no collective was found twice.
    pub agreement_ns: Option<i64>,
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
    for meeting in meetings.iter().filter(|meeting| meeting.needs_all) {
        let stays: Vec<_> = meeting.stays.iter().map(|stay| (stay.rank, stay.start_ns, stay.end_ns)).collect();
        bounds.overlap(&stays);
    }
    bounds.close();
    let one_host = hosts.first().is_some_and(|first| first.is_some() && hosts.iter().all(|host| host == first));
    let leave = bounds.contradiction().is_some() || (one_host && bounds.allow_zero());
    let offsets = if leave { vec![0; ranks.len()] } else { offsets(ranks.len(), &meetings, &bounds, hosts) };
    let chance = || polish(&mut offsets.clone(), &meetings);
    let agreement_ns = if one_host { Some(0) } else { (!meetings.is_empty()).then(chance) };
    let bound = |rank: usize| if rank == 0 { Bound { lo_ns: Some(0), hi_ns: Some(0) } } else { bounds.between(0, rank) };
    let clocks: Vec<_> =
        offsets.into_iter().enumerate().map(|(rank, offset_ns)| RankClocks { offset_ns, bound: bound(rank) }).collect();
    let corrected = clocks.iter().any(|clock| clock.offset_ns != 0);
    ClockEstimate { bounds, clocks, corrected, agreement_ns }
}

/// A collective found on more than one rank.
struct Meeting {
    stays: Vec<Stay>,
    needs_all: bool,
}

impl Meeting {
    fn shortest_ns(&self) -> i64 {
        self.stays.iter().map(|stay| stay.end_ns.saturating_sub(stay.start_ns)).min().unwrap_or(0)
    }

    fn end_of(&self, rank: usize) -> Option<i64> {
        self.stays.iter().find(|stay| stay.rank == rank).map(|stay| stay.end_ns)
    }
}

/// All collectives found on more than one rank, shortest first.
fn meetings(ranks: &[RankCollectives], matched: &Matched) -> Vec<Meeting> {
    let collective = |member: &Member| &ranks[member.rank].collectives[member.collective];
    let stay = |member: &Member| {
        let collective = collective(member);
        Stay { rank: member.rank, start_ns: collective.start_ns, end_ns: collective.end_ns }
    };
    let together = matched.instances.iter().filter(|instance| instance.members.len() > 1);
    let mut meetings: Vec<_> = together
        .map(|instance| Meeting {
            stays: instance.members.iter().map(stay).collect(),
            needs_all: instance.members.iter().all(|member| collective(member).kind.needs_all()),
        })
        .collect();
    meetings.sort_by_key(Meeting::shortest_ns);
    meetings
}

/// How two ranks' clocks differ by the ends of their common collectives.
#[derive(Clone, Copy, Debug)]
struct Tie {
    difference_ns: i64,
    /// Half the spread of the middle half of the differences.
    spread_ns: i64,
    count: usize,
}

/// A difference counts if it is this many times larger than its spread.
const SIGNIFICANCE: i64 = 8;

/// Fewer ends than this agree by chance.
const TIES_MIN: usize = 3;

impl Tie {
    /// The error to expect of the median, up to a factor.
    fn error(&self) -> f64 {
        (self.spread_ns + 1) as f64 / (self.count as f64).sqrt()
    }

    fn is_significant(&self) -> bool {
        self.count >= TIES_MIN && self.difference_ns.saturating_abs() > self.spread_ns.saturating_mul(SIGNIFICANCE)
    }
}

/// An offset for every rank: from the first rank along the collectives that ranks share, polished, the median of each known
/// host, and inside the bounds.
fn offsets(ranks: usize, meetings: &[Meeting], bounds: &Bounds, hosts: &[Option<&str>]) -> Vec<i64> {
    let mut offsets: Vec<Option<i64>> = vec![None; ranks];
    for root in 0..ranks {
        // Ranks that share no collective, not even through others, keep their clocks.
        if offsets[root].is_none() {
            offsets[root] = Some(0);
            spread_from(root, &mut offsets, meetings, bounds);
        }
    }
    let mut offsets: Vec<i64> = offsets.into_iter().map(|offset| offset.unwrap_or(0)).collect();
    if offsets.iter().all(|offset| *offset == 0) {
        return offsets;
    }
    let chance = polish(&mut offsets, meetings);
    let shared: Vec<i64> = (0..ranks).map(|rank| of_clock(rank, &offsets, hosts, chance)).collect();
    (0..ranks).map(|rank| if rank == 0 { 0 } else { bounds.between(0, rank).clamp(shared[rank] - shared[0]) }).collect()
}

/// Gives an offset to every rank that `root` reaches, nearest first: a rank with an offset passes it on to those it shares
/// collectives with.
fn spread_from(root: usize, offsets: &mut [Option<i64>], meetings: &[Meeting], bounds: &Bounds) {
    let mut frontier = VecDeque::from([root]);
    while let Some(from) = frontier.pop_front() {
        let Some(base) = offsets[from] else { continue };
        for (to, offset) in offsets.iter_mut().enumerate().filter(|(_, offset)| offset.is_none()) {
            let Some(tie) = tie(from, to, meetings) else { continue };
            let bound = bounds.between(from, to);
            let difference = match (tie.is_significant(), bound.allows_zero()) {
                (true, _) => tie.difference_ns,
                (false, true) => 0,
                // The clocks differ for certain, and the ends do not say by how much.
                (false, false) => bound.middle().unwrap_or(tie.difference_ns),
            };
            *offset = Some(base + bound.clamp(difference));
            frontier.push_back(to);
        }
    }
}

/// The median difference of ends over as many of the shortest collectives as agree best; `None` if the ranks share none.
fn tie(a: usize, b: usize, meetings: &[Meeting]) -> Option<Tie> {
    let differences: Vec<i64> =
        meetings.iter().filter_map(|meeting| Some(meeting.end_of(b)?.saturating_sub(meeting.end_of(a)?))).collect();
    let of_shortest = |count: usize| {
        let mut shortest = differences[..count].to_vec();
        shortest.sort_unstable();
        let at = |quarter: usize| shortest[(count - 1) * quarter / 4];
        Tie { difference_ns: at(2), spread_ns: (at(3) - at(1)) / 2, count }
    };
    let all = differences.len();
    let counts = [1, 2, 3, 4].map(|quarters| (all * quarters / 4).max(all.min(TIES_MIN)));
    counts.into_iter().filter(|count| *count > 0).map(of_shortest).min_by(|x, y| x.error().total_cmp(&y.error()))
}

/// Median polish: where a collective ended is the median over its ranks, corrected as yet; a rank's offset is the median over
/// collectives of what it is off. The noise of the first rank no longer enters all offsets. Over all collectives if the longer
/// ones agree as well as the shorter half does, else over that half.
///
/// Returns how far the offsets may be off by chance.
fn polish(offsets: &mut [i64], meetings: &[Meeting]) -> i64 {
    let half = deviations(offsets, &meetings[..meetings.len().div_ceil(2)]);
    let all = deviations(offsets, meetings);
    let chosen = if spread(&all) <= spread(&half) * 3 / 2 { all } else { half };
    let chance = spread(&chosen) / 2;
    for (offset, mut off) in offsets.iter_mut().zip(chosen).filter(|(_, off)| !off.is_empty()) {
        *offset = median(&mut off);
    }
    chance
}

/// By rank, how far after the median of all ranks it ended, uncorrected.
fn deviations(offsets: &[i64], meetings: &[Meeting]) -> Vec<Vec<i64>> {
    let mut off: Vec<Vec<i64>> = vec![Vec::new(); offsets.len()];
    for meeting in meetings {
        let mut ends: Vec<i64> = meeting.stays.iter().map(|stay| stay.end_ns.saturating_sub(offsets[stay.rank])).collect();
        let ended = median(&mut ends);
        for stay in &meeting.stays {
            off[stay.rank].push(stay.end_ns.saturating_sub(ended));
        }
    }
    off
}

/// The widest middle half of any rank.
fn spread(off: &[Vec<i64>]) -> i64 {
    let middle_half = |off: &Vec<i64>| {
        let mut sorted = off.clone();
        sorted.sort_unstable();
        let at = |quarter: usize| sorted[(sorted.len() - 1) * quarter / 4];
        at(3).saturating_sub(at(1))
    };
    off.iter().filter(|off| !off.is_empty()).map(middle_half).max().unwrap_or(0)
}

fn median(values: &mut [i64]) -> i64 {
    values.sort_unstable();
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
}

/// The median offset of the ranks that share `rank`'s clock: those of its host; where hosts are not known, those whose offsets
/// differ from its own by no more than chance.
fn of_clock(rank: usize, offsets: &[i64], hosts: &[Option<&str>], chance_ns: i64) -> i64 {
    let shares = |other: usize| match (hosts[rank], hosts[other]) {
        (Some(own), Some(other)) => own == other,
        _ => offsets[other].abs_diff(offsets[rank]) <= chance_ns.unsigned_abs(),
    };
    let mut together: Vec<i64> = (0..offsets.len()).filter(|other| shares(*other)).map(|other| offsets[other]).collect();
    median(&mut together)
}
