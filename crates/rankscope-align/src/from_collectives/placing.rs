//! Offsets that all hold at once: as near to the estimates as the constraints allow.
//!
//! With the drifts decided, stamps are freed of them, and what is left are constraints between constant offsets, which shortest
//! paths close. In a closed system clocks can be placed one after the other: any place that agrees with those already there
//! leaves a place for the rest. The ranks of one clock move together as long as they can.

use super::intervals::{Intervals, constrained_pairs};
use super::meetings::Meeting;
use super::sharing::SharedClock;
use super::ties::{Line, gained_ns};
use crate::{Bound, Bounds};

/// The correction of every rank, at the instant the estimate is for.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) offset_ns: Vec<i64>,
    pub(crate) drift_ppb: Vec<i64>,
}

impl Choice {
    /// Clocks as they are.
    pub(crate) fn nothing(ranks: usize) -> Self {
        Self { offset_ns: vec![0; ranks], drift_ppb: vec![0; ranks] }
    }
}

/// The lines of `clocks` at `at_ns`, moved as far as the constraints of `meetings` force them; where lines of these slopes break
/// one anywhere, as far as `intervals` do at that instant.
pub(crate) fn chosen(clocks: &[SharedClock], meetings: &[Meeting], at_ns: i64, intervals: &Intervals) -> Choice {
    let possible_ppb = &intervals.drift_ppb;
    let wanted = clocks.iter().map(|clock| within(clock.line.drift_ppb, clock, possible_ppb)).collect();
    let middles = clocks.iter().map(|clock| {
        let (least, most) = possible(clock, possible_ppb);
        ((least + most) / 2.0) as i64
    });
    let with_drifts = |drifts: &[i64]| -> Vec<Line> {
        clocks.iter().zip(drifts).map(|(clock, drift)| clock.line.with_drift(*drift)).collect()
    };
    // Where the slope of the ends cannot be, the middle of what can; a level line is tried last.
    let tries: [Vec<i64>; 3] = [wanted, middles.collect(), vec![0; clocks.len()]];
    let fits = tries.iter().map(|drifts| with_drifts(drifts)).find_map(|lines| {
        let bounds = level_bounds(clocks, &lines, meetings, at_ns, possible_ppb.len())?;
        Some((lines, bounds))
    });
    let (lines, bounds) = match &fits {
        Some((lines, bounds)) => (lines, bounds),
        None => (&with_drifts(&tries[0]), &intervals.bounds),
    };
    let wanted: Vec<_> = clocks.iter().zip(lines).map(|(clock, line)| (&clock.ranks[..], line.at(at_ns))).collect();
    let mut choice = Choice { offset_ns: placed(bounds, &wanted), drift_ppb: vec![0; possible_ppb.len()] };
    for (clock, line) in clocks.iter().zip(lines) {
        clock.ranks.iter().for_each(|rank| choice.drift_ppb[*rank] = line.drift_ppb);
    }
    choice
}

/// What a clock can gain on the first, by all of its ranks.
fn possible(clock: &SharedClock, possible_ppb: &[Option<(f64, f64)>]) -> (f64, f64) {
    if clock.ranks.contains(&0) {
        return (0.0, 0.0);
    }
    let ranges = clock.ranks.iter().filter_map(|rank| possible_ppb[*rank]);
    ranges.reduce(|(least, most), (lo, hi)| (least.max(lo), most.min(hi))).unwrap_or((0.0, 0.0))
}

fn within(drift_ppb: i64, clock: &SharedClock, possible_ppb: &[Option<(f64, f64)>]) -> i64 {
    let met = clock.ranks.iter().any(|rank| possible_ppb[*rank].is_some());
    let (least, most) = possible(clock, possible_ppb);
    let (least, most) = (least.ceil() as i64, most.floor() as i64);
    if met && least <= most { drift_ppb.clamp(least, most) } else { drift_ppb }
}

/// The constraints between clocks that are freed of their drifts.
fn level_bounds(clocks: &[SharedClock], lines: &[Line], meetings: &[Meeting], at_ns: i64, ranks: usize) -> Option<Bounds> {
    let mut clock_of = vec![(0, 0); ranks];
    for (clock, line) in clocks.iter().zip(lines) {
        let shown_ns = at_ns.saturating_add(line.at(at_ns));
        clock.ranks.iter().for_each(|rank| clock_of[*rank] = (line.drift_ppb, shown_ns));
    }
    let level = |rank: usize, stamp_ns: i64| {
        let (drift_ppb, shown_ns) = clock_of[rank];
        stamp_ns.saturating_sub(gained_ns(drift_ppb, stamp_ns.saturating_sub(shown_ns)))
    };
    let mut bounds = Bounds::free(ranks);
    for (entered, left) in meetings.iter().flat_map(|meeting| constrained_pairs(meeting, ranks)) {
        let most_ns = level(left.rank, left.end_ns).saturating_sub(level(entered.rank, entered.start_ns));
        bounds.at_most(entered.rank, left.rank, Some(most_ns));
    }
    bounds.close();
    bounds.contradiction().is_none().then_some(bounds)
}

/// Places clocks in the order given, each as near to where it is wanted as those before it allow. The first rank is where it is.
pub(crate) fn placed(bounds: &Bounds, wanted: &[(&[usize], i64)]) -> Vec<i64> {
    let ranks = wanted.iter().map(|(ranks, _)| ranks.len()).sum();
    let mut offsets = vec![0; ranks];
    let mut there: Vec<usize> = Vec::with_capacity(ranks);
    for (ranks, wanted_ns) in wanted {
        let room = |rank: usize, there: &[usize], offsets: &[i64]| {
            let sides = there.iter().map(|other| bounds.between(*other, rank).shifted(offsets[*other]));
            sides.fold(Bound::default(), Bound::and)
        };
        let common = ranks.iter().map(|rank| room(*rank, &there, &offsets)).fold(Bound::default(), Bound::and);
        let equal = || ranks.iter().all(|a| ranks.iter().all(|b| a == b || bounds.between(*a, *b).allows_zero()));
        if common.width_ns().is_none_or(|width| width >= 0) && equal() {
            ranks.iter().for_each(|rank| offsets[*rank] = common.clamp(*wanted_ns));
            there.extend(*ranks);
            continue;
        }
        for rank in *ranks {
            offsets[*rank] = room(*rank, &there, &offsets).clamp(*wanted_ns);
            there.push(*rank);
        }
    }
    offsets
}
