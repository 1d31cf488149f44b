//! [`shared`]: what sources have of a core together, divided among them.
//!
//! Waking costs as much as a look on many machines, so it is paid from the same, with up to half of it: where that is not enough for every
//! period, periods are longer for all. What is left is divided by need: a source that takes less than an equal part at every period has
//! what it takes, and what it leaves goes to those that are dearer. So no source is looked at more rarely because another one is dear.

use std::time::Duration;

/// How often sources are looked at, and the millionths of a core of each, by what a look at each costs: together with the wakings, of which
/// each costs `waking`, no more than `all_ppm` beyond one for each source.
pub(crate) fn shared(all_ppm: u32, asked: Duration, waking: Duration, costs: &[Duration]) -> (Duration, Vec<u32>) {
    let waking_ppm_max = (all_ppm / 2).max(1);
    let period = asked.max(waking.saturating_mul(1_000_000) / waking_ppm_max);
    let mut left_ppm = all_ppm.saturating_sub(ppm(waking, period));
    let mut cheapest_first: Vec<usize> = (0..costs.len()).collect();
    cheapest_first.sort_by_key(|at| costs[*at]);
    let mut shares_ppm = vec![0; costs.len()];
    for (before, at) in cheapest_first.into_iter().enumerate() {
        let equal_ppm = left_ppm / u32::try_from(costs.len() - before).unwrap_or(u32::MAX);
        shares_ppm[at] = ppm(costs[at], period).min(equal_ppm).max(1);
        left_ppm = left_ppm.saturating_sub(shares_ppm[at]);
    }
    (period, shares_ppm)
}

/// The millionths of a core that `cost` takes once each `period`, rounded up.
fn ppm(cost: Duration, period: Duration) -> u32 {
    let ppm = cost.as_nanos().saturating_mul(1_000_000).div_ceil(period.as_nanos().max(1));
    u32::try_from(ppm).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    proptest! {
        #[test]
        fn together_they_take_no_more_than_all_and_none_less_than_its_part(
            all_ppm in 100_u32..10_000,
            period_us in 10_000_u64..1_000_000,
            waking_us in 0_u64..10_000,
            costs_us in prop::collection::vec(0_u64..1_000_000, 1..10),
        ) {
            let costs: Vec<Duration> = costs_us.iter().copied().map(us).collect();
            let (period, shares_ppm) = shared(all_ppm, us(period_us), us(waking_us), &costs);
            let number = costs.len() as u32;
            let waking_ppm = ppm(us(waking_us), period);
            prop_assert!(shares_ppm.iter().sum::<u32>() + waking_ppm <= all_ppm + number + 1);
            prop_assert!(waking_ppm <= all_ppm / 2 + 1 && period >= us(period_us));
            for (share_ppm, cost) in shares_ppm.iter().zip(&costs) {
                let is_enough = *share_ppm >= ppm(*cost, period);
                prop_assert!(is_enough || *share_ppm >= (all_ppm - waking_ppm.min(all_ppm)) / number);
            }
        }
    }

    #[test]
    fn what_cheap_sources_leave_goes_to_those_that_are_dearer() {
        let (period, shares_ppm) = shared(1_000, us(100_000), us(30), &[us(500), us(10), us(20)]);
        assert_eq!((period, shares_ppm), (us(100_000), vec![400, 100, 200]));
    }

    #[test]
    fn where_waking_is_dear_all_are_looked_at_more_rarely() {
        let (period, shares_ppm) = shared(1_000, us(10_000), us(30), &[us(5), us(5)]);
        assert_eq!((period, shares_ppm), (us(60_000), vec![84, 84]));
    }
}
