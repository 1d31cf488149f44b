//! [`Sums`]: what each rank spends by name, in order, so that a rank's excess over the median of the others takes no look at those.

use rankscope_execution::{Activity, Key};
use rustc_hash::FxHashMap;

use super::ledger::Ledger;

/// Whether work of that activity does the computing: that of devices, or of hosts where there are none.
pub(super) fn computes(activity: Activity, on_device: bool) -> bool {
    match on_device {
        true => matches!(activity, Activity::Kernel | Activity::Copy | Activity::Fill),
        false => activity == Activity::Operator,
    }
}

/// What work goes by: of a device the operator that launched it, where that is known.
pub(super) fn name_of(key: &Key) -> &str {
    let by_operator = !key.activity.is_host() && !key.operator.is_empty();
    if by_operator { &key.operator } else { &key.name }
}

/// What ranks spend on the work of each name, that of hosts apart from that which computes.
#[derive(Debug)]
pub(super) struct Sums {
    names: Vec<OfName>,
}

#[derive(Debug)]
struct OfName {
    /// By rank.
    ranks: Vec<i64>,
    /// The same, in order.
    sorted: Vec<i64>,
}

impl Sums {
    /// Those of `ledger`.
    pub(super) fn of(ledger: &Ledger) -> Self {
        let on_device = ledger.of_activity(Activity::Kernel).count > 0;
        let mut sums: FxHashMap<(bool, &str), Vec<i64>> = FxHashMap::default();
        for (at, key) in ledger.keys() {
            let is_work = computes(key.activity, on_device);
            if !is_work && !key.activity.is_host() {
                continue;
            }
            let sums = sums.entry((is_work, name_of(key))).or_insert_with(|| vec![0; ledger.ranks()]);
            for (rank, sum) in sums.iter_mut().enumerate() {
                *sum = sum.saturating_add(ledger.spent(rank, at).ns);
            }
        }
        let of_name = |ranks: Vec<i64>| {
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            OfName { ranks, sorted }
        };
        Self { names: sums.into_values().map(of_name).collect() }
    }

    /// By how much the rank at index `rank` spends longer than the median of the others, on whatever it spends longer on.
    pub(super) fn more_ns(&self, rank: usize) -> i64 {
        self.names.iter().map(|name| name.more_ns(rank).max(0)).fold(0, i64::saturating_add)
    }
}

impl OfName {
    fn more_ns(&self, rank: usize) -> i64 {
        let own_ns = self.ranks[rank];
        // The lower one of two in the middle, as everywhere in advice; the rank's own is left out.
        let Some(middle) = self.sorted.len().checked_sub(2).map(|last| last / 2) else { return own_ns };
        let own = self.sorted.partition_point(|ns| *ns < own_ns);
        own_ns - self.sorted[middle + usize::from(own <= middle)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ledger::median;
    use super::*;

    proptest! {
        #[test]
        fn the_others_median_is_that_of_a_list_without_the_rank(ranks in prop::collection::vec(0..20_i64, 1..9), rank in any::<prop::sample::Index>()) {
            let rank = rank.index(ranks.len());
            let mut sorted = ranks.clone();
            sorted.sort_unstable();
            let others = ranks.iter().enumerate().filter(|(at, _)| *at != rank).map(|(_, ns)| *ns);
            let expected = ranks[rank] - median(others).unwrap_or(0);
            prop_assert_eq!(OfName { ranks, sorted }.more_ns(rank), expected);
        }
    }
}
