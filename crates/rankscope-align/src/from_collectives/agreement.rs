//! How well the corrected clocks agree in practice.
//!
//! Once corrected, a rank's ends lie about the middle of all: how far its own middle is off, and how widely it strays, tell what
//! the clocks may be off where ends are honest. It is no bound, and a part of very many collectives tells it as well as all of them.

use std::ops::RangeInclusive;

use super::RankClocks;
use super::meetings::{self, Block, Meetings};
use super::nth::{Room, nth};
use super::ties::{gained_ns, median_in};

/// The worst of any rank, over the longer collectives too if they agree as well as the shorter half, else over that half. `None`
/// where no collective was found on two ranks. At most [`MEETINGS_MAX`] are looked at.
pub(crate) fn agreement_ns(clocks: &[RankClocks], meetings: &Meetings<'_>, at_ns: i64) -> Option<i64> {
    let is_short = shorter_half(meetings.shortest_ns());
    let sample = Sample::of(meetings.len());
    let middles_ns = middles_ns(clocks, meetings, sample, at_ns);
    // One rank after the other: for all at once it would be as many numbers as there are stamps.
    let (mut off, mut short, mut rows, mut room): (Vec<i64>, Vec<i64>, Vec<usize>, Room) = Default::default();
    let mut stamps = meetings::Room::default();
    let (mut all, mut half) = (None, None);
    for (clock, blocks) in clocks.iter().zip(meetings.blocks_by_rank(clocks.len())) {
        off.clear();
        short.clear();
        for (block, place) in blocks {
            let block = meetings.block(block as usize);
            let left_ns = block.column(place as usize, &mut stamps).left_ns;
            rows.clear();
            rows.extend(sample.rows(block));
            let first = off.len();
            let own = rows.iter().map(|row| (block.at[*row] as usize, left_ns[*row]));
            off.extend(own.map(|(at, end)| corrected_ns(clock, end, at_ns).saturating_sub(middles_ns[at])));
            keep_into(&mut short, &off[first..], rows.iter().map(|row| is_short[block.at[*row] as usize]));
        }
        all = all.max(strays_ns(&off, &mut room));
        half = half.max(strays_ns(&short, &mut room));
    }
    let (all, half) = (all?, half?);
    Some(if all <= half.saturating_mul(3) / 2 { all } else { half })
}

/// Meetings that are looked at.
const MEETINGS_MAX: usize = 4_096;

/// Some of the meetings, spread evenly, whatever comes back every so many of them.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// One in so many.
    each: u64,
}

impl Sample {
    fn of(meetings: usize) -> Self {
        Self { each: meetings.div_ceil(MEETINGS_MAX).max(1) as u64 }
    }

    /// Whether the meeting of this number is one of them. Multiples of the golden ratio lie evenly in the unit interval.
    fn has(self, at: u32) -> bool {
        u64::from(at.wrapping_mul(GOLDEN)) * self.each < 1 << 32
    }

    /// The rows of `block` that are of them.
    fn rows(self, block: Block<'_>) -> impl Iterator<Item = usize> {
        (0..block.at.len()).filter(move |row| self.has(block.at[*row]))
    }
}

/// The golden ratio's part behind the point, of 2³².
const GOLDEN: u32 = 2_654_435_769;

/// Adds those of `numbers` that are to be kept to `kept`, without a branch, as nobody can tell which they are.
fn keep_into(kept: &mut Vec<i64>, numbers: &[i64], is_kept: impl Iterator<Item = bool>) {
    let mut next = kept.len();
    kept.resize(next + numbers.len() + 1, 0);
    for (number, is_kept) in numbers.iter().zip(is_kept) {
        kept[next] = *number;
        next += usize::from(is_kept);
    }
    kept.truncate(next);
}

/// Of each whether it is of the shorter half; of equals, the first ones are.
fn shorter_half(lengths_ns: &[i64]) -> Vec<bool> {
    let mut all: Vec<(i64, u32)> = lengths_ns.iter().copied().zip(0..).collect();
    let mut is_short = vec![true; all.len()];
    let half = all.len().div_ceil(2);
    if half < all.len() {
        let (_, first_long, long) = all.select_nth_unstable(half);
        long.iter().chain([&*first_long]).for_each(|(_, at)| is_short[*at as usize] = false);
    }
    is_short
}

/// Meetings whose ends are corrected at a time.
const CORRECTED: RangeInclusive<usize> = 64..=1_024;

