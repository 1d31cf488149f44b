//! When each clock saw the end of each meeting: the median of its ranks.
//!
//! Blocks of meetings are of the same ranks and so of the same clocks. Of a clock of which one rank takes part the ends are that
//! rank's column as it is; only of several ranks a column is made.

use std::ops::{Range, RangeInclusive};

use super::meetings::{Block, Meetings, Room};
use super::sharing::SharedClock;
use super::ties::{EndPair, Line, median_in};

/// The ends that clocks saw, block by block.
pub(super) struct Ends<'a> {
    meetings: &'a Meetings<'a>,
    /// By meeting, how short it was.
    shortest_ns: &'a [i64],
    /// By block, where its clocks stand.
    places: Vec<Range<usize>>,
    /// The clocks of each block, ascending, and where the ends of each are.
    clocks: Vec<(u32, Column)>,
    /// Ends of clocks of which several ranks take part.
    middles_ns: Vec<i64>,
    /// By clock, its blocks, and its place among the clocks of each.
    of_clock: Vec<Vec<(u32, u32)>>,
    /// By block, the clock that was gone through first, plus 1; no other leads to a further clock.
    gone_through: Vec<u32>,
    /// By clock, the one, plus 1, from which it was last seen.
    marked: Vec<u32>,
}

/// Where a clock's ends in a block are.
#[derive(Clone, Copy)]
enum Column {
    /// Those of the block's member at this place.
    Member(u32),
    /// From here on among the middles.
    Middles(usize),
}

impl<'a> Ends<'a> {
    pub(super) fn of(clocks: &[SharedClock], meetings: &'a Meetings<'a>) -> Self {
        let ranks = clocks.iter().flat_map(|clock| &clock.ranks).max().map_or(0, |most| most + 1);
        let mut clock_of = vec![0; ranks];
        for (at, clock) in (0..).zip(clocks) {
            clock.ranks.iter().for_each(|rank| clock_of[*rank] = at);
        }
        let mut ends = Self {
            meetings,
            shortest_ns: meetings.shortest_ns(),
            places: Vec::new(),
            clocks: Vec::new(),
            middles_ns: Vec::new(),
            of_clock: vec![Vec::new(); clocks.len()],
            gone_through: Vec::new(),
            marked: vec![0; clocks.len()],
        };
        let (mut by_clock, mut rooms): (Vec<(u32, u32)>, _) = Default::default();
        for (at, block) in (0..).zip(meetings.blocks()) {
            by_clock.clear();
            by_clock.extend(block.members.iter().zip(0..).map(|(member, place)| (clock_of[member.rank()], place)));
            by_clock.sort_unstable();
            let first = ends.clocks.len();
            for own in by_clock.chunk_by(|(a, _), (b, _)| a == b) {
                let clock = own[0].0;
                let column = match own {
                    [(_, only)] => Column::Member(*only),
                    several => ends.middles(block, several, &mut rooms),
                };
                ends.of_clock[clock as usize].push((at, (ends.clocks.len() - first) as u32));
                ends.clocks.push((clock, column));
            }
            ends.places.push(first..ends.clocks.len());
        }
        ends.gone_through = vec![0; ends.places.len()];
        ends
    }

    /// The column of the middles of several members' ends.
    fn middles(&mut self, block: Block<'_>, members: &[(u32, u32)], (room, ended_ns): &mut (Room, Vec<i64>)) -> Column {
        let first = self.middles_ns.len();
        let mut own = Vec::with_capacity(members.len());
        self.middles_ns.reserve(block.at.len());
        for block in block.in_runs(MIDDLED) {
            ended_ns.clear();
            members.iter().for_each(|(_, place)| ended_ns.extend(block.column(*place as usize, room).left_ns));
            for row in 0..block.at.len() {
                own.clear();
                own.extend(ended_ns[row..].iter().step_by(block.at.len()));
                // There are two ranks at least.
                self.middles_ns.push(median_in(&mut own).unwrap_or(0));
            }
        }
        Column::Middles(first)
    }

