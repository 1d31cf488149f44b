//! Collectives found on more than one rank, as stays that constrain each other.
//!
//! Nobody leaves before those have entered that it needs. In an all-reduce everybody needs everybody. A broadcast, a scatter and
//! a send hand something from one rank to others, a reduction and a gather bring it to one: there the constraint holds in one
//! direction, and only where the root is known. A kernel that does not say what it does constrains nobody; its ends may still
//! agree. Collectives done by copy engines have no kernel, so none of them is here.
//!
//! Stamps are asked for in columns: where the same ranks met again and again, when each of them came, and when it left. How far two ranks'
//! clocks can be apart is a least difference of two columns, and there are as many of those as pairs of ranks.

mod block;
mod building;
mod stamps;

use std::ops::Range;

use rankscope_collectives::{Group, Instance, Kind, Matched, RankCollectives, Stretch};
use rankscope_scratch::Slots;

use block::are_tame;
pub(crate) use block::{Block, Column, Meeting, Member, Moved};
use building::{Source, TILE};
pub(crate) use stamps::Room;
use stamps::{Stamps, Where, joined};

use crate::pairs::DENSE_RANKS_MAX;

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
pub(crate) struct Meetings<'a> {
    ranks: &'a [RankCollectives],
    /// Those of the same ranks in the same roles.
    blocks: Vec<Place<'a>>,
    members: Vec<Member>,
    /// By block the numbers of its meetings, ascending.
    at: Vec<u32>,
    /// Of blocks that are copied, by block and member when it entered each of them, and when it left.
    entered_ns: Slots<i64>,
    left_ns: Slots<i64>,
    /// By number, the block and the row in it.
    order: Vec<(u32, u32)>,
    /// By number, how short each was.
    shortest_ns: Vec<i64>,
}

/// Where the columns of a block stand.
#[derive(Clone, Debug)]
struct Place<'a> {
    members: Range<usize>,
    at: Range<usize>,
    stamps: Where<'a>,
    is_tame: bool,
}

/// All collectives found on more than one rank.
pub(crate) fn meetings<'a>(ranks: &'a [RankCollectives], matched: &'a Matched) -> Meetings<'a> {
    // Of few ranks each is compared with all others, and stamps are asked for as often.
    meetings_by(&OfInstances { ranks, matched, reads_columns: ranks.len() > DENSE_RANKS_MAX, all_wait: all_wait(ranks) })
}

fn meetings_by<'a>(source: &OfInstances<'a>) -> Meetings<'a> {
    let OfInstances { ranks, matched, .. } = *source;
    let together: Vec<&Instance> = matched.instances.iter().filter(|instance| instance.members.len() > 1).collect();
    let many = |instance: &&Instance| (instance.group, instance.members.len());
    let alike = together.chunk_by(|a, b| many(a) == many(b)).flat_map(|alike| alike.chunks(TILE));
    let tiles: Vec<&[&Instance]> = alike.collect();
    Meetings::of(&tiles, source, ranks)
}

/// Instances as they are told by the ranks that took part.
struct OfInstances<'a> {
    ranks: &'a [RankCollectives],
    matched: &'a Matched,
    /// Whether what ranks in step did is read in their columns, and not copied.
    reads_columns: bool,
    /// By rank, whether everybody needs everybody in all that it did.
    all_wait: Vec<bool>,
}

/// By rank, whether everybody needs everybody in all that it did: then it has one role.
fn all_wait(ranks: &[RankCollectives]) -> Vec<bool> {
    ranks.iter().map(|rank| !rank.collectives.may_have(|kind| !kind.needs_all())).collect()
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

    fn is_same(&self, tile: &[&Instance], is_in_step: bool, place: usize) -> bool {
        is_in_step && self.all_wait[tile[0].members.rank(place)]
    }

    fn is_in_step(&self, tile: &[&Instance]) -> bool {
        Stretch::of(tile.iter().copied()).is_some()
    }

    fn in_columns<'b>(&self, tile: &[&'b Instance]) -> Option<Stretch<'b>>
    where
        Self: 'b,
    {
        self.reads_columns.then(|| Stretch::of(tile.iter().copied())).flatten()
    }

    fn stamps(&self, tile: &[&Instance], place: usize, room: &mut Room) {
        match Stretch::of(tile.iter().copied()) {
            Some(stretch) => room.add(self.ranks, &stretch, place),
            None => tile.iter().map(|instance| instance.members.at(place)).for_each(|member| {
                room.add_one(self.ranks[member.rank()].collectives.stamps_ns(member.collective()));
            }),
        }
    }
}

impl<'a> Meetings<'a> {
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
        let Place { members, at, stamps, .. } = &mut self.blocks[block];
        if self.at[at.clone()].is_sorted() {
            return;
        }
        let mut rows: Vec<usize> = (0..at.len()).collect();
        rows.sort_unstable_by_key(|row| self.at[at.start + row]);
        match stamps {
            Where::InColumns(stretches) => {
                let each = |stretch: &Stretch<'a>| (0..stretch.len()).map(|at| stretch.part(at..at + 1)).collect::<Vec<_>>();
                let one_by_one: Vec<Stretch<'a>> = stretches.iter().flat_map(each).collect();
                *stretches = joined(rows.iter().map(|row| one_by_one[*row]));
            }
            Where::Copied(cells) => {
                let mut column = Vec::with_capacity(rows.len());
                for stamps in [&mut self.entered_ns, &mut self.left_ns] {
                    for own in stamps[*cells..*cells + members.len() * rows.len()].chunks_exact_mut(rows.len()) {
                        column.clear();
                        column.extend(rows.iter().map(|row| own[*row]));
                        own.copy_from_slice(&column);
                    }
                }
            }
        }
        self.at[at.clone()].sort_unstable();
        for (row, at) in (0..).zip(&self.at[at.clone()]) {
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

    /// Finds how short each of them was, and which blocks are tame.
    fn look_through(&mut self) {
        self.shortest_ns = vec![0; self.len()];
        let (mut of_rows, mut room) = (Vec::new(), Room::default());
        for at in 0..self.blocks.len() {
            let (block, mut is_tame) = (self.block(at), true);
            of_rows.clear();
            of_rows.resize(block.at.len(), i64::MAX);
            for place in 0..block.members.len() {
                let column = block.column(place, &mut room);
                is_tame &= are_tame(&column);
                for (shortest, (end, start)) in of_rows.iter_mut().zip(column.left_ns.iter().zip(column.entered_ns)) {
                    *shortest = (*shortest).min(end.saturating_sub(*start));
                }
            }
            let Place { at, is_tame: found, .. } = &mut self.blocks[at];
            *found = is_tame;
            self.at[at.clone()].iter().zip(&of_rows).for_each(|(at, shortest)| self.shortest_ns[*at as usize] = *shortest);
        }
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
        let Place { members, at, stamps, is_tame } = &self.blocks[at];
        let stamps = match stamps {
            Where::InColumns(stretches) => Stamps::InColumns { ranks: self.ranks, stretches, skipped: 0 },
            Where::Copied(cells) => {
                let cells = *cells..*cells + members.len() * at.len();
                let (entered_ns, left_ns) = (&self.entered_ns[cells.clone()], &self.left_ns[cells]);
                Stamps::Copied { entered_ns, left_ns, apart: at.len() }
            }
        };
        Block { members: &self.members[members.clone()], at: &self.at[at.clone()], stamps, is_tame: *is_tame }
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
