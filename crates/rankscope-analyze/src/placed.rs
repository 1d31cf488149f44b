//! A rank among the others: its times moved to the job's clock, its lengths as its own clock has them.
//!
//! Windows of the job are looked up on the rank's own clock, so that what lies in them is counted in its own nanoseconds; a
//! clock that runs 10 ppm fast makes a total of a second 10 us longer there, and never a nanosecond of idle time out of nothing.

use rankscope_time::Instant;

use crate::arrivals::Map;
use crate::{Account, RankReport, StepWindow, Windows};

/// Where a rank's times lie on the job's clock, in nanoseconds since the epoch, and what its time over the job's windows went
/// into, by its own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlacedRank {
    /// From the start of the first to the end of the last window that `whole` covers.
    pub window_ns: (i64, i64),
    /// Where the time of those windows went.
    pub whole: Account,
    /// Start and end of the work of each export.
    pub recorded_ns: Vec<(i64, i64)>,
    /// The windows of its steps, and where their time went.
    pub steps: Vec<(StepWindow, Account)>,
    /// The job's windows on the rank's own clock.
    pub(crate) own_windows_ns: Vec<(i64, i64)>,
}

impl PlacedRank {
    /// `report` moved by `map`. Over which windows it is accounted is told later, and so is where the time of its steps went.
    pub(crate) fn of(report: &RankReport, map: &Map) -> Self {
        let moved = |(from, to): (i64, i64)| (moved(map, from), moved(map, to));
        let step = |step: &StepWindow| {
            let (start_ns, end_ns) = moved((step.start_ns, step.end_ns));
            (StepWindow { number: step.number, start_ns, end_ns }, Account::default())
        };
        Self {
            recorded_ns: report.recorded_ns.iter().map(|window| moved(*window)).collect(),
            steps: report.steps.iter().map(step).collect(),
            window_ns: moved(report.accounting.extent_ns()),
            ..Self::default()
        }
    }

    /// Accounts its steps, and all of it over the job's `windows`, or over its own extent where there are none.
    pub(crate) fn account(&mut self, report: &RankReport, map: &Map, windows: &Windows) {
        let list = &windows.list;
        if let (Some(first), Some(last)) = (list.first(), list.last()) {
            self.window_ns = (first.0, last.1);
            self.own_windows_ns = list.iter().map(|window| own(map, *window)).collect();
        } else {
            self.own_windows_ns = vec![report.accounting.extent_ns()];
        }
        let of_steps = report.steps.iter().map(|step| (step.start_ns, step.end_ns));
        let windows_ns: Vec<(i64, i64)> = of_steps.chain(self.own_windows_ns.iter().copied()).collect();
        let mut accounts = report.accounting.windows(&windows_ns).into_iter();
        self.steps.iter_mut().zip(&mut accounts).for_each(|((_, of_step), account)| *of_step = account);
        self.whole = accounts.reduce(Account::plus).unwrap_or_default();
    }
}

pub(crate) fn moved(map: &Map, ns: i64) -> i64 {
    map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch()
}

/// The widest window of the rank's own clock that `map` puts inside `from` to `to`: what begins or ends at its edges on the job's
/// clock does so on the rank's, too.
fn own(map: &Map, (from, to): (i64, i64)) -> (i64, i64) {
    if map.is_identity() {
        return (from, to);
    }
    let back = map.inverse();
    let near = |ns| back.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch();
    let (mut start, mut end) = (near(from), near(to));
    // The way back is exact to a nanosecond a stage.
    for _ in 0..ROUNDING_NS {
        if moved(map, start) < from {
            start = start.saturating_add(1);
        } else if moved(map, start.saturating_sub(1)) >= from {
            start = start.saturating_sub(1);
        }
        if moved(map, end) > to {
            end = end.saturating_sub(1);
        } else if moved(map, end.saturating_add(1)) <= to {
            end = end.saturating_add(1);
        }
    }
    (start, end.max(start))
}

/// What the way there and back may be off by, with room.
const ROUNDING_NS: usize = 16;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::{ClockMap, Knot, Rate};

    use super::*;

    proptest! {
        /// Whatever begins and ends at the edges of a window on the job's clock lies in it whole.
        #[test]
        fn the_own_window_holds_what_the_window_does(drift_ppm in -300i64..300, shift in -5_000i64..5_000, from in 0i64..1_000_000, length in 1i64..1_000_000) {
            let knot = |at: i64| Knot { from_ns: at, to_ns: at + shift + at * drift_ppm / 1_000_000, uncertainty_ns: 0 };
            let map: Map = ClockMap::from_knots(vec![knot(0), knot(2_000_000)], Rate::ZERO).unwrap();
            let (start, end) = own(&map, (moved(&map, from), moved(&map, from + length)));
            prop_assert!(start <= from && from + length <= end, "{start} {from} {end}");
            prop_assert_eq!((moved(&map, start), moved(&map, end)), (moved(&map, from), moved(&map, from + length)));
        }
    }
}
