//! The stamps of all meetings in columns: where the same ranks met again and again, when each of them came and went.
//!
//! How far two ranks' clocks can be apart is a least difference of two columns, and there are as many of those as pairs of ranks. Down a
//! column it takes no branch and no search for a rank; from meeting to meeting it took both for every pair.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::meetings::{Meeting, Stay};

/// Meetings by who took part.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    blocks: Vec<Place>,
    members: Vec<Member>,
    /// By block the numbers of its meetings, ascending.
    at: Vec<u32>,
    /// By block and member, when it entered each of them, and when it left.
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
    /// By rank, its blocks and where it stands among their members.
    of_rank: Vec<Vec<(u32, u32)>>,
}

/// Where the columns of a block stand.
#[derive(Clone, Debug)]
struct Place {
    stretch: u32,
    members: Range<u32>,
    at: Range<u32>,
    /// Where the first of its stamps is.
    cells: usize,
    is_tame: bool,
}

/// A rank, and what the others have to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    rank: u32,
    /// As of its stay.
    pub(crate) is_needed: bool,
    pub(crate) needs: bool,
}

/// Meetings of one stretch in which the same ranks took part in the same roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Ascending in rank.
    pub(crate) members: &'a [Member],
    /// The numbers of the meetings, ascending.
    pub(crate) at: &'a [u32],
    entered_ns: &'a [i64],
    left_ns: &'a [i64],
    /// Whether all stamps are so far from the edges of time that every difference fits.
    is_tame: bool,
}

/// Differences of stamps that are nearer to zero than this fit.
const TAME_NS: u64 = 1 << 62;

/// A difference is first known to lie within so many meetings.
const RUN: usize = 64;

impl Member {
    fn of(stay: &Stay) -> Self {
        Self { rank: stay.rank, is_needed: stay.is_needed, needs: stay.needs }
    }

    /// Index of the rank.
    pub(crate) fn rank(self) -> usize {
        self.rank as usize
    }
}

impl Columns {
    /// Those of `meetings` between `ranks` ranks, cut into stretches of `length` meetings each.
    pub(crate) fn of(meetings: &[Meeting], ranks: usize, length: usize) -> Self {
        let cells = meetings.iter().map(|meeting| meeting.stays.len()).sum();
        let mut columns = Self {
            at: Vec::with_capacity(meetings.len()),
            entered_ns: vec![0; cells],
            left_ns: vec![0; cells],
            of_rank: vec![Vec::new(); ranks],
            ..Self::default()
        };
        let mut blocks = Blocks::default();
        for (stretch, first) in (0..).zip((0..meetings.len()).step_by(length)) {
            let meetings = &meetings[first..(first + length).min(meetings.len())];
            blocks.group(meetings);
            columns.add(stretch, first, meetings, &blocks);
        }
        columns
    }

    /// Adds the `meetings` of one stretch, the first of which has the number `first`.
    fn add(&mut self, stretch: u32, first: usize, meetings: &[Meeting], blocks: &Blocks) {
        for own in &blocks.meetings {
            let Some(stays) = own.first().map(|at| &meetings[*at as usize].stays) else { continue };
            let (block, from) = (self.blocks.len() as u32, self.members.len() as u32);
            let cells = self.blocks.last().map_or(0, |last| last.cells + last.members.len() * last.at.len());
            self.members.extend(stays.iter().map(Member::of));
            (0..).zip(stays).for_each(|(place, stay)| self.of_rank[stay.rank()].push((block, place)));
            for (row, at) in own.iter().enumerate() {
                for (place, stay) in meetings[*at as usize].stays.iter().enumerate() {
                    self.entered_ns[cells + place * own.len() + row] = stay.start_ns;
                    self.left_ns[cells + place * own.len() + row] = stay.end_ns;
                }
            }
            let before = self.at.len() as u32;
            self.at.extend(own.iter().map(|at| first as u32 + at));
            let (members, at) = (from..self.members.len() as u32, before..self.at.len() as u32);
            let is_tame = are_tame(&self.entered_ns[cells..][..stays.len() * own.len()])
                && are_tame(&self.left_ns[cells..][..stays.len() * own.len()]);
            self.blocks.push(Place { stretch, members, at, cells, is_tame });
        }
    }

