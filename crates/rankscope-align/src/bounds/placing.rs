//! [`Placing`]: clocks placed one after the other, and the room that those placed leave for the rest.
//!
//! Where bounds hold along all paths, any place in the room of a clock leaves room for every other. Between few ranks all paths
//! are in the table. Between many, whoever is placed tells those whose room that narrows, along the bounds, and nobody else: so the
//! room is that of all paths, too, and clocks that satisfy all bounds are found wherever there are any.

use std::borrow::Cow;

use super::most::Most;
use super::paths::{Paths, Way};
use super::{Bound, Bounds};

/// Clocks that are placed one after the other.
#[derive(Debug)]
pub(crate) struct Placing<'a>(By<'a>);

#[derive(Debug)]
enum By<'a> {
    Table(ByTable<'a>),
    Paths(ByPaths<'a>),
}

impl<'a> Placing<'a> {
    /// Nothing placed yet. Of few ranks `bounds` are closed.
    pub(crate) fn new(bounds: &'a Bounds) -> Self {
        Self(if bounds.is_sparse() { By::Paths(ByPaths::new(bounds)) } else { By::Table(ByTable::new(bounds)) })
    }

    /// Where the clock of `rank` may be, by all that are placed.
    pub(crate) fn room(&self, rank: usize) -> Bound {
        match &self.0 {
            By::Table(table) => table.rooms[rank],
            By::Paths(paths) => paths.room(rank),
        }
    }

    /// Places the clock of `rank` as near to `wanted_ns` as its room allows, and says where.
    pub(crate) fn put_near(&mut self, rank: usize, wanted_ns: i64) -> i64 {
        let offset_ns = self.room(rank).clamp(wanted_ns);
        match &mut self.0 {
            By::Table(table) => table.put(rank, offset_ns),
            By::Paths(paths) => paths.put(&[rank], offset_ns),
        }
        offset_ns
    }

    /// Places the clocks of `ranks`, all at `offset_ns`, which is in the room of each. If they cannot be equal none is placed, and
    /// it says no.
    pub(crate) fn put_together(&mut self, ranks: &[usize], offset_ns: i64) -> bool {
        match &mut self.0 {
            By::Table(table) => {
                let fit = table.bounds.allow_zero(ranks);
                ranks.iter().filter(|_| fit).for_each(|rank| table.put(*rank, offset_ns));
                fit
            }
            By::Paths(paths) => paths.put_together(ranks, offset_ns),
        }
    }
}

#[derive(Debug)]
struct ByTable<'a> {
    bounds: &'a Bounds,
    /// By rank, whom it bounds, and who bounds it.
    onward: Vec<Vec<(usize, Most)>>,
    back: Vec<Vec<(usize, Most)>>,
    /// By rank, the room that is left.
    rooms: Vec<Bound>,
}

impl<'a> ByTable<'a> {
    fn new(bounds: &'a Bounds) -> Self {
        let (mut onward, mut back) = (vec![Vec::new(); bounds.ranks], vec![Vec::new(); bounds.ranks]);
        for ((a, b), most) in bounds.most.iter().filter(|(_, most)| !most.is_free()) {
            onward[a].push((b, *most));
            back[b].push((a, *most));
        }
        Self { bounds, onward, back, rooms: vec![Bound::default(); bounds.ranks] }
    }

    fn put(&mut self, rank: usize, offset_ns: i64) {
        for (other, most) in &self.onward[rank] {
            let hi_ns = most.known().map(|most| offset_ns.saturating_add(most));
            self.rooms[*other] = self.rooms[*other].and(Bound { lo_ns: None, hi_ns });
        }
        for (other, most) in &self.back[rank] {
            let lo_ns = most.known().map(|most| offset_ns.saturating_sub(most));
            self.rooms[*other] = self.rooms[*other].and(Bound { lo_ns, hi_ns: None });
        }
    }
}

#[derive(Debug)]
struct ByPaths<'a> {
    paths: Cow<'a, Paths>,
    /// By rank, what its clock is at most, and what the negative of it is at most.
    above: Vec<Most>,
    below: Vec<Most>,
}

impl<'a> ByPaths<'a> {
    fn new(bounds: &'a Bounds) -> Self {
        let free = || vec![Most::default(); bounds.ranks];
        Self { paths: bounds.paths(), above: free(), below: free() }
    }

    fn room(&self, rank: usize) -> Bound {
        Bound { lo_ns: self.below[rank].known().map(|below| -below), hi_ns: self.above[rank].known() }
    }

    fn put(&mut self, ranks: &[usize], offset_ns: i64) {
        let [above, below] = [offset_ns, offset_ns.saturating_neg()].map(Most::of);
        self.paths.lower(Way::Onward, &mut self.above, ranks, above, |_, _| ());
        self.paths.lower(Way::Back, &mut self.below, ranks, below, |_, _| ());
    }

    fn put_together(&mut self, ranks: &[usize], offset_ns: i64) -> bool {
        let above = Most::of(offset_ns);
        let mut undo = Vec::new();
        self.paths.lower(Way::Onward, &mut self.above, ranks, above, |rank, before| undo.push((rank, before)));
        // A path that leads from one to another and is negative makes the other lower than it was put.
        let fit = ranks.iter().all(|rank| self.above[*rank] == above);
        if fit {
            self.paths.lower(Way::Back, &mut self.below, ranks, Most::of(offset_ns.saturating_neg()), |_, _| ());
        } else {
            undo.into_iter().rev().for_each(|(rank, before)| self.above[rank] = before);
        }
        fit
    }
}
