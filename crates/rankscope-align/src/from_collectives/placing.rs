//! Offsets that all hold at once: as near to the estimates as the constraints allow.
//!
//! With the drifts decided, stamps are freed of them, and what is left are constraints between constant offsets, which shortest
//! paths close. In a closed system clocks can be placed one after the other: any place that agrees with those already there
//! leaves a place for the rest. The ranks of one clock move together as long as they can.

use std::ops::RangeInclusive;

use super::intervals::{Intervals, PAIRED_RANKS_MAX};
use super::meetings::{Meetings, Moved, Room};
use super::sharing::SharedClock;
use super::ties::{Line, gained_in_own_ns, gained_ns};
use crate::bounds::Placing;
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
pub(crate) fn chosen(clocks: &[SharedClock], meetings: &Meetings<'_>, at_ns: i64, intervals: &Intervals) -> Choice {
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
        let bounds = level_bounds(clocks, &lines, meetings, at_ns, possible_ppb.len());
        [bounds.tightened(ROOM_NS), bounds].into_iter().find_map(closed).map(|bounds| (lines, bounds))
    });
    let (lines, bounds) = match &fits {
        Some((lines, bounds)) => (lines, bounds),
        None => (&with_drifts(&tries[0]), &intervals.bounds),
    };
    let wanted: Vec<_> = clocks.iter().zip(lines).map(|(clock, line)| (&clock.ranks[..], line.at(at_ns))).collect();
    let mut choice = Choice { offset_ns: placed(bounds, &wanted), drift_ppb: vec![0; possible_ppb.len()] };
    for (clock, line) in clocks.iter().zip(lines) {
        for rank in &clock.ranks {
            // Drifts were counted from where the line was, and the clock is somewhere else now.
            let moved_ns = choice.offset_ns[*rank].saturating_sub(line.at(at_ns));
            choice.drift_ppb[*rank] = line.drift_ppb;
            let offset_ns = choice.offset_ns[*rank].saturating_add(gained_ns(line.drift_ppb, moved_ns));
            // What a drift gains is rounded, and may be a nanosecond more than the interval has.
            let bound = if *rank == 0 { Bound::default() } else { intervals.bounds.between(0, *rank) };
            choice.offset_ns[*rank] = if bound.contains(choice.offset_ns[*rank]) { bound.clamp(offset_ns) } else { offset_ns };
        }
    }
    choice
}

/// Between an effect and its cause there is at least a nanosecond, and moving two stamps may round off as many again.
const ROOM_NS: i64 = 3;

