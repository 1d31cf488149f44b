//! Meetings out of instances: which blocks there are, and each stamp in its column.
//!
//! Two ways through all instances, one to find the blocks and one to fill those that are copied, as nothing is to be there twice. Instances
//! one after the other are mostly of the same ranks; so a few are taken together and gone through rank by rank, because a rank's stamps lie
//! beside each other and those of an instance do not.

use rankscope_collectives::{RankCollectives, Stretch};
use rankscope_scratch::Slots;
use rustc_hash::FxHashMap;

use super::stamps::join;
use super::{Meetings, Member, Place, Room, Where};

/// Meetings that are gone through at a time, member by member: the stamps of a member lie together, those of a meeting do not.
pub(super) const TILE: usize = 64;

/// What tells of meetings who took part in them, and when each came and left. Members ascend in rank.
pub(super) trait Source {
    /// What is a meeting.
    type Meeting<'b>
    where
        Self: 'b;

    /// How many took part.
    fn members(&self, meeting: &Self::Meeting<'_>) -> usize;

    /// The one at `place`.
    fn member(&self, meeting: &Self::Meeting<'_>, place: usize) -> Member;

    /// Whether the one at `place` of all meetings of `tile` is the same in the same role, as far as that is known without a look at each.
    fn is_same(&self, tile: &[Self::Meeting<'_>], is_in_step: bool, place: usize) -> bool;

    /// Whether the stamps of each member in the meetings of `tile` lie together, too.
    fn is_in_step(&self, tile: &[Self::Meeting<'_>]) -> bool;

    /// Where they are in the ranks' columns, if they are to be read there.
    fn in_columns<'b>(&self, tile: &[Self::Meeting<'b>]) -> Option<Stretch<'b>>
    where
        Self: 'b;

    /// Adds to `room` when the one at `place` entered each meeting of `tile`, and when it left.
    fn stamps(&self, tile: &[Self::Meeting<'_>], place: usize, room: &mut Room);
}

/// Which blocks the meetings of a tile are of.
enum Tile {
    /// All of them of this one, one after the other.
    Of(u32),
    /// Each of one of its own.
    Mixed,
}

impl<'a> Meetings<'a> {
    /// Those in `tiles`, in their order, as `source` tells of them, which are of `ranks`. Meetings of a tile have as many members as each
    /// other.
    pub(super) fn of<S: Source + 'a>(tiles: &[&[S::Meeting<'a>]], source: &S, ranks: &'a [RankCollectives]) -> Self {
        let mut meetings = Self { ranks, ..Self::default() };
        let mut known = Known::default();
        meetings.order.reserve_exact(tiles.iter().map(|tile| tile.len()).sum());
        let mut kinds = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let Some(first) = tile.first() else { continue };
            known.key.members.clear();
            let is_in_step = source.is_in_step(tile);
            let is_uniform = (0..source.members(first)).all(|place| {
                let own = source.member(first, place);
                known.key.members.push(own);
                source.is_same(tile, is_in_step, place) || tile[1..].iter().all(|other| source.member(other, place) == own)
            });
            if is_uniform {
                let stretch = source.in_columns(tile);
                known.key.lane = stretch.map(|stretch| stretch.lane());
                let block = known.block();
                stretch.into_iter().for_each(|stretch| join(&mut known.stretches[block as usize], stretch));
                tile.iter().for_each(|_| meetings.order.push(known.row(block)));
                kinds.push(Tile::Of(block));
                continue;
            }
            known.key.lane = None;
            for one in *tile {
                known.key.members.clear();
                known.key.members.extend((0..source.members(one)).map(|place| source.member(one, place)));
                let block = known.block();
                meetings.order.push(known.row(block));
            }
            kinds.push(Tile::Mixed);
        }
        meetings.lay_out(known);
        meetings.put_all(tiles, &kinds, source);
        meetings.look_through();
        meetings
    }

    /// Makes room for the blocks that are known.
    fn lay_out(&mut self, known: Known<'a>) {
        let mut blocks: Vec<(Key, u32)> = known.blocks.into_iter().collect();
        blocks.sort_unstable_by_key(|(_, block)| *block);
        let mut cells = 0;
        for ((Key { members, .. }, _), (count, stretches)) in
            blocks.into_iter().zip(known.counts.into_iter().zip(known.stretches))
        {
            let (first, at) = (self.members.len(), self.at.len());
            self.members.extend(members);
            self.at.resize(at + count as usize, 0);
            let (members, at) = (first..self.members.len(), at..self.at.len());
            let stamps = if !stretches.is_empty() && at.len() >= READ_MIN {
                Where::InColumns(stretches)
            } else {
                let from = cells;
                cells += members.len() * at.len();
                Where::Copied(from)
            };
            self.blocks.push(Place { members, at, stamps, is_tame: false });
        }
        self.entered_ns = Slots::zeroed(cells);
        self.left_ns = Slots::zeroed(cells);
    }

    /// Puts the stays of the meetings in `tiles`, which are of these `kinds`, where they belong.
    fn put_all<S: Source>(&mut self, tiles: &[&[S::Meeting<'_>]], kinds: &[Tile], source: &S) {
        let (mut at, mut room) = (0, Room::default());
        let mut rest: Vec<_> = tiles.iter().copied().filter(|tile| !tile.is_empty()).zip(kinds).collect();
        rest.reverse();
        while let Some((tile, kind)) = rest.pop() {
            let Tile::Of(block) = kind else {
                for one in tile {
                    self.put(at, self.order[at].0, &[std::slice::from_ref(one)], source, &mut room);
                    at += 1;
                }
                continue;
            };
            let goes_on =
                |(next, kind): &(&[_], &Tile)| matches!(kind, Tile::Of(other) if other == block) && source.is_in_step(next);
            let most = if source.is_in_step(tile) { TILES - 1 } else { 0 };
            let more = rest.iter().rev().take(most).take_while(|next| goes_on(next)).count();
            let others = rest.drain(rest.len() - more..).rev().map(|(tile, _)| tile);
            let run: Vec<&[_]> = std::iter::once(tile).chain(others).collect();
            self.put(at, *block, &run, source, &mut room);
            at += run.iter().map(|tile| tile.len()).sum::<usize>();
        }
    }

    /// Puts the stays of the meetings in `tiles`, which are numbered from `at` on, where they belong in `block`.
    fn put<S: Source>(&mut self, at: usize, block: u32, tiles: &[&[S::Meeting<'_>]], source: &S, room: &mut Room) {
        let count: usize = tiles.iter().map(|tile| tile.len()).sum();
        let place = &self.blocks[block as usize];
        let (apart, row) = (place.at.len(), self.order[at].1 as usize);
        self.at[place.at.start + row..][..count].iter_mut().zip(at as u32..).for_each(|(own, at)| *own = at);
        let Where::Copied(cells) = place.stamps else { return };
        for member in 0..place.members.len() {
            room.clear();
            tiles.iter().for_each(|tile| source.stamps(tile, member, room));
            let (entered_ns, left_ns) = room.stamps_ns();
            let first = cells + member * apart + row;
            self.entered_ns.put(first, entered_ns);
            self.left_ns.put(first, left_ns);
        }
    }
}

/// Tiles that are put at once, at most, where ranks are in step: a few pages of each member.
const TILES: usize = 64;

/// Meetings of a block that are read in the ranks' columns, at least: to look a column up takes as long as to read some tens of numbers.
const READ_MIN: usize = 64;

/// Blocks as they are found.
#[derive(Default)]
struct Known<'a> {
    /// Their numbers.
    blocks: FxHashMap<Key, u32>,
    /// How many meetings each has so far.
    counts: Vec<u32>,
    /// Where those are in the ranks' columns, if they may be read there.
    stretches: Vec<Vec<Stretch<'a>>>,
    /// The block that is looked for.
    key: Key,
}

/// What the meetings of a block have in common.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Key {
    members: Vec<Member>,
    /// The ranks' step that they are in, if they may be read in their columns: those of one lane follow each other there.
    lane: Option<usize>,
}

impl Known<'_> {
    /// The block that is looked for.
    fn block(&mut self) -> u32 {
        let known = self.blocks.get(&self.key).copied();
        known.unwrap_or_else(|| {
            self.blocks.insert(self.key.clone(), self.counts.len() as u32);
            self.counts.push(0);
            self.stretches.push(Vec::new());
            self.counts.len() as u32 - 1
        })
    }

    /// One more row of `block`.
    fn row(&mut self, block: u32) -> (u32, u32) {
        let count = &mut self.counts[block as usize];
        *count += 1;
        (block, *count - 1)
    }
}

/// Meetings that are lists of stays.
#[cfg(test)]
struct Listed;

#[cfg(test)]
impl Source for Listed {
    type Meeting<'b> = Vec<super::Stay>;

    fn members(&self, stays: &Vec<super::Stay>) -> usize {
        stays.len()
    }

    fn member(&self, stays: &Vec<super::Stay>, place: usize) -> Member {
        Member::of(&stays[place])
    }

    fn is_same(&self, _: &[Vec<super::Stay>], _: bool, _: usize) -> bool {
        false
    }

    fn is_in_step(&self, _: &[Vec<super::Stay>]) -> bool {
        true
    }

    fn in_columns<'b>(&self, _: &[Vec<super::Stay>]) -> Option<Stretch<'b>> {
        None
    }

    fn stamps(&self, tile: &[Vec<super::Stay>], place: usize, room: &mut Room) {
        tile.iter().for_each(|stays| room.add_one((stays[place].start_ns, stays[place].end_ns)));
    }
}

#[cfg(test)]
impl FromIterator<Vec<super::Stay>> for Meetings<'_> {
    fn from_iter<I: IntoIterator<Item = Vec<super::Stay>>>(meetings: I) -> Self {
        let meetings: Vec<Vec<super::Stay>> = meetings.into_iter().collect();
        let tiles: Vec<&[Vec<super::Stay>]> =
            meetings.chunk_by(|a, b| a.len() == b.len()).flat_map(|alike| alike.chunks(TILE)).collect();
        Self::of(&tiles, &Listed, &[])
    }
}