    /// All blocks.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.blocks.iter().map(|place| self.block(place))
    }

    /// The blocks of the rank at index `rank`, by stretch, and where it stands among their members.
    pub(crate) fn of_rank(&self, rank: usize) -> impl Iterator<Item = impl Iterator<Item = (Block<'_>, usize)>> {
        let stretch = |(block, _): &(u32, u32)| self.blocks[*block as usize].stretch;
        let stretches = self.of_rank[rank].chunk_by(move |a, b| stretch(a) == stretch(b));
        stretches.map(|own| own.iter().map(|(block, place)| (self.block(&self.blocks[*block as usize]), *place as usize)))
    }

    fn block(&self, place: &Place) -> Block<'_> {
        let range = |range: &Range<u32>| range.start as usize..range.end as usize;
        let cells = place.cells..place.cells + place.members.len() * place.at.len();
        Block {
            members: &self.members[range(&place.members)],
            at: &self.at[range(&place.at)],
            entered_ns: &self.entered_ns[cells.clone()],
            left_ns: &self.left_ns[cells],
            is_tame: place.is_tame,
        }
    }
}

impl<'a> Block<'a> {
    /// The same with other stamps, of which there are as many.
    pub(crate) fn with_stamps(self, entered_ns: &'a [i64], left_ns: &'a [i64]) -> Self {
        Self { entered_ns, left_ns, is_tame: are_tame(entered_ns) && are_tame(left_ns), ..self }
    }

    /// When the member at `place` entered each of the meetings.
    pub(crate) fn entered_ns(&self, place: usize) -> &'a [i64] {
        &self.entered_ns[place * self.at.len()..(place + 1) * self.at.len()]
    }

    /// When it left.
    pub(crate) fn left_ns(&self, place: usize) -> &'a [i64] {
        &self.left_ns[place * self.at.len()..(place + 1) * self.at.len()]
    }

    /// The row of the meeting that the member at `left` left soonest after the one at `entered` had come, and how soon; the first of
    /// several. `None` where the one need not wait for the other, and where it is as long as time lasts.
    pub(crate) fn tightest(&self, entered: usize, left: usize) -> Option<(usize, i64)> {
        if !self.members[entered].is_needed || !self.members[left].needs {
            return None;
        }
        let (entered_ns, left_ns) = (self.entered_ns(entered), self.left_ns(left));
        if self.is_tame {
            least(left_ns, entered_ns, i64::wrapping_sub)
        } else {
            least(left_ns, entered_ns, i64::saturating_sub)
        }
    }
}

fn are_tame(stamps_ns: &[i64]) -> bool {
    stamps_ns.iter().fold(0, |most, ns| most.max(ns.unsigned_abs())) < TAME_NS
}

/// Where what each of `ends` is `apart` from that of `starts` is least, and that.
fn least(ends: &[i64], starts: &[i64], apart: impl Fn(i64, i64) -> i64) -> Option<(usize, i64)> {
    let mut found = (0, i64::MAX);
    for (run, (ends, starts)) in ends.chunks(RUN).zip(starts.chunks(RUN)).enumerate() {
        let (ends, last_ends) = ends.as_chunks::<LANES>();
        let (starts, last_starts) = starts.as_chunks::<LANES>();
        // Lanes do not wait for each other.
        let mut lanes = [i64::MAX; LANES];
        for (ends, starts) in ends.iter().zip(starts) {
            for lane in 0..LANES {
                lanes[lane] = lanes[lane].min(apart(ends[lane], starts[lane]));
            }
        }
        let rest = last_ends.iter().zip(last_starts).map(|(end, start)| apart(*end, *start));
        let own = rest.chain(lanes).fold(i64::MAX, i64::min);
        if own < found.1 {
            found = (run * RUN, own);
        }
    }
    let (from, least_ns) = found;
    let mut within = ends.iter().zip(starts).skip(from);
    let at = within.position(|(end, start)| least_ns < i64::MAX && apart(*end, *start) == least_ns)?;
    Some((from + at, least_ns))
}