/// `bounds` along all paths, unless that shows a contradiction.
fn closed(mut bounds: Bounds) -> Option<Bounds> {
    bounds.close();
    bounds.contradiction().is_none().then_some(bounds)
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

/// Meetings whose stamps are freed of drifts at a time.
const LEVELLED: RangeInclusive<usize> = 256..=2_048;

/// The constraints between clocks that are freed of their drifts.
fn level_bounds(clocks: &[SharedClock], lines: &[Line], meetings: &Meetings<'_>, at_ns: i64, ranks: usize) -> Bounds {
    let mut clock_of = vec![(0, 0); ranks];
    for (clock, line) in clocks.iter().zip(lines) {
        let shown_ns = at_ns.saturating_add(line.at(at_ns));
        clock.ranks.iter().for_each(|rank| clock_of[*rank] = (line.drift_ppb, shown_ns));
    }
    let level = |rank: usize, stamp_ns: i64| {
        let (drift_ppb, shown_ns) = clock_of[rank];
        stamp_ns.saturating_sub(gained_in_own_ns(drift_ppb, stamp_ns.saturating_sub(shown_ns)))
    };
    let mut bounds = Bounds::free(ranks);
    // Of few ranks each is compared with all before it, of many with the first: so many are kept. Drifts are taken off once for each stamp,
    // as there are as many pairs as the square of them.
    let is_paired = ranks <= PAIRED_RANKS_MAX;
    let rows = if is_paired { LEVELLED } else { *LEVELLED.end()..=*LEVELLED.end() };
    let (mut levelled, mut room): (Vec<Moved>, Room) = Default::default();
    for block in meetings.blocks().flat_map(|block| block.in_runs(rows.clone())) {
        let last = if is_paired { block.members.len() } else { 1 };
        levelled.resize_with(levelled.len().max(last + 1), Moved::default);
        for (place, member) in block.members.iter().enumerate() {
            let (before, behind) = levelled.split_at_mut(place.min(last));
            behind[0].take(&block.column(place, &mut room), |ns| level(member.rank(), ns));
            let own = behind[0].column(*member);
            for (other, levelled) in block.members.iter().zip(before) {
                let before = levelled.column(*other);
                bounds.at_most(member.rank(), other.rank(), own.tightest_ns(&before));
                bounds.at_most(other.rank(), member.rank(), before.tightest_ns(&own));
            }
        }
    }
    bounds
}

/// Places clocks in the order given, each as near to where it is wanted as those before it allow. The first rank is where it is.
pub(crate) fn placed(bounds: &Bounds, wanted: &[(&[usize], i64)]) -> Vec<i64> {
    let ranks = wanted.iter().map(|(ranks, _)| ranks.len()).sum();
    let mut offsets = vec![0; ranks];
    let mut placing = Placing::new(bounds);
    for (ranks, wanted_ns) in wanted {
        let common = ranks.iter().map(|rank| placing.room(*rank)).fold(Bound::default(), Bound::and);
        let common_ns = common.clamp(*wanted_ns);
        let together = common.width_ns().is_none_or(|width| width >= 0) && placing.put_together(ranks, common_ns);
        for rank in *ranks {
            offsets[*rank] = if together { common_ns } else { placing.put_near(*rank, *wanted_ns) };
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::Instant;

    use super::super::RankClocks;
    use super::super::meetings::Stay;
    use super::super::sharing::by_host;
    use super::*;

    const START_NS: i64 = 1_790_000_000_000_000_000;

    proptest! {
        /// Of many ranks, where no table has all paths: the same places, and all of them satisfy every bound.
        #[test]
        fn clocks_are_placed_by_paths_as_by_the_table(
            clocks in prop::collection::vec((-1_000i64..1_000, 0usize..9), 2..40),
            slacks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), -2i64..100), 0..120),
            wanted_ns in prop::collection::vec(-2_000i64..2_000, 9)
        ) {
            let [mut table, mut sparse] = [Bounds::free(clocks.len()), Bounds::free_and_sparse(clocks.len())];
            let edges = slacks.iter().map(|(a, b, slack)| {
                let [a, b] = [a, b].map(|index| index.index(clocks.len()));
                (a, b, clocks[b].0 - clocks[a].0 + slack)
            });
            let edges: Vec<_> = edges.filter(|(a, b, _)| a != b).collect();
            for bounds in [&mut table, &mut sparse] {
                edges.iter().for_each(|(a, b, most)| bounds.at_most(*a, *b, Some(*most)));
                bounds.close();
            }
            prop_assume!(table.contradiction().is_none());
            let shared = |own: usize| (0..clocks.len()).filter(|rank| clocks[*rank].1 == own).collect::<Vec<_>>();
            let shared: Vec<Vec<usize>> = (0..9).map(shared).collect();
            let wanted: Vec<(&[usize], i64)> = shared.iter().map(Vec::as_slice).zip(wanted_ns).collect();
            let found = placed(&sparse, &wanted);
            prop_assert_eq!(&found, &placed(&table, &wanted));
            prop_assert!(edges.iter().all(|(a, b, most)| found[*b] - found[*a] <= *most), "{:?}", found);
        }

        /// However far off the ends are, a clock is placed where moved stamps show nobody leave before all have come.
        #[test]
        fn moved_stamps_keep_causes_before_effects(
            offset_ns in -5_000_000i64..5_000_000, drift_ppb in -99_000i64..99_000, wrong_ns in -900_000i64..900_000,
            together in prop::collection::vec((0i64..60_000_000_000, 10i64..5_000, any::<bool>()), 2..40)
        ) {
            let theirs_ns = |ns: i64| START_NS + ns + offset_ns + gained_ns(drift_ppb, ns);
            let meeting = |(at, stays_ns, first_is_late): &(i64, i64, bool)| {
                let (first, second) = if *first_is_late { (0, -700_000) } else { (-700_000, 0) };
                let (own, other) = (START_NS + at, |ns: i64| theirs_ns(at + ns));
                vec![Stay::of(0, own + first, own + stays_ns), Stay::of(1, other(second), other(*stays_ns))]
            };
            let meetings: Meetings<'_> = together.iter().map(meeting).collect();
            let mut clocks = by_host(&[None, None]);
            clocks[1].line = Line { center_ns: START_NS, offset_ns: offset_ns + wrong_ns, drift_ppb };
            let range = Some((-200_000.0, 200_000.0));
            let intervals = Intervals { bounds: Bounds::free(2), drift_ppb: vec![range, range] };
            let choice = chosen(&clocks, &meetings, START_NS, &intervals);
            let (offset_ns, drift_ppb) = (choice.offset_ns[1], choice.drift_ppb[1]);
            let map = RankClocks { offset_ns, drift_ppb, drift_open_ppb: 0, bound: Bound::default(), applied: true }.map(START_NS);
            let moved = |ns: i64| map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
            for meeting in meetings.iter() {
                let [own, other] = [0, 1].map(|rank| meeting.stays().nth(rank).expect("both were there"));
                prop_assert!(own.start_ns < moved(other.end_ns) && moved(other.start_ns) < own.end_ns, "{meeting:?}");
            }
        }
    }
}
