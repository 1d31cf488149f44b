//! Who leaves collectives last: the rank that what it receives reaches later than the others.
//!
//! Once all ranks have come to a collective, each stays for the transfer. Where one of them stays longer than the others time and again,
//! the data reach it later: the link that it receives over is slow, or its host takes up late what has arrived. Such a rank comes late to
//! whatever follows, too, without having worked longer. This asks nothing of other groups, so that it tells where all ranks are in one.
//! It does not tell which rank is at the other end: traces do not show in which order data go round.

use std::collections::BTreeMap;

use rankscope_analyze::Waiting;

use crate::budgets::Collective;

/// How many times as long as the others one must stay.
pub const LONGER: f64 = 1.2;

/// In what share of the collectives it must leave last.
pub const LAST_MIN: f64 = 2.0 / 3.0;

/// Collectives below which it may be chance.
const COUNT_MIN: u32 = 10;

/// Of two ranks one is last half of the time.
const RANKS_MIN: usize = 3;

/// All collectives of a job, by what is exchanged among whom.
#[derive(Clone, Debug)]
pub struct Leavings<K> {
    /// What the clocks leave open between two ranks: who leaves last by no more is not known to be last.
    open_ns: i64,
    sorts: BTreeMap<K, Stays>,
}

/// Of one sort, by member.
#[derive(Clone, Debug)]
struct Stays {
    ranks: Vec<usize>,
    count: u32,
    transfer_ns: Vec<i64>,
    last: Vec<u32>,
}

/// The rank that leaves collectives of a sort last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastOut {
    /// Its index.
    pub rank: usize,
    /// Collectives that it left last.
    pub last: u32,
    /// All of them.
    pub of: u32,
    /// What one takes it once all have come, in nanoseconds.
    pub own_ns: i64,
    /// What it takes the others.
    pub others_ns: i64,
    /// All that it stayed longer than they did, in nanoseconds.
    pub lost_ns: i64,
}

impl LastOut {
    /// How many times as long as the others it stays.
    pub fn ratio(&self) -> f64 {
        self.own_ns as f64 / self.others_ns.max(1) as f64
    }
}

impl<K: Ord> Leavings<K> {
    /// None yet; the clocks leave `open_ns` open between two ranks.
    pub fn new(open_ns: i64) -> Self {
        Self { open_ns, sorts: BTreeMap::new() }
    }

    /// Adds one of that `sort`, whose `ranks`, by index, are in the order of its stays. Only those of the same ranks as the first of a
    /// sort count.
    pub fn add(&mut self, sort: K, ranks: impl Iterator<Item = usize> + Clone, one: &Collective<'_>) {
        // Where some are not waited for, they leave as they come.
        if self.open_ns == i64::MAX || one.waiting != Waiting::ForTheLast || one.stays.len() < RANKS_MIN {
            return;
        }
        let stays = self.sorts.entry(sort).or_insert_with(|| Stays::of(ranks.clone().collect()));
        if !ranks.eq(stays.ranks.iter().copied()) || one.stays.len() != stays.ranks.len() {
            return;
        }
        stays.count = stays.count.saturating_add(1);
        let (mut longest, mut next) = ((0, i64::MIN), i64::MIN);
        for (member, (stay, sum)) in one.stays.iter().zip(&mut stays.transfer_ns).enumerate() {
            let ns = stay.stay_ns.saturating_sub(stay.wait_ns).max(0);
            *sum = sum.saturating_add(ns);
            if ns > longest.1 {
                next = longest.1;
                longest = (member, ns);
            } else {
                next = next.max(ns);
            }
        }
        if longest.1.saturating_sub(next) > self.open_ns {
            stays.last[longest.0] += 1;
        }
    }

    /// Of the sorts that one rank leaves last, the first one of those where most is lost.
    pub fn finish(self) -> Option<(K, LastOut)> {
        let found = self.sorts.into_iter().filter_map(|(sort, stays)| Some((sort, stays.last_out()?)));
        found.rev().max_by_key(|(_, found)| found.lost_ns)
    }
}

impl Stays {
    fn of(ranks: Vec<usize>) -> Self {
        Self { count: 0, transfer_ns: vec![0; ranks.len()], last: vec![0; ranks.len()], ranks }
    }

