//! The clocks of the ranks, as far as their collectives tell.
//!
//! The rules, each paid for on real traces:
//! - The interval is the result, and the point a convenience. The interval comes only from causes that come before their
//!   effects, and holds for clocks that drift.
//! - Stamps of one host are corrected as far as causality forces it and no further: on an oversubscribed host every point
//!   estimate is off by hundreds of microseconds while the interval holds.
//! - Where hosts are not known, equal clocks are presumed until something speaks against them: an effect before its cause; or
//!   ends that agree on a difference far better than it is large, and larger than the collectives were long. The agreement of
//!   ends alone says nothing, because the same ranks may be late every time. What the presumption may cost is in the interval.
//! - Where clocks do differ, a point comes from the ends of collectives, the shorter ones first, and a drift from their slope
//!   if the span shows it above the noise. Both stay inside what causality allows.

mod agreement;
mod ends;
mod ends_of_clocks;
mod homes;
mod intervals;
mod meetings;
mod middles;
mod nth;
mod passages;
mod placing;
mod sharing;
mod shortest;
mod slopes;
mod ties;
mod tying;

#[cfg(test)]
mod tests;

use rankscope_collectives::{Matched, RankCollectives};
use rankscope_time::{ClockMap, Knot, RankClock, ReferenceClock, Span};

use self::agreement::agreement_ns;
pub use self::ends::{IntervalEnd, Side};
pub use self::intervals::DRIFT_MAX;
use self::intervals::intervals;
use self::meetings::meetings;
use self::placing::{Choice, chosen};
pub(crate) use self::sharing::host_name;
use self::sharing::{SharedClock, by_host, equal_clocks_fit, merged, seem_to_differ};
use self::ties::{Line, gained_ns};
use self::tying::{KnownTies, tie_all};
use crate::{Bound, Bounds};

/// What the traces say about all clocks.
#[derive(Clone, Debug)]
pub struct ClockEstimate {
    /// The bounds between all pairs, at `at_ns`.
    pub bounds: Bounds,
    /// What is to be done about each rank's clock.
    pub clocks: Vec<RankClocks>,
    /// Whether any of it is not zero.
    pub corrected: bool,
    /// How far apart the ends of one collective lie once corrected: what the clocks may be off in practice, where the bounds say
    /// what they may be off at most. Nothing on one host; none if no collective was found twice.
    pub agreement_ns: Option<i64>,
    /// Where offsets and bounds hold, on the first rank's clock: the start of the earliest trace.
    pub at_ns: i64,
    /// Ranks that are taken to have one clock, by index.
    pub shared: Vec<Vec<usize>>,
    /// Whether the host of every rank is known.
    pub hosts_known: bool,
}

/// What is to be done about one rank's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankClocks {
    /// To be subtracted from a stamp of the rank taken at [`ClockEstimate::at_ns`].
    pub offset_ns: i64,
    /// What the rank's clock gains on the first rank's, in parts per billion; 0 where the traces are too short to tell.
    pub drift_ppb: i64,
    /// How far the drift may be off, in parts per billion.
    pub drift_open_ppb: i64,
    /// The interval of its clock minus the first rank's at [`ClockEstimate::at_ns`].
    pub bound: Bound,
    /// Whether there is anything to correct.
    pub applied: bool,
}

impl RankClocks {
    /// The correction as a map. `at_ns` is [`ClockEstimate::at_ns`].
    pub fn map(&self, at_ns: i64) -> ClockMap<RankClock, ReferenceClock> {
        if !self.applied {
            return ClockMap::identity();
        }
        let open_ns = self.open_ns();
        let knot = |after_ns: i64| {
            let to_ns = at_ns.saturating_add(after_ns);
            let ahead_ns = self.offset_ns.saturating_add(gained_ns(self.drift_ppb, after_ns));
            let grown_ns = gained_ns(self.drift_open_ppb, after_ns).unsigned_abs();
            Knot { from_ns: to_ns.saturating_add(ahead_ns), to_ns, uncertainty_ns: open_ns.saturating_add(grown_ns) }
        };
        // Stamps at the edge of time have no room for a slope.
        let level = || ClockMap::from_offset(Span::from_nanos(self.offset_ns.saturating_neg()), open_ns);
        ClockMap::from_knots(vec![knot(0), knot(MAP_REACH_NS)], DRIFT_MAX).unwrap_or_else(|_| level())
    }

