//! Difference constraints between the clocks of ranks.
//!
//! Write `c[r]` for what rank `r`'s clock is ahead of the true time. A rank that stays in a collective from `start` to `end` on
//! its own clock was in it at every true time from `start - c` to `end - c`. If the operation needs every rank, all stays
//! overlap, so for any two ranks `c[r] - c[s] <= end[r] - start[s]`. Constraints add along paths; shortest paths give the tightest
//! bound of a pair, and a cycle of negative length says that the matching or the stamps are wrong.

mod most;
mod paths;
mod placing;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::OnceLock;

use multiversion::multiversion;

use self::most::Most;
use self::paths::{Paths, Way};
pub(crate) use self::placing::Placing;
use crate::pairs::Pairs;

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

    /// Whether the difference may be `offset_ns`.
    pub(crate) fn contains(self, offset_ns: i64) -> bool {
        self.clamp(offset_ns) == offset_ns
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
/// Of few ranks (Floyd and Warshall) every pair has the shortest of all paths. Of many, which would take time cubic in them and
/// memory with their square, only pairs with the first rank have. Any other has the shortest of the paths through the first rank,
/// through those that bound most others (the hubs), and through one rank that bounds both.
#[derive(Clone, Debug)]
pub struct Bounds {
    ranks: usize,
    /// By `a` and `b` the greatest `c[b] - c[a]`; of few ranks along all paths, once closed.
    most: Pairs<Most>,
    /// Of many ranks, once closed.
    sparse: Option<Box<Sparse>>,
    /// A rank on a cycle of negative length, if there is one.
    contradiction: Option<usize>,
}

/// Paths between many ranks.
#[derive(Clone, Debug)]
struct Sparse {
    paths: Paths,
    first: Hub,
    /// Found when they are first asked for: most who close bounds want nothing but the first rank's.
    hubs: OnceLock<Vec<Hub>>,
}

/// A rank that paths lead through: by rank the greatest differences from there to here, and from here to there.
#[derive(Clone, Debug)]
struct Hub {
    to: Vec<Most>,
    from: Vec<Most>,
}

const HUBS_MAX: usize = 16;

impl Bounds {
    /// No bound between any of `ranks` ranks.
    pub fn free(ranks: usize) -> Self {
        Self { ranks, most: Pairs::of(ranks), sparse: None, contradiction: None }
    }

    /// The same, and however few ranks there are, paths are found as between many.
    #[cfg(test)]
    pub(crate) fn free_and_sparse(ranks: usize) -> Self {
        Self { most: Pairs::sparse(ranks), ..Self::free(ranks) }
    }

    /// How many pairs something is kept of, and how many numbers are kept in all.
    #[cfg(test)]
    pub(crate) fn kept(&self) -> (usize, usize) {
        let (pairs, hubs) = (self.most.places(), self.sparse.as_ref().map_or(0, |sparse| 1 + sparse.hubs().len()));
        (pairs, pairs + self.paths().places() + 2 * hubs * self.ranks)
    }

    /// `c[b] - c[a]` is at most `most_ns`, if that is anything. To be closed after the last.
    pub fn at_most(&mut self, a: usize, b: usize, most_ns: Option<i64>) {
        if let Some(ns) = most_ns {
            self.sparse = None;
            let most = self.most.at(a, b);
            *most = most.or(Most::of(ns));
        }
    }

    /// Widens every bound by `margin_ns`. To be closed anew.
    pub(crate) fn loosen(&mut self, margin_ns: i64) {
        self.sparse = None;
        self.most.cells_mut().for_each(|most| *most = most.widened(margin_ns));
    }

    /// The same with every bound tighter by `room_ns`. To be closed anew.
    pub(crate) fn tightened(&self, room_ns: i64) -> Self {
        let mut tight = self.clone();
        tight.loosen(-room_ns);
        tight
    }

    /// Something else has shown that no clocks satisfy the constraints of `rank`.
    pub(crate) fn refute(&mut self, rank: usize) {
        self.contradiction = self.contradiction.or(Some(rank));
    }

    /// Tightens every bound along paths.
    pub fn close(&mut self) {
        let found = if self.is_sparse() {
            let paths = Paths::over(self.ranks, &self.most);
            let (first, found) = (Hub::of(&paths, 0), paths.contradiction());
            self.sparse = Some(Box::new(Sparse { paths, first, hubs: OnceLock::new() }));
            found
        } else {
            self.close_table();
            (0..self.ranks).find(|rank| self.direct(*rank, *rank).ns() < 0)
        };
        self.contradiction = found.or(self.contradiction);
    }

    fn close_table(&mut self) {
        let Pairs::Few { ranks, cells } = &mut self.most else { return };
        let ranks = *ranks;
        let mut second = vec![Most::default(); ranks];
        for via in 0..ranks {
            second.copy_from_slice(&cells[via * ranks..][..ranks]);
            for (from, row) in cells.chunks_exact_mut(ranks).enumerate() {
                let first = row[via];
                if !first.is_free() {
                    lower_row(row, first, &second);
                }
                if from == via {
                    // Where constraints contradict each other, a way may be shorter by going around.
                    second.copy_from_slice(row);
                }
            }
        }
    }

    fn is_sparse(&self) -> bool {
        matches!(self.most, Pairs::Many { .. })
    }

    fn direct(&self, a: usize, b: usize) -> Most {
        self.most.get(a, b).copied().unwrap_or_default()
    }

    fn most(&self, a: usize, b: usize) -> Most {
        let Some(sparse) = &self.sparse else { return self.direct(a, b) };
        let by_first = sparse.first.between(a, b);
        if a == 0 || b == 0 {
            return by_first;
        }
        let by_hub = sparse.hubs().iter().fold(by_first, |most, hub| most.or(hub.between(a, b)));
        by_hub.or(self.direct(a, b)).or(self.by_one(&sparse.paths, a, b))
    }

    /// Through a rank that bounds both: those of one group, where none but its first says anything of both.
    fn by_one(&self, paths: &Paths, a: usize, b: usize) -> Most {
        let (onward, back) = (paths.of(a, Way::Onward), paths.of(b, Way::Back));
        if onward.len() <= back.len() {
            let through = |(via, most): &(u32, Most)| most.then(self.direct(*via as usize, b));
            onward.iter().map(through).fold(Most::default(), Most::or)
        } else {
            let through = |(via, most): &(u32, Most)| self.direct(a, *via as usize).then(*most);
            back.iter().map(through).fold(Most::default(), Most::or)
        }
    }

    /// The paths between many ranks.
    fn paths(&self) -> Cow<'_, Paths> {
        let closed = self.sparse.as_ref().map(|sparse| Cow::Borrowed(&sparse.paths));
        closed.unwrap_or_else(|| Cow::Owned(Paths::over(self.ranks, &self.most)))
    }

    /// The interval of `c[b] - c[a]`.
    pub fn between(&self, a: usize, b: usize) -> Bound {
        Bound { lo_ns: self.most(b, a).known().map(|most| -most), hi_ns: self.most(a, b).known() }
    }

    /// A rank whose constraints contradict each other; none if clocks exist that satisfy all.
    pub fn contradiction(&self) -> Option<usize> {
        self.contradiction
    }

    /// Whether the clocks of `ranks` may all be equal, by a table that is closed and free of contradictions.
    fn allow_zero(&self, ranks: &[usize]) -> bool {
        if ranks.len() < 2 {
            return true;
        }
        let mut chosen = vec![false; self.ranks];
        ranks.iter().for_each(|rank| chosen[*rank] = true);
        let fits = |a: &usize| self.most.row(*a).all(|(b, most)| b == *a || !chosen[b] || most.ns() >= 0);
        ranks.iter().all(fits)
    }
}

/// Lowers each of `row` to what leads there by `first` and then by that of `second`: as often as the cube of the ranks.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn lower_row(row: &mut [Most], first: Most, second: &[Most]) {
    row.iter_mut().zip(second).for_each(|(direct, second)| *direct = direct.or(first.then(*second)));
}

impl Sparse {
    fn hubs(&self) -> &[Hub] {
        self.hubs.get_or_init(|| {
            let bounded = |rank: usize| self.paths.of(rank, Way::Onward).len();
            let mut hubs: Vec<usize> = (1..self.first.to.len()).filter(|rank| bounded(*rank) > 0).collect();
            hubs.sort_by_key(|rank| Reverse(bounded(*rank)));
            hubs.into_iter().take(HUBS_MAX).map(|hub| Hub::of(&self.paths, hub)).collect()
        })
    }
}

impl Hub {
    fn of(paths: &Paths, rank: usize) -> Self {
        Self { to: paths.all(rank, Way::Back), from: paths.all(rank, Way::Onward) }
    }

    /// The greatest difference of the clocks of `b` and `a` by the paths through here.
    fn between(&self, a: usize, b: usize) -> Most {
        self.to[a].then(self.from[b])
    }
}

#[cfg(test)]
mod tests;
