//! Difference constraints between the clocks of ranks.
//!
//! Write `c[r]` for what rank `r`'s clock is ahead of the true time. A rank that stays in a collective from `start` to `end` on
//! its own clock was in it at every true time from `start - c` to `end - c`. If the operation needs every rank, all stays
//! overlap, so for any two ranks `c[r] - c[s] <= end[r] - start[s]`. Constraints add along paths; shortest paths (Floyd and
//! Warshall) give the tightest bound of every pair, and a cycle of negative length says that the matching or the stamps are
//! wrong.

/// What causality leaves for the difference of two clocks: `lo_ns <= c[b] - c[a] <= hi_ns`. An end that nothing bounds is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Least difference.
    pub lo_ns: Option<i64>,
    /// Greatest difference.
    pub hi_ns: Option<i64>,
}

impl Bound {
    /// Whether the two clocks may be equal.
    pub fn allows_zero(self) -> bool {
        self.lo_ns.is_none_or(|lo| lo <= 0) && self.hi_ns.is_none_or(|hi| hi >= 0)
    }

    /// `offset_ns`, moved into the interval if it lies outside.
    pub fn clamp(self, offset_ns: i64) -> i64 {
        let low = self.lo_ns.map_or(offset_ns, |lo| offset_ns.max(lo));
        self.hi_ns.map_or(low, |hi| low.min(hi))
    }

    /// The middle, where both ends are known.
    pub fn middle(self) -> Option<i64> {
        Some(self.lo_ns?.midpoint(self.hi_ns?))
    }

    /// How wide it is, where both ends are known.
    pub fn width_ns(self) -> Option<i64> {
        Some(self.hi_ns?.saturating_sub(self.lo_ns?))
    }
}

/// The bounds between all pairs of ranks.
#[derive(Clone, Debug)]
pub struct Bounds {
    ranks: usize,
    /// `most[a * ranks + b]` is the greatest `c[b] - c[a]`.
    most: Vec<i64>,
    /// A rank on a cycle of negative length, if there is one.
    contradiction: Option<usize>,
}

/// No bound. Small enough that two of them add up without overflow.
const FREE: i64 = i64::MAX / 4;

/// Beyond this many ranks the paths are not closed (it takes time cubic in the ranks): direct bounds stand as they are.
const CLOSED_RANKS_MAX: usize = 256;

impl Bounds {
    /// No bound between any of `ranks` ranks.
    pub fn free(ranks: usize) -> Self {
        Self { ranks, most: vec![FREE; ranks * ranks], contradiction: None }
    }

    /// All of `stays`, given as rank, start and end, overlapped.
    pub fn overlap(&mut self, stays: &[(usize, i64, i64)]) {
        for (entered, start, _) in stays {
            for (left, _, end) in stays.iter().filter(|(left, ..)| left != entered) {
                let most = &mut self.most[entered * self.ranks + left];
                *most = (*most).min(end.saturating_sub(*start));
            }
        }
    }

    /// Tightens every bound along all paths.
    pub fn close(&mut self) {
        if self.ranks > CLOSED_RANKS_MAX {
            return;
        }
        for via in 0..self.ranks {
            for from in 0..self.ranks {
                let first = self.most[from * self.ranks + via];
                if first >= FREE {
                    continue;
                }
                for to in 0..self.ranks {
                    let second = self.most[via * self.ranks + to];
                    if second < FREE {
                        let direct = &mut self.most[from * self.ranks + to];
                        *direct = (*direct).min(first.saturating_add(second).max(-FREE));
                    }
                }
            }
        }
        self.contradiction = (0..self.ranks).find(|rank| self.most[rank * self.ranks + rank] < 0);
    }

    /// The interval of `c[b] - c[a]`.
    pub fn between(&self, a: usize, b: usize) -> Bound {
        let known = |most: i64| Some(most).filter(|most| *most < FREE);
        Bound { lo_ns: known(self.most[b * self.ranks + a]).map(|most| -most), hi_ns: known(self.most[a * self.ranks + b]) }
    }

    /// A rank whose constraints contradict each other; none if clocks exist that satisfy all.
    pub fn contradiction(&self) -> Option<usize> {
        self.contradiction
    }

    /// Whether all clocks may be equal.
    pub fn allow_zero(&self) -> bool {
        (0..self.ranks).all(|a| (0..self.ranks).all(|b| a == b || self.between(a, b).allows_zero()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the clocks, the truth lies inside the bounds.
        #[test]
        fn the_truth_is_inside(
            clocks in prop::collection::vec(-1_000_000i64..1_000_000, 2..6),
            collectives in prop::collection::vec((0i64..100_000, prop::collection::vec((0i64..50_000, 0i64..20_000), 6)), 1..20)
        ) {
            let mut bounds = Bounds::free(clocks.len());
            let mut now = 0;
            for (gap, ranks) in &collectives {
                now += gap;
                let last = now + ranks.iter().take(clocks.len()).map(|(late, _)| *late).max().unwrap_or(0);
                let stays: Vec<_> = clocks.iter().zip(ranks).enumerate()
                    .map(|(rank, (clock, (late, linger)))| (rank, now + late + clock, last + linger + clock)).collect();
                bounds.overlap(&stays);
                now = last + 20_000;
            }
            bounds.close();
            prop_assert_eq!(bounds.contradiction(), None);
            for a in 0..clocks.len() {
                for b in 0..clocks.len() {
                    let bound = bounds.between(a, b);
                    prop_assert_eq!(bound.clamp(clocks[b] - clocks[a]), clocks[b] - clocks[a]);
                }
            }
        }
    }

    #[test]
    fn stays_that_cannot_overlap_contradict() {
        let mut bounds = Bounds::free(2);
        bounds.overlap(&[(0, 0, 10), (1, 0, 10)]);
        bounds.overlap(&[(0, 100, 110), (1, 200, 210)]);
        bounds.close();
        assert!(bounds.contradiction().is_some());
    }

    #[test]
    fn bounds_add_along_a_path() {
        let mut bounds = Bounds::free(3);
        bounds.overlap(&[(0, 0, 10), (1, 0, 10)]);
        bounds.overlap(&[(1, 50, 60), (2, 50, 60)]);
        bounds.close();
        assert_eq!(bounds.between(0, 2), Bound { lo_ns: Some(-20), hi_ns: Some(20) });
    }
}