    /// How far the offset may be off, as far as the interval tells; an end that nothing bounds leaves everything open.
    fn open_ns(&self) -> u64 {
        let Bound { lo_ns: Some(lo_ns), hi_ns: Some(hi_ns) } = self.bound else { return u64::MAX };
        hi_ns.abs_diff(self.offset_ns).max(self.offset_ns.abs_diff(lo_ns))
    }
}

/// A correction is a line through two points so far apart: longer than what a profiler records, and a whole number of
/// nanoseconds for every drift.
const MAP_REACH_NS: i64 = 100_000_000_000_000;

/// Estimates the clocks of `ranks` from the collectives that `matched` found on them, at the start of the earliest. `hosts` says
/// which ranks share a host, by any name of it.
pub fn estimate(ranks: &[RankCollectives], matched: &Matched, hosts: &[Option<&str>]) -> ClockEstimate {
    estimate_at_start(ranks, matched, hosts, &[])
}

/// As [`estimate`], at the start of the earliest trace: `starts_ns` has the first stamp of every rank.
pub fn estimate_at_start(
    ranks: &[RankCollectives],
    matched: &Matched,
    hosts: &[Option<&str>],
    starts_ns: &[Option<i64>],
) -> ClockEstimate {
    let mut meetings = meetings(ranks, matched);
    let mut clocks = by_host(hosts);
    let mut known = KnownTies::default();
    tie_all(&mut clocks, &meetings, None, &mut known);
    let lines = by_rank(&clocks, ranks.len());
    let since = |rank: usize, own_ns: i64| own_ns.saturating_sub(lines[rank].at(own_ns));
    meetings.sort_by_key(|meeting| meeting.stays().next().map(|stay| since(stay.rank(), stay.end_ns)));
    let first_ns = |rank: usize| {
        let recorded = starts_ns.get(rank).copied().flatten();
        Some(since(rank, recorded.or(ranks[rank].collectives.first().map(|first| first.start_ns))?))
    };
    let at_ns = (0..ranks.len()).filter_map(first_ns).min().unwrap_or(0);
    let shown_ns: Vec<i64> = lines.iter().map(|line| at_ns.saturating_add(line.at(at_ns))).collect();
    let intervals = intervals(&shown_ns, &meetings);
    let bounds = &intervals.bounds;

    let named: Vec<_> = hosts.iter().map(|host| host_name(*host)).collect();
    let hosts_known = named.iter().all(Option::is_some);
    let one_host = hosts_known && named.iter().all(|host| host == &named[0]);
    let may_differ = || if hosts_known { !one_host } else { seem_to_differ(&clocks) };
    // All stamps are looked through only where nothing else says so.
    let differ = may_differ() || !equal_clocks_fit(&meetings, |_| true);
    let mut choice = Choice::nothing(ranks.len());
    if differ && bounds.contradiction().is_none() {
        tie_all(&mut clocks, &meetings, Some(bounds), &mut known);
        let apart = clocks.len();
        clocks = merged(clocks, &meetings);
        if clocks.len() < apart {
            tie_all(&mut clocks, &meetings, Some(bounds), &mut KnownTies::default());
        }
        choice = chosen(&clocks, &meetings, at_ns, &intervals);
    }
    let of_rank = |rank: usize| {
        let (offset_ns, drift_ppb) = (choice.offset_ns[rank], choice.drift_ppb[rank]);
        let bound = if rank == 0 { Bound { lo_ns: Some(0), hi_ns: Some(0) } } else { bounds.between(0, rank) };
        let (least, most) = intervals.drift_ppb[rank].unwrap_or((-(DRIFT_MAX.as_ppb() as f64), DRIFT_MAX.as_ppb() as f64));
        let drift_open_ppb = (most - drift_ppb as f64).max(drift_ppb as f64 - least).ceil() as i64;
        let applied = offset_ns != 0 || drift_ppb != 0;
        RankClocks { offset_ns, drift_ppb, drift_open_ppb, bound, applied }
    };
    let of_ranks: Vec<RankClocks> = (0..ranks.len()).map(of_rank).collect();
    ClockEstimate {
        corrected: of_ranks.iter().any(|clock| clock.applied),
        agreement_ns: if one_host { Some(0) } else { agreement_ns(&of_ranks, &meetings, at_ns) },
        hosts_known,
        shared: clocks.into_iter().map(|clock| clock.ranks).collect(),
        clocks: of_ranks,
        bounds: intervals.bounds,
        at_ns,
    }
}

fn by_rank(clocks: &[SharedClock], ranks: usize) -> Vec<Line> {
    let mut lines = vec![Line::default(); ranks];
    for clock in clocks {
        clock.ranks.iter().for_each(|rank| lines[*rank] = clock.line);
    }
    lines
}
