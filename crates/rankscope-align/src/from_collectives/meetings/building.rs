//! Meetings out of instances: which blocks there are, and each stamp in its column.
//!
//! Two ways through all stamps, one to find the blocks and one to fill them, as nothing is to be there twice. Instances one after the
//! other are mostly of the same ranks; so a few are taken together and gone through rank by rank, because a rank's stamps lie beside
//! each other and those of an instance do not.

use rankscope_scratch::Slots;
use rustc_hash::FxHashMap;

use super::block::are_tame;
use super::{Meetings, Member, Place};

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

    /// Whether the stamps of each member in the meetings of `tile` lie together, too.
    fn is_in_step(&self, tile: &[Self::Meeting<'_>]) -> bool;

    /// When the one at `place` entered each meeting of `tile`, and when it left.
    fn stamps(&self, tile: &[Self::Meeting<'_>], place: usize, room: &mut Room, entered_ns: &mut [i64], left_ns: &mut [i64]);
}

/// Room for the stays of one rank in the meetings of a tile.
#[derive(Default)]
pub(super) struct Room {
    pub(super) places: Vec<u64>,
    pub(super) starts_ns: Vec<u64>,
    pub(super) stays_ns: Vec<u64>,
}

/// Which blocks the meetings of a tile are of.
enum Tile {
    /// All of them of this one, one after the other.
    Of(u32),
    /// Each of one of its own.
    Mixed,
}

impl Meetings {
    /// Those in `tiles`, in their order, as `source` tells of them. Meetings of a tile have as many members as each other.
    pub(super) fn of<'b, S: Source>(tiles: &[&[S::Meeting<'b>]], source: &'b S) -> Self {
        let mut meetings = Self::default();
        let mut known = Known::default();
        meetings.order.reserve_exact(tiles.iter().map(|tile| tile.len()).sum());
        let mut kinds = Vec::with_capacity(tiles.len());
        for tile in tiles {
            let Some(first) = tile.first() else { continue };
            known.key.clear();
            let is_uniform = (0..source.members(first)).all(|place| {
                let own = source.member(first, place);
                known.key.push(own);
                tile[1..].iter().all(|other| source.member(other, place) == own)
            });
            if is_uniform {
                let block = known.block();
                tile.iter().for_each(|_| meetings.order.push(known.row(block)));
                kinds.push(Tile::Of(block));
                continue;
            }
            for one in *tile {
                known.key.clear();
                known.key.extend((0..source.members(one)).map(|place| source.member(one, place)));
                let block = known.block();
                meetings.order.push(known.row(block));
            }
            kinds.push(Tile::Mixed);
        }
        meetings.lay_out(known);
        meetings.put_all(tiles, &kinds, source);
        for place in &mut meetings.blocks {
            let cells = place.cells..place.cells + place.members.len() * place.at.len();
            place.is_tame = are_tame(&meetings.entered_ns[cells.clone()]) && are_tame(&meetings.left_ns[cells]);
        }
        meetings.shortest_ns = meetings.found_shortest_ns();
        meetings
    }

    /// Makes room for the blocks that are known.
    fn lay_out(&mut self, known: Known) {
        let mut blocks: Vec<(Vec<Member>, u32)> = known.blocks.into_iter().collect();
        blocks.sort_unstable_by_key(|(_, block)| *block);
        let mut cells = 0;
        for ((members, _), count) in blocks.into_iter().zip(known.counts) {
            let (first, at) = (self.members.len(), self.at.len());
            self.members.extend(members);
            self.at.resize(at + count as usize, 0);
            let place = Place { members: first..self.members.len(), at: at..self.at.len(), cells, is_tame: false };
            cells += place.members.len() * place.at.len();
            self.blocks.push(place);
        }
        self.entered_ns = Slots::zeroed(cells);
        self.left_ns = Slots::zeroed(cells);
    }

    /// Puts the stays of the meetings in `tiles`, which are of these `kinds`, where they belong.
    fn put_all<S: Source>(&mut self, tiles: &[&[S::Meeting<'_>]], kinds: &[Tile], source: &S) {
        let (mut at, mut room) = (0, Columns::default());
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
    fn put<S: Source>(&mut self, at: usize, block: u32, tiles: &[&[S::Meeting<'_>]], source: &S, columns: &mut Columns) {
        let count = tiles.iter().map(|tile| tile.len()).sum();
        let place = &self.blocks[block as usize];
        let (apart, row) = (place.at.len(), self.order[at].1 as usize);
        self.at[place.at.start + row..][..count].iter_mut().zip(at as u32..).for_each(|(own, at)| *own = at);
        let Columns { room, entered_ns, left_ns } = columns;
        entered_ns.resize(count, 0);
        left_ns.resize(count, 0);
        for member in 0..place.members.len() {
            let mut from = 0;
            for tile in tiles {
                let own = from..from + tile.len();
                source.stamps(tile, member, room, &mut entered_ns[own.clone()], &mut left_ns[own.clone()]);
                from = own.end;
            }
            let first = place.cells + member * apart + row;
            self.entered_ns.put(first, entered_ns);
            self.left_ns.put(first, left_ns);
        }
    }
}

/// Tiles that are put at once, at most, where ranks are in step: a few pages of each member.
const TILES: usize = 64;

/// Stamps of one member, before they are put.
#[derive(Default)]
struct Columns {
    room: Room,
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
}

/// Blocks as they are found.
#[derive(Default)]
struct Known {
    /// By their members, their numbers.
    blocks: FxHashMap<Vec<Member>, u32>,
    /// How many meetings each has so far.
    counts: Vec<u32>,
    /// The members that are looked for.
    key: Vec<Member>,
}

impl Known {
    /// The block of the members that are looked for.
    fn block(&mut self) -> u32 {
        let known = self.blocks.get(&self.key).copied();
        known.unwrap_or_else(|| {
            self.blocks.insert(self.key.clone(), self.counts.len() as u32);
            self.counts.push(0);
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

    fn is_in_step(&self, _: &[Vec<super::Stay>]) -> bool {
        true
    }

    fn stamps(&self, tile: &[Vec<super::Stay>], place: usize, _: &mut Room, entered_ns: &mut [i64], left_ns: &mut [i64]) {
        for ((stays, entered_ns), left_ns) in tile.iter().zip(entered_ns).zip(left_ns) {
            (*entered_ns, *left_ns) = (stays[place].start_ns, stays[place].end_ns);
        }
    }
}

#[cfg(test)]
impl FromIterator<Vec<super::Stay>> for Meetings {
    fn from_iter<I: IntoIterator<Item = Vec<super::Stay>>>(meetings: I) -> Self {
        let meetings: Vec<Vec<super::Stay>> = meetings.into_iter().collect();
        let tiles: Vec<&[Vec<super::Stay>]> =
            meetings.chunk_by(|a, b| a.len() == b.len()).flat_map(|alike| alike.chunks(TILE)).collect();
        Self::of(&tiles, &Listed)
    }
}