    /// The ends of the clock at `place` of the block at `block`.
    fn ended_ns<'b>(&'b self, block: usize, place: usize, room: &'b mut Room) -> &'b [i64] {
        let of = self.meetings.block(block);
        match self.clocks[self.places[block].start + place].1 {
            Column::Member(place) => of.column(place as usize, room).left_ns,
            Column::Middles(first) => &self.middles_ns[first..first + of.at.len()],
        }
    }

    /// Marks the blocks of `from` that nobody has gone through yet as its own.
    pub(super) fn go_through(&mut self, from: usize) {
        for (block, _) in &self.of_clock[from] {
            let first = &mut self.gone_through[*block as usize];
            if *first == 0 {
                *first = from as u32 + 1;
            }
        }
    }

    /// The blocks of `clock` that `from` was the first to go through, and its place in each.
    fn led_from(&self, from: usize, clock: usize) -> impl Iterator<Item = (usize, usize)> {
        let blocks = self.of_clock[clock].iter().map(|(block, place)| (*block as usize, *place as usize));
        blocks.filter(move |(block, _)| self.gone_through[*block] == from as u32 + 1)
    }

    /// The clocks that are not `reached` yet and that such meetings lead to, ascending. Those are reached from here, so no block is
    /// gone through twice.
    pub(super) fn shared(&mut self, from: usize, reached: &[bool]) -> Vec<usize> {
        let (mut shared, mark) = (Vec::new(), from as u32 + 1);
        for (block, _) in &self.of_clock[from] {
            if self.gone_through[*block as usize] != mark {
                continue;
            }
            for (clock, _) in &self.clocks[self.places[*block as usize].clone()] {
                let clock = *clock as usize;
                if !reached[clock] && std::mem::replace(&mut self.marked[clock], mark) != mark {
                    shared.push(clock);
                }
            }
        }
        shared.sort_unstable();
        shared
    }

    /// The ends that `from`, which is `line` ahead, shares with `to` in such meetings, in the meetings' order.
    pub(super) fn pairs(&self, from: usize, line: Line, to: usize, rooms: &mut [Room; 2]) -> Vec<EndPair> {
        let pair = |at: u32, own_ns: i64, end_ns: i64| EndPair {
            shortest_ns: self.shortest_ns[at as usize],
            at_ns: own_ns.saturating_sub(line.at(own_ns)),
            difference_ns: end_ns.saturating_sub(own_ns),
        };
        let place_of = |block: usize| {
            let clocks = &self.clocks[self.places[block].clone()];
            clocks.binary_search_by_key(&(from as u32), |(clock, _)| *clock).ok()
        };
        let shared: Vec<(usize, usize, usize)> =
            self.led_from(from, to).filter_map(|(block, place)| Some((block, place_of(block)?, place))).collect();
        let mut of_block = |(block, own, other): &(usize, usize, usize), take: &mut dyn FnMut(u32, i64, i64)| {
            let [room, other_room] = &mut *rooms;
            let columns = self.ended_ns(*block, *own, room).iter().zip(self.ended_ns(*block, *other, other_room));
            self.meetings.block(*block).at.iter().zip(columns).for_each(|(at, (own_ns, end_ns))| take(*at, *own_ns, *end_ns));
        };
        let mut pairs = Vec::new();
        if let [only] = shared.as_slice() {
            pairs.reserve_exact(self.meetings.block(only.0).at.len());
            of_block(only, &mut |at, own_ns, end_ns| pairs.push(pair(at, own_ns, end_ns)));
            return pairs;
        }
        let mut all: Vec<(u32, i64, i64)> = Vec::new();
        shared.iter().for_each(|shared| of_block(shared, &mut |at, own_ns, end_ns| all.push((at, own_ns, end_ns))));
        all.sort_unstable();
        pairs.extend(all.into_iter().map(|(at, own_ns, end_ns)| pair(at, own_ns, end_ns)));
        pairs
    }
}

/// Meetings of which the middles of ends are found at a time.
const MIDDLED: RangeInclusive<usize> = 256..=2_048;
