//! Shortest paths over the bounds between many ranks, most of which say nothing of each other.
//!
//! Bellman and Ford find clocks that satisfy every bound, or a cycle that shows there are none. Counted from such clocks no bound
//! is negative, so that Dijkstra finds the paths from any one rank: in all, time grows with the bounds and not with pairs. Where
//! the bounds contradict each other no path is the shortest; then each rank gets one of its paths, as every path is a bound.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashSet;

use super::most::Most;
use crate::pairs::Pairs;

/// In which direction bounds are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// From a clock to those it bounds from above.
    Onward,
    /// From a clock to those that bound it from above.
    Back,
}

/// The bounds between ranks, to be followed either way.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    onward: Edges,
    back: Edges,
    /// By rank a clock such that all together satisfy every bound; 0 where no clocks do.
    clocks: Vec<i128>,
    contradiction: Option<usize>,
}

impl Paths {
    /// Over all of `most`, by `a` and `b` the greatest difference of the clocks of `b` and `a`.
    pub(super) fn over(ranks: usize, most: &Pairs<Most>) -> Self {
        let bounds = || most.iter().filter(|(_, most)| !most.is_free()).map(|((a, b), most)| (a, b, *most));
        let onward = Edges::new(ranks, bounds());
        let back = Edges::new(ranks, bounds().map(|(a, b, most)| (b, a, most)));
        let (clocks, contradiction) = match onward.clocks() {
            Ok(clocks) => (clocks, None),
            Err(rank) => (vec![0; ranks], Some(rank)),
        };
        Self { onward, back, clocks, contradiction }
    }

    /// How many bounds are kept.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.onward.edges.len() + self.back.edges.len()
    }

    /// A rank on a cycle of bounds that no clocks satisfy, if there is one.
    pub(super) fn contradiction(&self) -> Option<usize> {
        self.contradiction
    }

    /// The bounds from or to `rank`, by the other rank.
    pub(super) fn of(&self, rank: usize, way: Way) -> &[(u32, Most)] {
        match way {
            Way::Onward => self.onward.from(rank),
            Way::Back => self.back.from(rank),
        }
    }

    /// By rank, the shortest path from `rank` to it, or from it to `rank`.
    pub(super) fn all(&self, rank: usize, way: Way) -> Vec<Most> {
        let mut least = vec![Most::default(); self.clocks.len()];
        self.lower(way, &mut least, &[rank], Most::of(0), |_, _| ());
        least
    }

    /// Lowers `least`, which is as low as every path makes it, to what paths make it once each of `starts` is at `start`. `before`
    /// is told of every rank that is lowered and of what it had. Goes no further than it lowers.
    pub(super) fn lower(
        &self,
        way: Way,
        least: &mut [Most],
        starts: &[usize],
        start: Most,
        mut before: impl FnMut(usize, Most),
    ) {
        let sign = if way == Way::Onward { 1 } else { -1 };
        let height = |rank: usize, most: Most| Reverse((i128::from(most.ns()) - sign * self.clocks[rank], rank));
        let mut next = BinaryHeap::new();
        let mut reach = |rank: usize, most: Most, least: &mut [Most], next: &mut BinaryHeap<_>| {
            if most.ns() < least[rank].ns() {
                before(rank, least[rank]);
                least[rank] = most;
                next.push(height(rank, most));
            }
        };
        starts.iter().for_each(|rank| reach(*rank, start, least, &mut next));
        let mut gone_through = FxHashSet::default();
        while let Some(Reverse((_, rank))) = next.pop() {
            if gone_through.insert(rank) {
                for (other, most) in self.of(rank, way) {
                    reach(*other as usize, least[rank].then(*most), least, &mut next);
                }
            }
        }
    }
}

/// Bounds by the rank they are followed from.
#[derive(Clone, Debug)]
struct Edges {
    /// By rank, where those of the ranks before it end; and the end of all.
    first: Vec<usize>,
    edges: Vec<(u32, Most)>,
}

