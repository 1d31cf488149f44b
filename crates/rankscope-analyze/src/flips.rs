//! Which answers about who is late depend on where the clocks are inside their intervals.
//!
//! The same ranking is made with the clocks as estimated and with clocks at an end of what is possible; what differs is a flip.
//! An answer that no end changes needs no better clock.

use rankscope_collectives::{Matched, RankCollectives};

use crate::RankArrivals;
use crate::arrivals::{Map, arrival, by_rank};
use crate::findings::latest;

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
    /// Ranks by how they come to the complete ones of the `matched` collectives, if `maps` are the clocks.
    pub fn of(ranks: &[RankCollectives], matched: &Matched, maps: &[&Map]) -> Self {
        let complete = matched.instances.iter().filter(|instance| instance.complete);
        let arrivals: Vec<_> = complete.map(|instance| arrival(instance, ranks, maps, 0)).collect();
        let by_rank = by_rank(&arrivals, ranks.len());
        Self { late: latest(&by_rank), by_rank }
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
