//! Which answers about who is late depend on where the clocks are inside their intervals.
//!
//! The same ranking is made with the clocks as estimated and with clocks at an end of what is possible; what differs is a flip.
//! An answer that no end changes needs no better clock.

use rankscope_collectives::{Matched, RankCollectives};

use crate::arrivals::{Arrival, Map, by_rank};
use crate::lateness::{Scene, judge};
use crate::lineup::Lineup;
use crate::table::Rows;
use crate::{RankArrivals, Side};

/// Who is late, under one choice of clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// Index of the rank that stands out as late, if one does.
    pub late: Option<usize>,
    /// Every rank's part, by index.
    pub by_rank: Vec<RankArrivals>,
}

/// One answer that is another with other clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flip {
    /// Another rank stands out as late, or none does.
    Late {
        /// Who stood out, as index.
        from: Option<usize>,
        /// Who does now.
        to: Option<usize>,
    },
    /// The rank that came last most often, of those that any collective waited for, is another.
    MostOftenLast {
        /// Index of the rank.
        from: usize,
        /// Index of the rank that is now.
        to: usize,
    },
    /// A rank comes last to another number of collectives.
    Last {
        /// Index of the rank.
        rank: usize,
        /// Times it came last.
        from: u64,
        /// Times it does now.
        to: u64,
    },
}

impl Ranking {
    /// Ranks by how they come to the complete ones of the `matched` collectives, if `maps` are the clocks and leave nothing open.
    /// `recorded_ns` is how long the recording is, and `side` where the collectives were seen.
    pub fn of(ranks: &[RankCollectives], matched: &Matched, maps: &[&Map], recorded_ns: i64, side: Side) -> Self {
        let mut rows = Rows::default();
        let mut arrivals: Vec<Arrival> = Vec::new();
        Lineup::of(ranks, maps).each(&matched.instances, |instance, mut arrival| {
            arrival.row = rows.number(instance, ranks);
            if instance.complete {
                arrivals.push(arrival);
            }
        });
        arrivals.sort_by_key(|arrival| arrival.start_ns);
        let listed: Vec<&Arrival> = arrivals.iter().collect();
        let scene = Scene { arrivals: &listed, unmatched: 0, ranks: ranks.len(), recorded_ns, open_ns: 0, side };
        Self { late: judge(&scene).latest(), by_rank: by_rank(&arrivals, ranks.len()) }
    }

    /// What is another answer in `other`: the answers in front first, then the counts under them.
    pub fn flips(&self, other: &Self) -> Vec<Flip> {
        let late = (self.late != other.late).then_some(Flip::Late { from: self.late, to: other.late });
        let most = self.most_often_last().zip(other.most_often_last()).filter(|(from, to)| from != to);
        let counts = self.by_rank.iter().zip(&other.by_rank).enumerate().filter(|(_, (from, to))| from.last != to.last);
        let counts = counts.map(|(rank, (from, to))| Flip::Last { rank, from: from.last, to: to.last });
        let answers = late.into_iter().chain(most.map(|(from, to)| Flip::MostOftenLast { from, to }));
        answers.chain(counts).collect()
    }

    fn most_often_last(&self) -> Option<usize> {
        let counts = self.by_rank.iter().enumerate().filter(|(_, rank)| rank.last > 0);
        counts.max_by_key(|(at, rank)| (rank.last, std::cmp::Reverse(*at))).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(late: Option<usize>, last: &[u64]) -> Ranking {
        let by_rank: Vec<_> =
            last.iter().map(|last| RankArrivals { matched: 10, last: *last, ..RankArrivals::default() }).collect();
        Ranking { late, by_rank }
    }

    #[test]
    fn the_same_ranking_flips_nothing() {
        let one = ranking(Some(0), &[10, 0]);
        assert_eq!(one.flips(&one), Vec::new());
    }

    #[test]
    fn another_rank_in_front_is_a_flip_and_so_are_its_counts() {
        let (from, to) = (ranking(Some(0), &[9, 1, 0]), ranking(None, &[4, 6, 0]));
        let expected = [
            Flip::Late { from: Some(0), to: None },
            Flip::MostOftenLast { from: 0, to: 1 },
            Flip::Last { rank: 0, from: 9, to: 4 },
            Flip::Last { rank: 1, from: 1, to: 6 },
        ];
        assert_eq!(from.flips(&to), expected);
    }
}
