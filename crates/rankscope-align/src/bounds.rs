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

    /// What both allow.
    pub(crate) fn and(self, other: Self) -> Self {
        let tighter = |a: Option<i64>, b: Option<i64>, of: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(of(a, b)),
            (known, other) => known.or(other),
        };
        Self { lo_ns: tighter(self.lo_ns, other.lo_ns, i64::max), hi_ns: tighter(self.hi_ns, other.hi_ns, i64::min) }
    }

    /// The same interval, seen from a clock that is `ahead_ns` behind.
    pub(crate) fn shifted(self, ahead_ns: i64) -> Self {
        let shift = |end: i64| end.saturating_add(ahead_ns);
        Self { lo_ns: self.lo_ns.map(shift), hi_ns: self.hi_ns.map(shift) }
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

/// Beyond this many ranks not all paths are followed, which takes time cubic in the ranks: only those through a few.
const CLOSED_RANKS_MAX: usize = 256;

/// The few: those that bound most others.
const HUBS_MAX: usize = 16;

impl Bounds {
    /// No bound between any of `ranks` ranks.
    pub fn free(ranks: usize) -> Self {
        Self { ranks, most: vec![FREE; ranks * ranks], contradiction: None }
    }

    /// `c[b] - c[a]` is at most `most_ns`, if that is anything.
    pub fn at_most(&mut self, a: usize, b: usize, most_ns: Option<i64>) {
        let most = &mut self.most[a * self.ranks + b];
        *most = (*most).min(most_ns.map_or(FREE, |ns| ns.max(-FREE)));
    }

    /// Widens every bound by `margin_ns`.
    pub(crate) fn loosen(&mut self, margin_ns: i64) {
        self.most.iter_mut().filter(|most| **most < FREE).for_each(|most| *most = most.saturating_add(margin_ns).min(FREE));
    }

    /// The same with every bound tighter by `room_ns`.
    pub(crate) fn tightened(&self, room_ns: i64) -> Self {
        let tighter = |most: &i64| if *most < FREE { most.saturating_sub(room_ns).max(-FREE) } else { FREE };
        Self { most: self.most.iter().map(tighter).collect(), ..*self }
    }

    /// Something else has shown that no clocks satisfy the constraints of `rank`.
    pub(crate) fn refute(&mut self, rank: usize) {
        self.contradiction = self.contradiction.or(Some(rank));
    }

    /// Tightens every bound along all paths.
    pub fn close(&mut self) {
        for via in self.vias() {
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
        self.contradiction = (0..self.ranks).find(|rank| self.most[rank * self.ranks + rank] < 0).or(self.contradiction);
    }

    /// The ranks that paths are followed through.
    fn vias(&self) -> Vec<usize> {
        let mut vias: Vec<usize> = (0..self.ranks).collect();
        if self.ranks > CLOSED_RANKS_MAX {
            let row = |rank: usize| &self.most[rank * self.ranks..(rank + 1) * self.ranks];
            vias.sort_by_cached_key(|rank| std::cmp::Reverse(row(*rank).iter().filter(|most| **most < FREE).count()));
            vias.truncate(HUBS_MAX);
        }
        vias
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

    /// All of `stays`, given as rank, start and end, overlapped.
    fn overlap(bounds: &mut Bounds, stays: &[(usize, i64, i64)]) {
        for (entered, start, _) in stays {
            for (left, _, end) in stays.iter().filter(|(left, ..)| left != entered) {
                bounds.at_most(*entered, *left, Some(end - start));
            }
        }
    }

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
                overlap(&mut bounds, &stays);
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
        overlap(&mut bounds, &[(0, 0, 10), (1, 0, 10)]);
        overlap(&mut bounds, &[(0, 100, 110), (1, 200, 210)]);
        bounds.close();
        assert!(bounds.contradiction().is_some());
    }

    #[test]
    fn bounds_add_along_a_path() {
        let mut bounds = Bounds::free(3);
        overlap(&mut bounds, &[(0, 0, 10), (1, 0, 10)]);
        overlap(&mut bounds, &[(1, 50, 60), (2, 50, 60)]);
        bounds.close();
        assert_eq!(bounds.between(0, 2), Bound { lo_ns: Some(-20), hi_ns: Some(20) });
    }
}