/// Ends between those of two members: so that the ends of one meeting do not all stand in the same place of a cache.
const APART: usize = 9;

/// By meeting, the middle of its corrected ends; nothing of those that are not in the sample.
fn middles_ns(clocks: &[RankClocks], meetings: &Meetings<'_>, sample: Sample, at_ns: i64) -> Vec<i64> {
    let mut middles_ns = vec![0; meetings.len()];
    // Room for the corrected ends of a run of meetings, member by member, and for those of one.
    let (mut corrected, mut ends): (Vec<i64>, Vec<i64>) = Default::default();
    let mut stamps = meetings::Room::default();
    let mut rows: Vec<usize> = Vec::new();
    for block in meetings.blocks().flat_map(|block| block.in_runs(CORRECTED)) {
        rows.clear();
        rows.extend(sample.rows(block));
        corrected.clear();
        for (place, member) in block.members.iter().enumerate() {
            let (clock, left_ns) = (&clocks[member.rank()], block.column(place, &mut stamps).left_ns);
            corrected.extend(rows.iter().map(|row| corrected_ns(clock, left_ns[*row], at_ns)));
            corrected.extend([0; APART]);
        }
        for (own, row) in rows.iter().enumerate() {
            let at = block.at[*row];
            ends.clear();
            ends.extend(corrected[own..].iter().step_by(rows.len() + APART));
            middles_ns[at as usize] = median_in(&mut ends).unwrap_or(0);
        }
    }
    middles_ns
}

/// How far the middle is off, or half of the middle half, whichever is more.
fn strays_ns(off: &[i64], room: &mut Room) -> Option<i64> {
    let last = off.len().checked_sub(1)?;
    let mut at = |quarter: usize| nth(off, last * quarter / 4, room);
    let (first_ns, middle_ns, third_ns) = (at(1)?, at(2)?, at(3)?);
    Some(middle_ns.saturating_abs().max(third_ns.saturating_sub(first_ns) / 2))
}

fn corrected_ns(clock: &RankClocks, own_ns: i64, at_ns: i64) -> i64 {
    let level_ns = own_ns.saturating_sub(clock.offset_ns);
    level_ns.saturating_sub(gained_ns(clock.drift_ppb, level_ns.saturating_sub(at_ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_no_more_than_a_few_thousand_spread_evenly_and_all_of_as_many() {
        for meetings in [0, 1, 4_096, 4_097, 10_000, 50_000, 1_000_003] {
            let (sample, all) = (Sample::of(meetings), 0..meetings as u32);
            let places: Vec<u32> = all.filter(|at| sample.has(*at)).collect();
            assert!(meetings > MEETINGS_MAX || places.len() == meetings);
            assert!(places.len() <= MEETINGS_MAX + 8 && places.len() * 2 >= meetings.min(MEETINGS_MAX), "{}", places.len());
            // Steps of a hundred collectives each give nearly as many of every one of the hundred.
            let of_each = |one: u32| places.iter().filter(|at| **at % 100 == one).count();
            let (least, most) =
                (0..100).map(of_each).fold((usize::MAX, 0), |(least, most), many| (least.min(many), most.max(many)));
            assert!(meetings < 10_000 || most <= 2 * least, "{meetings}: {least} to {most}");
        }
    }

    #[test]
    fn of_equals_the_first_are_of_the_shorter_half() {
        assert_eq!(shorter_half(&[5, 5, 5]), [true, true, false]);
        assert_eq!(shorter_half(&[9, 1, 5, 5]), [false, true, true, false]);
        assert_eq!(shorter_half(&[7]), [true]);
        assert_eq!(shorter_half(&[]), [false; 0]);
    }

    #[test]
    fn what_is_kept_stands_behind_what_was() {
        let mut kept = vec![1];
        keep_into(&mut kept, &[2, 3, 4, 5], [false, true, true, false].into_iter());
        keep_into(&mut kept, &[6, 7], [false, true].into_iter());
        keep_into(&mut kept, &[], std::iter::empty());
        assert_eq!(kept, [1, 3, 4, 7]);
    }

    #[test]
    fn a_rank_strays_by_its_quarters() {
        let strays_ns = |off: &[i64]| strays_ns(off, &mut Room::default());
        assert_eq!(strays_ns(&[]), None);
        assert_eq!(strays_ns(&[-7]), Some(7));
        assert_eq!(strays_ns(&[4, 0, 8, 2, 6]), Some(4));
        assert_eq!(strays_ns(&[40, 0, -40, 20, -20]), Some(20));
    }
}