    fn last_out(&self) -> Option<LastOut> {
        let (member, &last) = self.last.iter().enumerate().rev().max_by_key(|(_, last)| **last)?;
        let count = i64::from(self.count);
        let own_ns = self.transfer_ns[member];
        let all_ns: i128 = self.transfer_ns.iter().map(|ns| i128::from(*ns)).sum();
        let others_ns = ((all_ns - i128::from(own_ns)) / (self.transfer_ns.len() as i128 - 1)) as i64;
        let is_often = self.count >= COUNT_MIN && f64::from(last) >= LAST_MIN * f64::from(self.count);
        let found = LastOut {
            rank: self.ranks[member],
            last,
            of: self.count,
            own_ns: own_ns / count,
            others_ns: others_ns / count,
            lost_ns: own_ns.saturating_sub(others_ns),
        };
        (is_often && found.ratio() >= LONGER).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::budgets::Stay;

    /// One after the other, ranks stay so long once all have come.
    fn found(open_ns: i64, waiting: Waiting, all: &[Vec<i64>]) -> Option<LastOut> {
        let mut leavings = Leavings::new(open_ns);
        for transfers in all {
            let wait =
                |(at, ns): (usize, &i64)| Stay { stay_ns: ns + 7 * at as i64, wait_ns: 7 * at as i64, ..Stay::default() };
            let stays: Vec<Stay> = transfers.iter().enumerate().map(wait).collect();
            leavings.add(
                (),
                10..10 + stays.len(),
                &Collective { sort: 0, alike: 0, waiting, in_step: true, came_ns: (0, 0), stays: &stays },
            );
        }
        leavings.finish().map(|(_, found)| found)
    }

    #[test]
    fn who_receives_late_leaves_last() {
        let all = vec![vec![100, 110, 90, 150]; 12];
        let expected = LastOut { rank: 13, last: 12, of: 12, own_ns: 150, others_ns: 100, lost_ns: 600 };
        assert_eq!(found(0, Waiting::ForTheLast, &all), Some(expected));
        // Now and then another one does.
        let mixed: Vec<Vec<i64>> =
            (0..12).map(|n| if n % 4 == 0 { vec![160, 100, 100, 150] } else { all[0].clone() }).collect();
        assert_eq!(found(0, Waiting::ForTheLast, &mixed).map(|one| (one.rank, one.last)), Some((13, 9)));
    }

    #[test]
    fn nobody_is_named_on_thin_evidence() {
        let slow = vec![100, 110, 90, 150];
        assert_eq!(found(0, Waiting::ForTheLast, &vec![slow.clone(); 9]), None, "too few");
        assert_eq!(found(40, Waiting::ForTheLast, &vec![slow.clone(); 12]), None, "clocks leave it open");
        assert_eq!(found(0, Waiting::ForSome, &vec![slow; 12]), None, "not all are waited for");
        assert_eq!(found(0, Waiting::ForTheLast, &vec![vec![100, 150]; 12]), None, "two ranks");
        assert_eq!(found(0, Waiting::ForTheLast, &vec![vec![100, 100, 100, 115]; 12]), None, "not much longer");
        let turns: Vec<Vec<i64>> =
            (0..12).map(|n| (0..4).map(|rank| if n % 4 == rank { 200 } else { 100 }).collect()).collect();
        assert_eq!(found(0, Waiting::ForTheLast, &turns), None, "each in turn");
    }

    proptest! {
        #[test]
        fn what_is_found_is_last_most_often_and_longest(all in prop::collection::vec(prop::collection::vec(0..1_000_i64, 4), 10..40)) {
            if let Some(one) = found(0, Waiting::ForTheLast, &all) {
                let is_last = |of: &&Vec<i64>| of.iter().enumerate().all(|(at, ns)| at + 10 == one.rank || *ns < of[one.rank - 10]);
                prop_assert_eq!(all.iter().filter(is_last).count(), one.last as usize);
                prop_assert!(one.last * 3 >= one.of * 2 && one.own_ns > one.others_ns);
            }
        }

        #[test]
        fn ranks_that_leave_together_are_never_named(times in prop::collection::vec(0..1_000_i64, 10..40)) {
            let all: Vec<Vec<i64>> = times.iter().map(|ns| vec![*ns; 5]).collect();
            prop_assert_eq!(found(0, Waiting::ForTheLast, &all), None);
        }
    }
}
