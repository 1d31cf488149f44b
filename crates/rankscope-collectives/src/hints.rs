//! [`Hints`]: what may be known of the ranks' clocks before their collectives are paired.
//!
//! Two sequences of which one is damaged and which repeat perfectly pair equally well under many offsets. Ranks of one host share
//! its clock, and what one of them is ahead of a rank of another host the rest is, too; agents may have measured what clocks are
//! ahead. None of this is believed: traces of one host may be of different clocks. A hint is an offset to try.

use crate::offsets::Offsets;

/// What may be known of the clocks of ranks, by index of the rank; what a list is too short for is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// A number that ranks of one host share.
    pub hosts: Vec<Option<u32>>,
    /// What the rank's clock shows more than one that is common to all, in nanoseconds.
    pub ahead_ns: Vec<Option<i64>>,
}

/// What is known of clocks while collectives are paired.
#[derive(Debug)]
pub(crate) struct Clocks<'a> {
    hints: &'a Hints,
    /// Of ranks that were compared.
    ranks: Offsets,
    /// Of hosts of which ranks were compared.
    hosts: Offsets,
    /// By rank, the first of its host.
    home: Vec<usize>,
    /// Two hosts between whose ranks nothing told which collectives are the same.
    not_told: rustc_hash::FxHashSet<(usize, usize)>,
    /// How often every shift was tried.
    #[cfg(test)]
    pub(crate) searches: usize,
}

impl<'a> Clocks<'a> {
    /// Nothing is known of `ranks` ranks but `hints`.
    pub(crate) fn new(ranks: usize, hints: &'a Hints) -> Self {
        let mut first = rustc_hash::FxHashMap::default();
        let host = |rank: usize| hints.hosts.get(rank).copied().flatten();
        let home = (0..ranks).map(|rank| host(rank).map_or(rank, |host| *first.entry(host).or_insert(rank)));
        Self {
            hints,
            home: home.collect(),
            ranks: Offsets::unknown(ranks),
            hosts: Offsets::unknown(ranks),
            not_told: rustc_hash::FxHashSet::default(),
            #[cfg(test)]
            searches: 0,
        }
    }

    /// The clock of `b` minus that of `a`, by what the two were compared with.
    pub(crate) fn known(&self, a: usize, b: usize) -> Option<i64> {
        self.ranks.between(a, b)
    }

    /// What the clock of `b` minus that of `a` may be: by ranks of the same hosts, and by what was measured.
    pub(crate) fn hints(&self, a: usize, b: usize) -> impl Iterator<Item = i64> + use<> {
        let by_hosts = self.hosts.between(self.home[a], self.home[b]);
        let ahead_ns = |rank: usize| self.hints.ahead_ns.get(rank).copied().flatten();
        let measured = ahead_ns(a).zip(ahead_ns(b)).map(|(a, b)| b.saturating_sub(a));
        by_hosts.into_iter().chain(measured.filter(|measured| by_hosts != Some(*measured)))
    }

    /// Whether trying every shift told nothing of ranks of the hosts of `a` and `b`: it would not of these.
    pub(crate) fn is_not_told(&self, a: usize, b: usize) -> bool {
        self.not_told.contains(&(self.home[a], self.home[b]))
    }

    /// Trying every shift told nothing of `a` and `b`.
    pub(crate) fn put_not_told(&mut self, a: usize, b: usize) {
        self.not_told.insert((self.home[a], self.home[b]));
    }

    /// The clock of `b` minus that of `a` is `offset_ns`; what is known already stays.
    pub(crate) fn learn(&mut self, a: usize, b: usize, offset_ns: i64) {
        self.ranks.learn(a, b, offset_ns);
        self.hosts.learn(self.home[a], self.home[b], offset_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_rank_of_a_host_is_ahead_the_others_may_be() {
        let hints =
            Hints { hosts: vec![Some(7), Some(7), Some(9), Some(9), None], ahead_ns: vec![None, Some(10), None, Some(35)] };
        let mut clocks = Clocks::new(6, &hints);
        let hinted = |clocks: &Clocks<'_>, a: usize, b: usize| clocks.hints(a, b).collect::<Vec<_>>();
        assert_eq!(hinted(&clocks, 0, 1), [0], "one host, one clock");
        assert_eq!((hinted(&clocks, 0, 2), hinted(&clocks, 1, 3)), (vec![], vec![25]));
        clocks.learn(0, 3, 20);
        assert_eq!((clocks.known(0, 3), clocks.known(1, 2)), (Some(20), None));
        assert_eq!((hinted(&clocks, 1, 2), hinted(&clocks, 3, 1)), (vec![20], vec![-20, -25]));
        clocks.learn(4, 2, 5);
        assert_eq!((hinted(&clocks, 1, 4), hinted(&clocks, 4, 5)), (vec![15], vec![]));
    }
}