impl Edges {
    fn new(ranks: usize, bounds: impl Iterator<Item = (usize, usize, Most)>) -> Self {
        let mut bounds: Vec<_> = bounds.collect();
        bounds.sort_by_key(|(from, ..)| *from);
        let mut first = vec![0; ranks + 1];
        bounds.iter().for_each(|(from, ..)| first[from + 1] += 1);
        for rank in 0..ranks {
            first[rank + 1] += first[rank];
        }
        Self { first, edges: bounds.into_iter().map(|(_, to, most)| (to as u32, most)).collect() }
    }

    fn from(&self, rank: usize) -> &[(u32, Most)] {
        &self.edges[self.first[rank]..self.first[rank + 1]]
    }

    /// Clocks that satisfy every bound; else a rank on a cycle that none satisfy.
    fn clocks(&self) -> Result<Vec<i128>, usize> {
        let ranks = self.first.len() - 1;
        let mut clocks = vec![0_i128; ranks];
        let mut lowered_by = vec![None; ranks];
        let mut queue: VecDeque<usize> = (0..ranks).collect();
        let mut waits = vec![true; ranks];
        let mut lowered = 0_usize;
        while let Some(rank) = queue.pop_front() {
            waits[rank] = false;
            for (other, most) in self.from(rank) {
                let (other, most) = (*other as usize, clocks[rank] + i128::from(most.ns()));
                if clocks[other] <= most {
                    continue;
                }
                (clocks[other], lowered_by[other]) = (most, Some(rank));
                lowered += 1;
                // Looking for a cycle takes as long as lowering every clock once.
                if lowered.is_multiple_of(ranks)
                    && let Some(rank) = first_on_a_cycle(&lowered_by)
                {
                    return Err(rank);
                }
                if !std::mem::replace(&mut waits[other], true) {
                    queue.push_back(other);
                }
            }
        }
        Ok(clocks)
    }
}

/// The first rank that is lowered by itself through others: around such a cycle clocks go down forever.
fn first_on_a_cycle(lowered_by: &[Option<usize>]) -> Option<usize> {
    let mut seen_from = vec![None; lowered_by.len()];
    let mut least = None;
    for start in 0..lowered_by.len() {
        let mut at = Some(start);
        while let Some(rank) = at.filter(|rank| seen_from[*rank].is_none()) {
            seen_from[rank] = Some(start);
            at = lowered_by[rank];
        }
        let Some(on_cycle) = at.filter(|rank| seen_from[*rank] == Some(start)) else { continue };
        let around = std::iter::successors(lowered_by[on_cycle], |rank| lowered_by[*rank].filter(|_| *rank != on_cycle));
        least = around.chain([on_cycle]).chain(least).min();
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_behind_whatever_leads_to_it() {
        assert_eq!(first_on_a_cycle(&[Some(2), Some(4), Some(3), None, Some(6), Some(1), Some(4)]), Some(4));
        assert_eq!(first_on_a_cycle(&[None, Some(0), Some(1)]), None);
        assert_eq!(first_on_a_cycle(&[Some(0)]), Some(0));
        assert_eq!(first_on_a_cycle(&[None, Some(3), Some(1), Some(2), Some(2)]), Some(1));
    }

    /// A ring of ten thousand ranks that is a nanosecond too short: only all bounds together contradict each other.
    #[test]
    fn a_contradiction_around_many_ranks_is_found_where_it_is() {
        const RANKS: usize = 10_000;
        let mut most: Pairs<Most> = Pairs::sparse(RANKS + 50);
        for rank in 0..RANKS {
            *most.at(50 + rank, 50 + (rank + 1) % RANKS) = Most::of(if rank % 2 == 0 { 1_000 } else { -1_000 });
        }
        *most.at(3, 60) = Most::of(-5);
        assert_eq!(Paths::over(RANKS + 50, &most).contradiction(), None);
        *most.at(4_050, 4_051) = Most::of(999);
        assert_eq!(Paths::over(RANKS + 50, &most).contradiction(), Some(50));
    }
}
