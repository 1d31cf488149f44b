//! How well the corrected clocks agree in practice.
//!
//! Once corrected, a rank's ends lie about the middle of all: how far its own middle is off, and how widely it strays, tell what
//! the clocks may be off where ends are honest. It is no bound.

use super::RankClocks;
use super::meetings::Meeting;
use super::ties::{gained_ns, median};

/// The worst of any rank, over all collectives if the longer ones agree as well as the shorter half, else over that half. `None`
/// where no collective was found on two ranks.
pub(crate) fn agreement_ns(clocks: &[RankClocks], meetings: &[Meeting], at_ns: i64) -> Option<i64> {
    let mut shortest: Vec<&Meeting> = meetings.iter().collect();
    shortest.sort_by_key(|meeting| meeting.shortest_ns());
    let half = worst(clocks, &shortest[..shortest.len().div_ceil(2)], at_ns)?;
    let all = worst(clocks, &shortest, at_ns)?;
    Some(if all <= half.saturating_mul(3) / 2 { all } else { half })
}

fn worst(clocks: &[RankClocks], meetings: &[&Meeting], at_ns: i64) -> Option<i64> {
    let mut counts = vec![0; clocks.len()];
    meetings.iter().flat_map(|meeting| &meeting.stays).for_each(|stay| counts[stay.rank()] += 1);
    let mut off: Vec<Vec<i64>> = counts.into_iter().map(Vec::with_capacity).collect();
    for meeting in meetings {
        let ends: Vec<i64> = meeting.stays.iter().map(|stay| corrected_ns(&clocks[stay.rank()], stay.end_ns, at_ns)).collect();
        let Some(ended) = median(ends.clone()) else { continue };
        for (stay, end) in meeting.stays.iter().zip(ends) {
            off[stay.rank()].push(end.saturating_sub(ended));
        }
    }
    off.into_iter().filter(|off| !off.is_empty()).map(strays_ns).max()
}

/// How far the middle is off, or half of the middle half, whichever is more.
fn strays_ns(mut off: Vec<i64>) -> i64 {
    off.sort_unstable();
    let at = |quarter: usize| off[(off.len() - 1) * quarter / 4];
    at(2).saturating_abs().max(at(3).saturating_sub(at(1)) / 2)
}

fn corrected_ns(clock: &RankClocks, own_ns: i64, at_ns: i64) -> i64 {
    let level_ns = own_ns.saturating_sub(clock.offset_ns);
    level_ns.saturating_sub(gained_ns(clock.drift_ppb, level_ns.saturating_sub(at_ns)))
}
