//! Operations whose times are those of others: what the rest of a window leaves no room for.
//!
//! Each operation leaves an interval for `GPU - host`. Where clocks drift no faster than any do, all intervals of a window, widened by
//! what they can drift in it, have a value in common; those that do not hold the value that most hold are wrong. That finds what is off
//! by milliseconds and more, which is what one operation too many or too few makes of the stamps of all that follow. Less than that is
//! for the fit to find.

use super::told::Told;

/// What the two clocks drift apart at most, between stamps of one window: 200 ppm, of which crystals make up half.
const DRIFT_PPM: i64 = 200;

/// The places in `told` of those that contradict most others, in order.
pub(super) fn contradicting(told: &[Told], loosened_ns: i64) -> Vec<usize> {
    let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
    let window_ns = last.seen_ns - first.seen_ns;
    let slack =
        |of_ns: i64| (window_ns.saturating_add(of_ns) / 1_000_000).saturating_mul(DRIFT_PPM).saturating_add(loosened_ns);
    let interval = |one: &Told| {
        let slack_ns = slack(one.launched_ns.map_or(0, |launched_ns| one.seen_ns - launched_ns));
        let above_ns = one.above_ns().map_or(i64::MAX, |ns| ns.saturating_add(slack_ns));
        (one.below_ns().saturating_sub(slack_ns), above_ns)
    };
    let intervals: Vec<(i64, i64)> = told.iter().map(interval).collect();
    let common_ns = held_by_most(&intervals);
    let is_out = |(_, (lo_ns, hi_ns)): &(usize, (i64, i64))| !(*lo_ns..=*hi_ns).contains(&common_ns);
    intervals.into_iter().enumerate().filter(is_out).map(|(at, _)| at).collect()
}

/// A value that most intervals hold: one of their lower ends.
fn held_by_most(intervals: &[(i64, i64)]) -> i64 {
    let mut starts: Vec<i64> = intervals.iter().map(|(lo, _)| *lo).collect();
    let mut ends: Vec<i64> = intervals.iter().map(|(_, hi)| *hi).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    let over = |value: i64| ends.partition_point(|end| *end < value);
    let held = |(begun, value): (usize, &i64)| (begun + 1 - over(*value), *value);
    starts.iter().enumerate().map(held).max_by_key(|(count, _)| *count).map_or(0, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No other value is held by more.
        #[test]
        fn most_hold_it(ends in prop::collection::vec((-50_i64..50, 0_i64..40), 1..40)) {
            let intervals: Vec<(i64, i64)> = ends.iter().map(|(lo, width)| (*lo, lo + width)).collect();
            let holding = |value: i64| intervals.iter().filter(|(lo, hi)| (*lo..=*hi).contains(&value)).count();
            let most = (-50..100).map(holding).max().unwrap();
            prop_assert_eq!(holding(held_by_most(&intervals)), most);
        }
    }
}
