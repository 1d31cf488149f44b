//! Difference constraints between the clocks of ranks.
//!
//! Write `c[r]` for what rank `r`'s clock is ahead of the true time. A rank that stays in a collective from `start` to `end` on
//! its own clock was in it at every true time from `start - c` to `end - c`. If the operation needs every rank, all stays
//! overlap, so for any two ranks `c[r] - c[s] <= end[r] - start[s]`. Constraints add along paths; shortest paths (Floyd and
//! Warshall) give the tightest bound of every pair, and a cycle of negative length says that the matching or the stamps are
//! wrong.

use crate::pairs::{DENSE_RANKS_MAX, Pairs};

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

    /// The room of a clock that is at most `onward` ahead of one with this room, which is at most `back` ahead of it.
    fn reached(self, onward: Most, back: Most) -> Self {
        let hi_ns = self.hi_ns.zip(onward.known()).map(|(hi, most)| hi.saturating_add(most));
        Self { lo_ns: self.lo_ns.zip(back.known()).map(|(lo, most)| lo.saturating_sub(most)), hi_ns }
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
///
/// Of few ranks shortest paths are followed through every rank. Of many, which would take time cubic in them and memory with
/// their square, only through those that bound most others, the hubs: beside what two ranks say of each other directly, a pair
/// is bounded by the best way over a hub.
#[derive(Clone, Debug)]
pub struct Bounds {
    ranks: usize,
    /// By `a` and `b` the greatest `c[b] - c[a]`; of few ranks along all paths, once closed.
    most: Pairs<Most>,
    /// Of many ranks, once closed.
    hubs: Vec<Hub>,
    /// A rank on a cycle of negative length, if there is one.
    contradiction: Option<usize>,
}

/// The greatest difference of two clocks.
#[derive(Clone, Copy, Debug)]
struct Most(i64);

impl Default for Most {
    fn default() -> Self {
        Self(FREE)
    }
}

impl Most {
    /// What is left where one bound follows another.
    fn then(self, next: Self) -> Self {
        if self.is_free() || next.is_free() { Self(FREE) } else { Self(self.0.saturating_add(next.0).max(-FREE)) }
    }

    fn or(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    fn is_free(self) -> bool {
        self.0 >= FREE
    }

    fn known(self) -> Option<i64> {
        Some(self.0).filter(|_| !self.is_free())
    }
}

/// A rank that paths lead through: by rank the greatest differences from there to here, and from here to there.
#[derive(Clone, Debug)]
struct Hub {
    to: Vec<Most>,
    from: Vec<Most>,
}

/// No bound. Small enough that two of them add up without overflow.
const FREE: i64 = i64::MAX / 4;

const HUBS_MAX: usize = 16;

impl Bounds {
    /// No bound between any of `ranks` ranks.
    pub fn free(ranks: usize) -> Self {
        Self { ranks, most: Pairs::of(ranks), hubs: Vec::new(), contradiction: None }
    }

    /// `c[b] - c[a]` is at most `most_ns`, if that is anything.
    pub fn at_most(&mut self, a: usize, b: usize, most_ns: Option<i64>) {
        if let Some(ns) = most_ns {
            let most = self.most.at(a, b);
            *most = most.or(Most(ns.max(-FREE)));
        }
    }

    /// For each of `others`, by rank, `c[b] - c[a]` is at most that.
    pub(crate) fn all_at_most(&mut self, a: usize, others: impl Iterator<Item = (usize, i64)>) {
        self.most.each_of(a, others, |most, ns| *most = most.or(Most(ns.max(-FREE))));
    }

    /// Widens every bound by `margin_ns`. To be closed anew.
    pub(crate) fn loosen(&mut self, margin_ns: i64) {
        self.hubs.clear();
        let wider = |most: &mut Most| most.0 = most.0.saturating_add(margin_ns).min(FREE);
        self.most.cells_mut().filter(|most| !most.is_free()).for_each(wider);
    }

    /// The same with every bound tighter by `room_ns`. To be closed anew.
    pub(crate) fn tightened(&self, room_ns: i64) -> Self {
        let mut tight = Self { hubs: Vec::new(), ..self.clone() };
        let tighter = |most: &mut Most| most.0 = most.0.saturating_sub(room_ns).max(-FREE);
        tight.most.cells_mut().filter(|most| !most.is_free()).for_each(tighter);
        tight
    }

    /// Something else has shown that no clocks satisfy the constraints of `rank`.
    pub(crate) fn refute(&mut self, rank: usize) {
        self.contradiction = self.contradiction.or(Some(rank));
    }

    /// Tightens every bound along paths.
    pub fn close(&mut self) {
        if self.ranks <= DENSE_RANKS_MAX {
            self.close_all()
        } else {
            self.close_through_hubs()
        }
        self.contradiction = (0..self.ranks).find(|rank| self.most(*rank, *rank).0 < 0).or(self.contradiction);
    }

    fn close_all(&mut self) {
        for via in 0..self.ranks {
            for from in 0..self.ranks {
                let first = self.direct(from, via);
                if first.is_free() {
                    continue;
                }
                for to in 0..self.ranks {
                    let second = self.direct(via, to);
                    let direct = self.most.at(from, to);
                    *direct = direct.or(first.then(second));
                }
            }
        }
    }

    fn close_through_hubs(&mut self) {
        let mut bounded = vec![0_usize; self.ranks];
        self.most.iter().filter(|(_, most)| !most.is_free()).for_each(|((a, _), _)| bounded[a] += 1);
        let mut hubs: Vec<usize> = (0..self.ranks).filter(|rank| bounded[*rank] > 0).collect();
        hubs.sort_by_key(|rank| std::cmp::Reverse(bounded[*rank]));
        hubs.truncate(HUBS_MAX);
        let mut between = Self::free(hubs.len());
        for (i, a) in hubs.iter().enumerate() {
            for (j, b) in hubs.iter().enumerate() {
                between.at_most(i, j, self.direct(*a, *b).known());
            }
        }
        between.close_all();
        let best = |direct: Most, ways: &mut dyn Iterator<Item = Most>| ways.fold(direct, Most::or);
        let hub = |(i, hub): (usize, &usize)| {
            let others = || hubs.iter().enumerate();
            let to = |rank: usize| {
                best(self.direct(rank, *hub), &mut others().map(|(j, via)| self.direct(rank, *via).then(between.direct(j, i))))
            };
            let from = |rank: usize| {
                best(self.direct(*hub, rank), &mut others().map(|(j, via)| between.direct(i, j).then(self.direct(*via, rank))))
            };
            Hub { to: (0..self.ranks).map(to).collect(), from: (0..self.ranks).map(from).collect() }
        };
        self.hubs = hubs.iter().enumerate().map(hub).collect();
    }

    fn direct(&self, a: usize, b: usize) -> Most {
        self.most.get(a, b).copied().unwrap_or_default()
    }

    fn most(&self, a: usize, b: usize) -> Most {
        self.hubs.iter().fold(self.direct(a, b), |most, hub| most.or(hub.to[a].then(hub.from[b])))
    }

    /// The interval of `c[b] - c[a]`.
    pub fn between(&self, a: usize, b: usize) -> Bound {
        Bound { lo_ns: self.most(b, a).known().map(|most| -most), hi_ns: self.most(a, b).known() }
    }

    /// A rank whose constraints contradict each other; none if clocks exist that satisfy all.
    pub fn contradiction(&self) -> Option<usize> {
        self.contradiction
    }

    /// Whether the clocks of `ranks` may all be equal, in bounds that are closed and free of contradictions.
    pub(crate) fn allow_zero(&self, ranks: &[usize]) -> bool {
        if ranks.len() < 2 {
            return true;
        }
        let mut chosen = vec![false; self.ranks];
        ranks.iter().for_each(|rank| chosen[*rank] = true);
        let fits = |a: &usize| self.most.row(*a).all(|(b, most)| b == *a || !chosen[b] || most.0 >= 0);
        let least = |of: &[Most]| ranks.iter().fold(Most::default(), |least, rank| least.or(of[*rank]));
        ranks.iter().all(fits) && self.hubs.iter().all(|hub| least(&hub.to).then(least(&hub.from)).0 >= 0)
    }
}

/// Clocks that are placed one after the other, and the room that those placed leave for the rest.
#[derive(Debug)]
pub(crate) struct Placing<'a> {
    bounds: &'a Bounds,
    /// By rank, whom it bounds, and who bounds it.
    onward: Vec<Vec<(usize, Most)>>,
    back: Vec<Vec<(usize, Most)>>,
    /// By rank, the room that is left by those placed that say something of it directly.
    rooms: Vec<Bound>,
    /// The room that those placed leave for each hub.
    hubs: Vec<Bound>,
}

impl<'a> Placing<'a> {
    /// Nothing placed yet.
    pub(crate) fn new(bounds: &'a Bounds) -> Self {
        let (mut onward, mut back) = (vec![Vec::new(); bounds.ranks], vec![Vec::new(); bounds.ranks]);
        for ((a, b), most) in bounds.most.iter().filter(|(_, most)| !most.is_free()) {
            onward[a].push((b, *most));
            back[b].push((a, *most));
        }
        let (rooms, hubs) = (vec![Bound::default(); bounds.ranks], vec![Bound::default(); bounds.hubs.len()]);
        Self { bounds, onward, back, rooms, hubs }
    }

    /// Where the clock of `rank` may be, by all that are placed.
    pub(crate) fn room(&self, rank: usize) -> Bound {
        let by_hub = self.bounds.hubs.iter().zip(&self.hubs).map(|(hub, room)| room.reached(hub.from[rank], hub.to[rank]));
        by_hub.fold(self.rooms[rank], Bound::and)
    }

    /// Places the clock of `rank`.
    pub(crate) fn put(&mut self, rank: usize, offset_ns: i64) {
        let here = Bound { lo_ns: Some(offset_ns), hi_ns: Some(offset_ns) };
        for (other, most) in &self.onward[rank] {
            self.rooms[*other] = self.rooms[*other].and(here.reached(*most, Most::default()));
        }
        for (other, most) in &self.back[rank] {
            self.rooms[*other] = self.rooms[*other].and(here.reached(Most::default(), *most));
        }
        for (room, hub) in self.hubs.iter_mut().zip(&self.bounds.hubs) {
            *room = room.and(here.reached(hub.to[rank], hub.from[rank]));
        }
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

    /// Many ranks that meet in small groups and all with a few, which makes those the hubs.
    fn many(ranks: usize) -> Bounds {
        let mut bounds = Bounds::free(ranks);
        for rank in 0..ranks {
            let spread = (rank as i64 * 37) % 1_000;
            for hub in (0..3).filter(|hub| *hub != rank) {
                bounds.at_most(rank, hub, Some(500 + spread));
                bounds.at_most(hub, rank, Some(700 - spread / 2));
            }
            bounds.at_most(rank, (rank + 1) % ranks, Some(90 + spread / 8));
        }
        bounds
    }

    /// By the definition, over every pair of hubs.
    fn by_definition(bounds: &Bounds, a: usize, b: usize) -> i64 {
        let direct = |a, b| bounds.direct(a, b);
        let hubs = [0, 1, 2];
        let mut best = direct(a, b);
        for (i, j, k) in (0..27).map(|at| (hubs[at % 3], hubs[at / 3 % 3], hubs[at / 9])) {
            best = best.or(direct(a, i).then(direct(i, b)));
            best = best.or(direct(a, i).then(direct(i, j)).then(direct(j, b)));
            best = best.or(direct(a, i).then(direct(i, j)).then(direct(j, k)).then(direct(k, b)));
        }
        best.0
    }

    #[test]
    fn of_many_ranks_a_pair_is_bounded_over_hubs_and_costs_nothing_by_itself() {
        let ranks = DENSE_RANKS_MAX + 100;
        let open = many(ranks);
        let mut closed = open.clone();
        closed.close();
        assert_eq!(closed.contradiction(), None);
        assert!(closed.most.places() < 8 * ranks, "no place for each of {} pairs", ranks * ranks);
        for (a, b) in (0..ranks).step_by(7).flat_map(|a| (0..ranks).step_by(5).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            // Ways over more hubs can only be shorter, and a way over the three is one over some of the sixteen.
            let most = closed.most(a, b).0;
            assert!(most <= by_definition(&open, a, b), "{a} {b}: {most}");
            let hub = closed.hubs.iter().map(|hub| hub.to[a].then(hub.from[b]).0).min().unwrap_or(FREE);
            assert_eq!(most, open.direct(a, b).0.min(hub));
        }
    }

    #[test]
    fn the_room_for_a_clock_is_what_all_those_placed_leave() {
        for ranks in [40, DENSE_RANKS_MAX + 40] {
            let mut bounds = many(ranks);
            bounds.close();
            let mut placing = Placing::new(&bounds);
            let mut there: Vec<(usize, i64)> = Vec::new();
            for rank in 0..ranks {
                let slow = there.iter().map(|(other, at)| {
                    let Bound { lo_ns, hi_ns } = bounds.between(*other, rank);
                    Bound { lo_ns: lo_ns.map(|lo| lo + at), hi_ns: hi_ns.map(|hi| hi + at) }
                });
                let slow = slow.fold(Bound::default(), Bound::and);
                assert_eq!(placing.room(rank), slow, "{rank} of {ranks}");
                let at = slow.clamp((rank as i64 % 5) * 100 - 200);
                placing.put(rank, at);
                there.push((rank, at));
            }
            let all: Vec<usize> = (0..ranks).collect();
            assert!(bounds.allow_zero(&all));
            bounds.at_most(5, 6, Some(-1));
            assert!(!bounds.allow_zero(&all) && bounds.allow_zero(&all[6..]));
        }
    }
}
