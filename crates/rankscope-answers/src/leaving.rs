//! Who leaves collectives last: the rank that what it receives reaches later than the others.
//!
//! Once all ranks have come to a collective, each stays for the transfer. Where one of them stays longer than the others time and again,
//! the data reach it later: the link that it receives over is slow, or its host takes up late what has arrived. Such a rank comes late to
//! whatever follows, too, without having worked longer. This asks nothing of other groups, so that it tells where all ranks are in one.
//! It does not tell which rank is at the other end: traces do not show in which order data go round.

use std::collections::BTreeMap;

use rankscope_analyze::Waiting;

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
    /// By sort, its number.
    numbers: BTreeMap<K, usize>,
    sorts: Vec<Stays>,
}

/// One collective of a sort, as its members are gone through.
#[derive(Clone, Copy, Debug)]
pub struct Leaving {
    sort: usize,
    /// Who stayed longest once all had come, the first one of several, and for how long.
    longest: (usize, i64),
    /// The next longest.
    next_ns: i64,
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
        Self { open_ns, numbers: BTreeMap::new(), sorts: Vec::new() }
    }

    /// Begins one of that `sort`, in which its `ranks`, by index, wait like this; none where it does not count. Only those of the same ranks
    /// as the first of a sort do.
    pub fn begin(&mut self, sort: K, waiting: Waiting, ranks: impl ExactSizeIterator<Item = usize> + Clone) -> Option<Leaving> {
        // Where some are not waited for, they leave as they come.
        if self.open_ns == i64::MAX || waiting != Waiting::ForTheLast || ranks.len() < RANKS_MIN {
            return None;
        }
        let sort = *self.numbers.entry(sort).or_insert_with(|| {
            self.sorts.push(Stays::of(ranks.clone().collect()));
            self.sorts.len() - 1
        });
        let stays = &mut self.sorts[sort];
        if !ranks.eq(stays.ranks.iter().copied()) {
            return None;
        }
        stays.count = stays.count.saturating_add(1);
        Some(Leaving { sort, longest: (0, i64::MIN), next_ns: i64::MIN })
    }

    /// Adds that its member at a place, which is behind those that were added, stayed for `transfer_ns` once all had come.
    #[inline]
    pub fn add(&mut self, one: &mut Leaving, member: usize, transfer_ns: i64) {
        let sum_ns = &mut self.sorts[one.sort].transfer_ns[member];
        *sum_ns = sum_ns.saturating_add(transfer_ns);
        if transfer_ns > one.longest.1 {
            one.next_ns = one.longest.1;
            one.longest = (member, transfer_ns);
        } else {
            one.next_ns = one.next_ns.max(transfer_ns);
        }
    }

    /// Ends one of which all members were added.
    pub fn end(&mut self, one: &Leaving) {
        if one.longest.1.saturating_sub(one.next_ns) > self.open_ns {
            self.sorts[one.sort].last[one.longest.0] += 1;
        }
    }

    /// Of the sorts that one rank leaves last, the first one of those where most is lost.
    pub fn finish(self) -> Option<(K, LastOut)> {
        let found = self.numbers.into_iter().filter_map(|(sort, at)| Some((sort, self.sorts[at].last_out()?)));
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

    /// One after the other, ranks stay so long once all have come.
    fn found(open_ns: i64, waiting: Waiting, all: &[Vec<i64>]) -> Option<LastOut> {
        let mut leavings = Leavings::new(open_ns);
        for transfers in all {
            let Some(mut one) = leavings.begin((), waiting, 10..10 + transfers.len()) else { continue };
            transfers.iter().enumerate().for_each(|(member, ns)| leavings.add(&mut one, member, *ns));
            leavings.end(&one);
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
