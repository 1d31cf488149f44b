//! What lags are usual in one rank, and which are no lags of their sort.
//!
//! What ended last before a piece did not always hold it up: where a launch just before that explains the start, the lag is a launch's. So
//! of what a piece depends on, that counts which it lags behind as such pieces typically do. A lag that is far out by Tukey's outer fence,
//! or on a device longer than any start takes ([`DEVICE_NS_MAX`]), is a stall: a module that is loaded at its first launch, a stream that
//! idles for a second. It makes no average.

use super::lags::{Lags, SORTS, sort};
use crate::{Dependency, Execution, LaneKind};

/// Stamps are recorded in microseconds at worst: what is longer by less is no other lag.
const STAMP_NS: i64 = 1_000;

/// No device of today takes so long to start what nothing holds up, about a hundred times what a launch takes: longer lags are far out
/// even where there are no others.
const DEVICE_NS_MAX: i64 = 1_000_000;

/// Usual lags of one rank by sort, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usual {
    /// Longer ones are far out.
    pub(super) most_ns: [i64; SORTS],
    /// Means of the usual ones, so that all pieces together lag by what they did.
    pub(super) mean_ns: [i64; SORTS],
}

/// Delays that are far longer than others of their sort, and that nothing in the recording explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub ns: i64,
}

impl Usual {
    /// Those of `execution`, whose `typical` lags are known, and its stalls.
    pub(super) fn of(execution: &Execution, typical: &Lags) -> (Self, Stalls) {
        let mut seen = seen(execution, typical);
        let (mut usual, mut count, mut stalls_ns) = (Self::default(), 0, 0);
        for kind in [LaneKind::Thread, LaneKind::Stream] {
            for how in [Dependency::Lane, Dependency::Wait, Dependency::Launch] {
                let own = sort(kind, how);
                let lags = &mut seen[own];
                lags.sort_unstable();
                let most_ns = outer_fence_ns(lags).min(if kind == LaneKind::Stream { DEVICE_NS_MAX } else { i64::MAX });
                let (near, far) = lags.split_at(lags.partition_point(|ns| *ns <= most_ns));
                usual.most_ns[own] = most_ns;
                usual.mean_ns[own] = (sum_ns(near) / near.len().max(1) as i128) as i64;
                // What a thread does after what it did before is its program, and no stall.
                if (kind, how) != (LaneKind::Thread, Dependency::Lane) {
                    count += far.len() as u64;
                    stalls_ns += sum_ns(far);
                }
            }
        }
        (usual, Stalls { count, ns: i64::try_from(stalls_ns).unwrap_or(i64::MAX) })
    }
}

/// By sort, the lags behind what held the pieces of `execution` up.
fn seen(execution: &Execution, typical: &Lags) -> [Vec<i64>; SORTS] {
    let mut seen: [Vec<i64>; SORTS] = Default::default();
    for id in execution.ids() {
        let (start_ns, kind) = (execution.start_ns(id), execution.lane_kind(id));
        let lags = execution.dependencies(id).map(|(before, how)| (start_ns.saturating_sub(execution.end_ns(before)), how));
        let held_up = lags.filter(|(lag_ns, _)| *lag_ns >= 0);
        if let Some((lag_ns, how)) = held_up.min_by_key(|(lag_ns, how)| (typical.off_typical_ns(kind, *how, *lag_ns), *how)) {
            seen[sort(kind, how)].push(lag_ns);
        }
    }
    seen
}

fn sum_ns(lags_ns: &[i64]) -> i128 {
    lags_ns.iter().map(|ns| i128::from(*ns)).sum()
}

/// Tukey's outer fence of `sorted`: three times the range of its middle half above it.
fn outer_fence_ns(sorted: &[i64]) -> i64 {
    let quarter_ns = |quarter: usize| sorted.get(sorted.len().saturating_sub(1) * quarter / 4).copied().unwrap_or(0);
    let (low_ns, high_ns) = (quarter_ns(1), quarter_ns(3));
    high_ns.saturating_add(high_ns.saturating_sub(low_ns).saturating_mul(3).max(STAMP_NS))
}