const LANES: usize = 4;

/// Which meetings of a stretch belong into one block.
#[derive(Default)]
struct Blocks {
    known: FxHashMap<Vec<Member>, usize>,
    /// By block.
    meetings: Vec<Vec<u32>>,
    own: Vec<Member>,
}

impl Blocks {
    fn group(&mut self, meetings: &[Meeting]) {
        self.known.clear();
        self.meetings.clear();
        for (at, meeting) in (0..).zip(meetings) {
            self.own.clear();
            self.own.extend(meeting.stays.iter().map(Member::of));
            let block = match self.known.get(&self.own) {
                Some(block) => *block,
                None => {
                    self.known.insert(self.own.clone(), self.meetings.len());
                    self.meetings.push(Vec::new());
                    self.meetings.len() - 1
                }
            };
            self.meetings[block].push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stays of up to five ranks, some of them in few meetings and at the edges of time.
    fn meetings() -> impl Strategy<Value = Vec<Meeting>> {
        let stamp = || prop_oneof![20 => -500i64..500, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
        let stay = (prop::bool::weighted(0.8), stamp(), stamp(), prop::bool::weighted(0.8), prop::bool::weighted(0.8));
        prop::collection::vec(prop::collection::vec(stay, 5), 0..300).prop_map(|all| {
            let of_rank = |(rank, (is_there, start_ns, end_ns, is_needed, needs)): (usize, (bool, i64, i64, bool, bool))| {
                is_there.then(|| Stay { is_needed, needs, ..Stay::of(rank, start_ns, end_ns) })
            };
            let meeting = |stays: Vec<_>| Meeting { stays: stays.into_iter().enumerate().filter_map(of_rank).collect() };
            all.into_iter().map(meeting).collect()
        })
    }

    proptest! {
        /// By looking through all meetings for every pair of ranks and every stretch.
        #[test]
        fn the_tightest_of_a_stretch_is_found_as_from_meeting_to_meeting(meetings in meetings(), length in 1usize..200) {
            let columns = Columns::of(&meetings, 5, length);
            for (a, b) in (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))) {
                let stay = |meeting: &Meeting, rank| meeting.stays.iter().find(|stay| stay.rank() == rank).copied();
                let mut slowly = Vec::new();
                for (stretch, meetings) in meetings.chunks(length).enumerate() {
                    let pair = |meeting: &Meeting| Some((stay(meeting, a)?, stay(meeting, b)?));
                    let slack = |(at, meeting): (usize, &Meeting)| {
                        let (entered, left) = pair(meeting).filter(|(entered, left)| entered.is_needed && left.needs)?;
                        Some((left.end_ns.saturating_sub(entered.start_ns), stretch * length + at))
                    };
                    slowly.extend(meetings.iter().enumerate().filter_map(slack).min().filter(|(ns, _)| *ns < i64::MAX));
                }
                let place_of = |block: &Block<'_>| block.members.iter().position(|member| member.rank() == b);
                let found = columns.of_rank(a).filter_map(|stretch| {
                    let tightest = stretch.filter_map(|(block, own)| {
                        let (row, ns) = block.tightest(own, place_of(&block)?)?;
                        Some((ns, block.at[row] as usize))
                    });
                    tightest.min()
                });
                prop_assert_eq!(found.collect::<Vec<_>>(), slowly, "{} {}", a, b);
            }
        }
    }
}
