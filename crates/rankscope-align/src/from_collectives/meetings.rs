//! Collectives found on more than one rank, as stays that constrain each other.
//!
//! Nobody leaves before those have entered that it needs. In an all-reduce everybody needs everybody. A broadcast, a scatter and
//! a send hand something from one rank to others, a reduction and a gather bring it to one: there the constraint holds in one
//! direction, and only where the root is known. A kernel that does not say what it does constrains nobody; its ends may still
//! agree. Collectives done by copy engines have no kernel, so none of them is here.
//!
//! Stamps stand in columns: where the same ranks met again and again, when each of them came, and when it left. How far two ranks' clocks
//! can be apart is a least difference of two columns, and there are as many of those as pairs of ranks.

mod block;
mod building;

use std::ops::Range;

use rankscope_collectives::{Group, Instance, Kind, Matched, RankCollectives, Stretch};
use rankscope_scratch::Slots;

pub(crate) use block::{Block, Meeting, Member};
use building::{Room, Source, TILE};

/// One rank's stay in a collective, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(super) rank: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Nobody who needs others leaves before this rank has entered.
    pub(crate) is_needed: bool,
    /// It does not leave before those have entered that are needed.
    pub(crate) needs: bool,
}

impl Stay {
    /// The stay of the rank at index `rank`, which everybody needs and which needs everybody.
    pub(crate) fn of(rank: usize, start_ns: i64, end_ns: i64) -> Self {
        Self { rank: rank as u32, start_ns, end_ns, is_needed: true, needs: true }
    }

    /// Index of the rank.
    pub(crate) fn rank(&self) -> usize {
        self.rank as usize
    }
}

/// All collectives found on more than one rank, numbered in an order that can be chosen.
#[derive(Debug, Default)]
pub(crate) struct Meetings {
    /// Those of the same ranks in the same roles.
    blocks: Vec<Place>,
    members: Vec<Member>,
    /// By block the numbers of its meetings, ascending.
    at: Vec<u32>,
    /// By block and member, when it entered each of them, and when it left.
    entered_ns: Slots<i64>,
    left_ns: Slots<i64>,
    /// By number, the block and the row in it.
    order: Vec<(u32, u32)>,
    /// By number, how short each was.
    shortest_ns: Vec<i64>,
}

/// Where the columns of a block stand.
#[derive(Clone, Debug)]
struct Place {
    members: Range<usize>,
    at: Range<usize>,
    /// Where the first of its stamps is.
    cells: usize,
    is_tame: bool,
}

/// All collectives found on more than one rank.
pub(crate) fn meetings(ranks: &[RankCollectives], matched: &Matched) -> Meetings {
    let together: Vec<&Instance> = matched.instances.iter().filter(|instance| instance.members.len() > 1).collect();
    let many = |instance: &&Instance| (instance.group, instance.members.len());
    let alike = together.chunk_by(|a, b| many(a) == many(b)).flat_map(|alike| alike.chunks(TILE));
    let tiles: Vec<&[&Instance]> = alike.collect();
    Meetings::of(&tiles, &OfInstances { ranks, matched })
}

/// Instances as they are told by the ranks that took part.
struct OfInstances<'a> {
    ranks: &'a [RankCollectives],
    matched: &'a Matched,
}

impl Source for OfInstances<'_> {
    type Meeting<'b>
        = &'b Instance
    where
        Self: 'b;

    fn members(&self, instance: &&Instance) -> usize {
        instance.members.len()
    }

    fn member(&self, instance: &&Instance, place: usize) -> Member {
        let member = instance.members.at(place);
        let of = &self.ranks[member.rank()];
        let (is_needed, needs) = role(member.collective(), &self.matched.groups[instance.group], of);
        Member::of(&Stay { is_needed, needs, ..Stay::of(member.rank(), 0, 0) })
    }

    fn is_in_step(&self, tile: &[&Instance]) -> bool {
        Stretch::of(tile.iter().copied()).is_some()
    }

    fn stamps(&self, tile: &[&Instance], place: usize, room: &mut Room, entered_ns: &mut [i64], left_ns: &mut [i64]) {
        let cells = entered_ns.iter_mut().zip(left_ns);
        let Room { places, starts_ns, stays_ns } = room;
        if let Some(stretch) = Stretch::of(tile.iter().copied()) {
            stretch.places(place, places);
            self.ranks[stretch.rank(place)].collectives.gather(places, starts_ns, stays_ns);
            for ((entered_ns, left_ns), (start_ns, stay_ns)) in cells.zip(starts_ns.iter().zip(&*stays_ns)) {
                *entered_ns = start_ns.cast_signed();
                *left_ns = start_ns.wrapping_add(*stay_ns).cast_signed();
            }
            return;
        }
        for ((entered_ns, left_ns), instance) in cells.zip(tile) {
            let member = instance.members.at(place);
            (*entered_ns, *left_ns) = self.ranks[member.rank()].collectives.stamps_ns(member.collective());
        }
    }
}

