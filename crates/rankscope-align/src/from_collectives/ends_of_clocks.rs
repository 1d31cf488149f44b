//! When each clock saw the end of each meeting: the median of its ranks.
//!
//! Blocks of meetings are of the same ranks and so of the same clocks. Of a clock of which one rank takes part the ends are that
//! rank's column as it is; only of several ranks a column is made.

use std::ops::{Range, RangeInclusive};

use super::meetings::{Block, Meetings, Room};
use super::middles::middles_of_rows;
use super::sharing::SharedClock;
use super::shortest::{ENDS_MAX, Ended, keep_some};
use super::ties::Line;

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
        self.middles_ns.reserve(block.at.len());
        for block in block.in_runs(MIDDLED) {
            ended_ns.clear();
            members.iter().for_each(|(_, place)| ended_ns.extend(block.column(*place as usize, room).left_ns));
            middles_of_rows(ended_ns, block.at.len(), &mut self.middles_ns);
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

    /// Ends that `from`, which is `line` ahead, shares with `to` in such meetings, at most [`ENDS_MAX`], and what `to` showed more at each.
    pub(super) fn compare<'b>(&self, from: usize, line: Line, to: usize, room: &'b mut Compared) -> (&'b Ended, &'b [i64]) {
        let shared: Vec<(usize, usize)> = self.led_from(from, to).collect();
        let Compared { own, ended_ns, differences_ns, room } = room;
        let blocks = || shared.iter().map(|(block, _)| *block);
        if own.as_ref().is_some_and(|own| own.of != (from, line) || !own.blocks.iter().copied().eq(blocks())) {
            *own = None;
        }
        let own = own.get_or_insert_with(|| self.own((from, line), blocks().collect(), room));
        ended_ns.clear();
        shared.iter().for_each(|(block, place)| ended_ns.extend(self.ended_ns(*block, *place, room)));
        differences_ns.clear();
        let rows = own.rows.iter().zip(&own.ended_ns);
        differences_ns.extend(rows.map(|(row, own_ns)| ended_ns[*row as usize].saturating_sub(*own_ns)));
        (&own.ended, differences_ns)
    }

    /// The ends of a clock, which is so far ahead, in some of its `blocks`.
    fn own(&self, (clock, line): (usize, Line), blocks: Vec<usize>, room: &mut Room) -> Own {
        let (mut numbers, mut ended_ns) = (Vec::new(), Vec::new());
        // Only blocks of the clock's own are gone through from it.
        for (block, place) in self.led_from(clock, clock).filter(|(block, _)| blocks.binary_search(block).is_ok()) {
            numbers.extend(self.meetings.block(block).at);
            ended_ns.extend(self.ended_ns(block, place, room));
        }
        let when = |(row, own_ns): (u32, &i64)| (own_ns.saturating_sub(line.at(*own_ns)), numbers[row as usize], row);
        // Those of one instant in the meetings' order.
        let mut rows: Vec<(i64, u32, u32)> = (0..).zip(&ended_ns).map(when).collect();
        rows.sort_unstable();
        let length_ns = |number: u32| self.shortest_ns[number as usize];
        keep_some(&mut rows, ENDS_MAX, |(_, number, _)| length_ns(*number));
        let at_ns: Vec<i64> = rows.iter().map(|(at_ns, ..)| *at_ns).collect();
        let lengths_ns = rows.iter().map(|(_, number, _)| length_ns(*number)).collect();
        Own {
            of: (clock, line),
            ended: Ended::of(&at_ns, lengths_ns),
            ended_ns: rows.iter().map(|(.., row)| ended_ns[*row as usize]).collect(),
            rows: rows.into_iter().map(|(.., row)| row).collect(),
            blocks,
        }
    }
}

/// Room for comparing clocks. What is found of the one is kept for those that it met in the same blocks.
#[derive(Default)]
pub(super) struct Compared {
    own: Option<Own>,
    /// Of the other, block by block; and what it showed more than the one, in order of time.
    ended_ns: Vec<i64>,
    differences_ns: Vec<i64>,
    room: Room,
}

/// The ends of one clock in some blocks, in order of time.
struct Own {
    /// The clock, and what it is ahead.
    of: (usize, Line),
    blocks: Vec<usize>,
    ended: Ended,
    /// By its own time, and where each stands block by block.
    ended_ns: Vec<i64>,
    rows: Vec<u32>,
}

/// Meetings of which the middles of ends are found at a time.
const MIDDLED: RangeInclusive<usize> = 256..=2_048;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::meetings::Stay;
    use super::super::sharing::by_host;
    use super::super::ties::median_in;
    use super::*;

    proptest! {
        /// From meeting to meeting, for clocks of one rank and of two, which meet in many blocks and at the same instants.
        #[test]
        fn clocks_are_compared_by_all_that_they_share_in_order_of_time(
            all in prop::collection::vec(prop::collection::btree_map(0usize..6, 0i64..40, 2..6), 0..60), offset_ns in -9i64..9
        ) {
            let stay = |(rank, end_ns): (&usize, &i64)| Stay::of(*rank, end_ns - 5 - end_ns % 3, *end_ns);
            let meetings: Meetings<'_> = all.iter().map(|ends| ends.iter().map(stay).collect::<Vec<_>>()).collect();
            let clocks = by_host(&[Some("a"), Some("a"), None, None, Some("b"), Some("b")]);
            let line = Line { offset_ns, ..Line::default() };
            let mut ends = Ends::of(&clocks, &meetings);
            ends.go_through(0);
            let middle_ns = |stays: &[Stay], clock: usize| {
                let own = stays.iter().filter(|stay| clocks[clock].ranks.contains(&stay.rank()));
                median_in(&mut own.map(|stay| stay.end_ns).collect::<Vec<_>>())
            };
            let mut room = Compared::default();
            // There and back: what is kept of the one is found anew where others are met elsewhere.
            for to in [1, 2, 3, 3, 2, 1] {
                let mut slowly: Vec<(i64, i64, i64)> = Vec::new();
                for (stays, shortest_ns) in meetings.iter().map(|one| one.stays().collect::<Vec<_>>()).zip(meetings.shortest_ns()) {
                    let both = middle_ns(&stays, 0).zip(middle_ns(&stays, to));
                    slowly.extend(both.map(|(own, other)| (own - line.at(own), *shortest_ns, other - own)));
                }
                slowly.sort_by_key(|(at_ns, ..)| *at_ns);
                let (ended, differences_ns) = ends.compare(0, line, to, &mut room);
                prop_assert_eq!(differences_ns, slowly.iter().map(|(.., difference)| *difference).collect::<Vec<_>>());
                let (at_ns, lengths_ns) = slowly.iter().map(|(at_ns, length_ns, _)| (*at_ns, *length_ns)).unzip::<_, _, Vec<_>, _>();
                prop_assert_eq!(ended, &Ended::of(&at_ns, lengths_ns));
            }
        }
    }
}
