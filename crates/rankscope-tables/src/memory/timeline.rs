//! The course of one device's memory in a bounded number of points: no peak is lost, however few are drawn.

use crate::bounded::bounded;

use serde::{Deserialize, Serialize};

use super::events::Event;
use super::live::{Allocation, MemoryCategory};

/// What a device had at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Since the start of the trace, in nanoseconds.
    pub at_ns: i64,
    /// Allocated, in bytes.
    pub allocated: i64,
    /// Reserved, in bytes; none where it is not said.
    pub reserved: Option<i64>,
    /// Of what is allocated, the bytes of each category in the order of [`MemoryCategory::ALL`]. They add up to `allocated`, unless
    /// addresses do not fit the totals; then none is said.
    pub by_category: Option<[i64; MemoryCategory::ALL.len()]>,
}

/// The points of `events`, of which a total is said, in order.
pub(super) fn points(events: &[Event], allocations: &[Allocation], start_ns: i64) -> Vec<Point> {
    let changes = changes(events.len(), allocations);
    let mut known = [0_i64; MemoryCategory::ALL.len()];
    let mut all: Vec<Point> = Vec::new();
    for (event, change) in events.iter().zip(&changes) {
        known.iter_mut().zip(change).for_each(|(known, change)| *known = known.saturating_add(*change));
        let Some(allocated) = event.allocated.filter(|bytes| *bytes >= 0) else { continue };
        let rest = allocated.saturating_sub(known.iter().fold(0, |sum: i64, bytes| sum.saturating_add(*bytes)));
        let mut by_category = known;
        by_category[MemoryCategory::Unknown as usize] = by_category[MemoryCategory::Unknown as usize].saturating_add(rest);
        let at_ns = event.at_ns.saturating_sub(start_ns);
        all.push(Point { at_ns, allocated, reserved: event.reserved, by_category: (rest >= 0).then_some(by_category) });
    }
    thinned(all)
}

type Change = [i64; MemoryCategory::ALL.len()];

/// By how much each event changes what is known to be alive.
fn changes(events: usize, allocations: &[Allocation]) -> Vec<Change> {
    let mut changes = vec![Change::default(); events];
    for one in allocations {
        let category = one.category as usize;
        changes[one.event][category] = changes[one.event][category].saturating_add(one.bytes);
        if let Some(freed_at) = one.freed_at {
            changes[freed_at][category] = changes[freed_at][category].saturating_sub(one.bytes);
        }
    }
    changes
}

/// At most [`POINTS`](crate::POINTS) of `all`, among them those with least and most allocated and most reserved.
fn thinned(all: Vec<Point>) -> Vec<Point> {
    bounded(
        all,
        &[|point| point.allocated.saturating_neg(), |point| point.allocated, |point| point.reserved.unwrap_or(i64::MIN)],
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bounded::POINTS;

    proptest! {
        #[test]
        fn few_points_have_the_extremes_of_all(values in prop::collection::vec((0i64..1_000_000, 0i64..1_000), 1..5_000)) {
            let point = |(at, (allocated, more)): (usize, &(i64, i64))| Point {
                at_ns: at as i64,
                allocated: *allocated,
                reserved: Some(allocated + more),
                by_category: None,
            };
            let all: Vec<Point> = values.iter().enumerate().map(point).collect();
            let few = thinned(all.clone());
            prop_assert!(few.len() <= POINTS && (all.len() > POINTS || few == all));
            prop_assert!(few.is_sorted_by(|a, b| a.at_ns < b.at_ns));
            let extremes = |points: &[Point]| {
                let allocated = || points.iter().map(|point| point.allocated);
                (allocated().min(), allocated().max(), points.iter().map(|point| point.reserved).max(), points.last().copied())
            };
            prop_assert_eq!(extremes(&few), extremes(&all));
        }
    }
}
