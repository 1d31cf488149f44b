//! How well the corrected clocks agree in practice.
//!
//! Once corrected, a rank's ends lie about the middle of all: how far its own middle is off, and how widely it strays, tell what
//! the clocks may be off where ends are honest. It is no bound.

use super::RankClocks;
use super::meetings::{Meeting, Meetings};
use super::ties::{gained_ns, median};

/// The worst of any rank, over all collectives if the longer ones agree as well as the shorter half, else over that half. `None`
/// where no collective was found on two ranks.
pub(crate) fn agreement_ns(clocks: &[RankClocks], meetings: &Meetings, at_ns: i64) -> Option<i64> {
    let mut shortest: Vec<usize> = (0..meetings.len()).collect();
    shortest.sort_by_cached_key(|at| meetings.get(*at).shortest_ns());
    let (short, long) = shortest.split_at(shortest.len().div_ceil(2));
    let mut off: Vec<Vec<i64>> = meetings.room_for_each(clocks.len());
    let mut worst = |own: &[usize]| {
        own.iter().for_each(|at| stray(&mut off, clocks, &meetings.get(*at), at_ns));
        off.iter_mut().filter_map(|off| strays_ns(off)).max()
    };
    let half = worst(short)?;
    let all = worst(long)?;
    Some(if all <= half.saturating_mul(3) / 2 { all } else { half })
}

/// Notes how far the ends of one collective are `off` their middle, by rank.
fn stray(off: &mut [Vec<i64>], clocks: &[RankClocks], meeting: &Meeting<'_>, at_ns: i64) {
    let ends: Vec<i64> = meeting.stays().map(|stay| corrected_ns(&clocks[stay.rank()], stay.end_ns, at_ns)).collect();
    let Some(ended) = median(ends.clone()) else { return };
    for (stay, end) in meeting.stays().zip(ends) {
        off[stay.rank()].push(end.saturating_sub(ended));
    }
}

/// How far the middle is off, or half of the middle half, whichever is more.
fn strays_ns(off: &mut [i64]) -> Option<i64> {
    let last = off.len().checked_sub(1)?;
    let [first, middle, third] = [1, 2, 3].map(|quarter| *off.select_nth_unstable(last * quarter / 4).1);
    Some(middle.saturating_abs().max(third.saturating_sub(first) / 2))
}

fn corrected_ns(clock: &RankClocks, own_ns: i64, at_ns: i64) -> i64 {
    let level_ns = own_ns.saturating_sub(clock.offset_ns);
    level_ns.saturating_sub(gained_ns(clock.drift_ppb, level_ns.saturating_sub(at_ns)))
}
