//! How long a rank is inside of collectives, a step: what its own page has, so no other rank and no clock is needed.
//!
//! Collectives of several groups may overlap; time is counted once. That is communication that nothing hides where a program enters
//! collectives and waits in them, and more than that where devices compute meanwhile: which of the two it is no page says.

use std::collections::BTreeMap;

use rankscope_recording::LivePage;

use crate::look::median;

/// In the middle of the steps that the page has whole; none where there is no such step.
pub(crate) fn inside_ns(page: &LivePage) -> Option<i64> {
    let first = page.arrivals.first()?.step.checked_add(1)?;
    // By step: how long, and until when it has been counted.
    let mut steps: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let is_whole = |step: i64| step >= first && step < page.state.step;
    for arrival in page.arrivals.iter().filter(|arrival| is_whole(arrival.step) && arrival.left_ns != 0) {
        let (sum_ns, until_ns) = steps.entry(arrival.step).or_insert((0, i64::MIN));
        let from_ns = arrival.arrived_ns.max(*until_ns);
        *sum_ns = sum_ns.saturating_add(arrival.left_ns.saturating_sub(from_ns).max(0));
        *until_ns = arrival.left_ns.max(*until_ns);
    }
    median(steps.values().map(|(sum_ns, _)| *sum_ns).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_recording::{PageArrival, PageHead, PageOp, PageState};

    fn page(stays: &[(i64, i64, i64)]) -> LivePage {
        let arrival = |(sequence, (step, arrived_ns, left_ns)): (u64, &(i64, i64, i64))| PageArrival {
            group: 0,
            op: PageOp::AllReduce,
            sequence,
            bytes: 0,
            arrived_ns: *arrived_ns,
            left_ns: *left_ns,
            step: *step,
        };
        let state = PageState { step: stays.last().map_or(-1, |last| last.0), ..PageState::default() };
        LivePage { head: PageHead::default(), state, groups: Vec::new(), arrivals: (0..).zip(stays).map(arrival).collect() }
    }

    #[test]
    fn what_overlaps_counts_once_and_steps_that_are_cut_do_not_count() {
        let stays = [(0, 1, 900), (1, 1_000, 1_010), (1, 1_005, 1_030), (1, 1_008, 1_020), (2, 2_000, 2_030), (3, 3_000, 0)];
        assert_eq!(inside_ns(&page(&stays)), Some(30));
        assert_eq!(inside_ns(&page(&stays[..2])), None);
        assert_eq!(inside_ns(&page(&[])), None);
    }
}