impl Meetings {
    /// Numbers them by `key`; those of one key stay in order.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&Meeting<'_>) -> K) {
        let mut sorted: Vec<u32> = (0..self.len() as u32).collect();
        sorted.sort_by_cached_key(|at| key(&self.get(*at as usize)));
        self.shortest_ns = sorted.iter().map(|at| self.shortest_ns[*at as usize]).collect();
        self.order = sorted.into_iter().map(|at| self.order[at as usize]).collect();
        for (at, (block, row)) in (0..).zip(&self.order) {
            self.at[self.blocks[*block as usize].at.start + *row as usize] = at;
        }
        for block in 0..self.blocks.len() {
            self.sort_rows(block);
        }
    }

    /// Puts the rows of a block in the order of their numbers.
    fn sort_rows(&mut self, block: usize) {
        let Place { members, at, cells, .. } = self.blocks[block].clone();
        if self.at[at.clone()].is_sorted() {
            return;
        }
        let mut rows: Vec<usize> = (0..at.len()).collect();
        rows.sort_unstable_by_key(|row| self.at[at.start + row]);
        let mut column = Vec::with_capacity(rows.len());
        for stamps in [&mut self.entered_ns, &mut self.left_ns] {
            for own in stamps[cells..cells + members.len() * rows.len()].chunks_exact_mut(rows.len()) {
                column.clear();
                column.extend(rows.iter().map(|row| own[*row]));
                own.copy_from_slice(&column);
            }
        }
        self.at[at.clone()].sort_unstable();
        for (row, at) in (0..).zip(&self.at[at]) {
            self.order[*at as usize] = (block as u32, row);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The one of this number.
    pub(crate) fn get(&self, at: usize) -> Meeting<'_> {
        let (block, row) = self.order[at];
        Meeting { block: self.block(block as usize), row: row as usize }
    }

    /// All of them, in order.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = Meeting<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// By number, how short each was.
    pub(crate) fn shortest_ns(&self) -> &[i64] {
        &self.shortest_ns
    }

    fn found_shortest_ns(&self) -> Vec<i64> {
        let mut shortest_ns = vec![0; self.len()];
        let mut of_rows = Vec::new();
        for block in self.blocks() {
            of_rows.clear();
            of_rows.resize(block.at.len(), i64::MAX);
            for place in 0..block.members.len() {
                for (shortest, (end, start)) in of_rows.iter_mut().zip(block.left_ns(place).iter().zip(block.entered_ns(place)))
                {
                    *shortest = (*shortest).min(end.saturating_sub(*start));
                }
            }
            block.at.iter().zip(&of_rows).for_each(|(at, shortest)| shortest_ns[*at as usize] = *shortest);
        }
        shortest_ns
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        (0..self.blocks.len()).map(|block| self.block(block))
    }

    /// By rank its blocks, by their places, and where it stands among their members.
    pub(crate) fn blocks_by_rank(&self, ranks: usize) -> Vec<Vec<(u32, u32)>> {
        let mut by_rank = vec![Vec::new(); ranks];
        for (at, block) in (0..).zip(self.blocks()) {
            (0..).zip(block.members).for_each(|(place, member)| by_rank[member.rank()].push((at, place)));
        }
        by_rank
    }

    /// The block at this place.
    pub(crate) fn block(&self, at: usize) -> Block<'_> {
        let Place { members, at, cells, is_tame } = &self.blocks[at];
        let cells = *cells..cells + members.len() * at.len();
        Block {
            members: &self.members[members.clone()],
            at: &self.at[at.clone()],
            entered_ns: &self.entered_ns[cells.clone()],
            left_ns: &self.left_ns[cells],
            apart: at.len(),
            is_tame: *is_tame,
        }
    }
}

/// Whether a rank is needed by others in its collective at `at`, and whether it needs others.
fn role(at: usize, group: &Group, of: &RankCollectives) -> (bool, bool) {
    let is_root = || of.collectives.peer(at).map(|root| group.global(root) == of.rank);
    match of.collectives.operation(at).kind {
        kind if kind.needs_all() => (true, true),
        Kind::Send => (true, false),
        Kind::Recv => (false, true),
        Kind::Broadcast | Kind::Scatter => is_root().map_or((false, false), |root| (root, !root)),
        Kind::Reduce | Kind::Gather => is_root().map_or((false, false), |root| (!root, root)),
        _ => (false, false),
    }
}

#[cfg(test)]
mod tests;
