//! Collectives found on more than one rank, as stays that constrain each other.
//!
//! Nobody leaves before those have entered that it needs. In an all-reduce everybody needs everybody. A broadcast, a scatter and
//! a send hand something from one rank to others, a reduction and a gather bring it to one: there the constraint holds in one
//! direction, and only where the root is known. A kernel that does not say what it does constrains nobody; its ends may still
//! agree. Collectives done by copy engines have no kernel, so none of them is here.
//!
//! Stamps stand in columns: where the same ranks met again and again, when each of them came, and when it left. How far two ranks' clocks
//! can be apart is a least difference of two columns, and there are as many of those as pairs of ranks.

use std::ops::Range;

use rankscope_collectives::{Group, Kind, LocalCollective, Matched, RankCollectives};
use rustc_hash::FxHashMap;

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
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
    /// By number, the block and the row in it.
    order: Vec<(u32, u32)>,
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

/// A rank, and what the others have to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    rank: u32,
    is_needed: bool,
    needs: bool,
}

/// A collective found on more than one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meeting<'a> {
    block: Block<'a>,
    row: usize,
}

/// Meetings in which the same ranks took part in the same roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Ascending in rank.
    pub(crate) members: &'a [Member],
    /// The numbers of the meetings, ascending.
    pub(crate) at: &'a [u32],
    /// From the first meeting of the first member on, and how far apart those of two members are.
    entered_ns: &'a [i64],
    left_ns: &'a [i64],
    apart: usize,
    /// Whether all stamps are so far from the edges of time that every difference fits.
    is_tame: bool,
}

/// Differences of stamps that are nearer to zero than this fit.
const TAME_NS: u64 = 1 << 62;

impl Member {
    fn of(stay: &Stay) -> Self {
        Self { rank: stay.rank, is_needed: stay.is_needed, needs: stay.needs }
    }

    /// Index of the rank.
    pub(crate) fn rank(self) -> usize {
        self.rank as usize
    }
}

/// All collectives found on more than one rank.
pub(crate) fn meetings(ranks: &[RankCollectives], matched: &Matched) -> Meetings {
    let together: Vec<u32> =
        (0..).zip(&matched.instances).filter(|(_, instance)| instance.members.len() > 1).map(|(at, _)| at).collect();
    Meetings::of(together.len(), |at, stays| {
        let instance = &matched.instances[together[at] as usize];
        let group = &matched.groups[instance.group];
        stays.extend(instance.members.iter().map(|member| {
            let collective = &ranks[member.rank()].collectives[member.collective()];
            let (is_needed, needs) = role(collective, group, &ranks[member.rank()]);
            Stay { is_needed, needs, ..Stay::of(member.rank(), collective.start_ns, collective.end_ns) }
        }));
    })
}

impl Meetings {
    /// So many, of each of which `stays` appends the stays, ascending in rank.
    fn of(count: usize, stays: impl Fn(usize, &mut Vec<Stay>)) -> Self {
        let mut meetings = Self::default();
        let (mut own, mut key): (Vec<Stay>, Vec<Member>) = Default::default();
        let mut known: FxHashMap<Vec<Member>, u32> = FxHashMap::default();
        let mut counts: Vec<u32> = Vec::new();
        meetings.order.reserve_exact(count);
        for at in 0..count {
            own.clear();
            key.clear();
            stays(at, &mut own);
            key.extend(own.iter().map(Member::of));
            let block = known.get(&key).copied().unwrap_or_else(|| {
                known.insert(key.clone(), counts.len() as u32);
                counts.push(0);
                counts.len() as u32 - 1
            });
            meetings.order.push((block, counts[block as usize]));
            counts[block as usize] += 1;
        }
        meetings.lay_out(known, &counts);
        for at in 0..count {
            own.clear();
            stays(at, &mut own);
            meetings.put(at, &own);
        }
        for place in &mut meetings.blocks {
            let cells = place.cells..place.cells + place.members.len() * place.at.len();
            place.is_tame = are_tame(&meetings.entered_ns[cells.clone()]) && are_tame(&meetings.left_ns[cells]);
        }
        meetings
    }

    /// Makes room for blocks of these members, which have so many meetings each.
    fn lay_out(&mut self, known: FxHashMap<Vec<Member>, u32>, counts: &[u32]) {
        let mut known: Vec<(Vec<Member>, u32)> = known.into_iter().collect();
        known.sort_unstable_by_key(|(_, block)| *block);
        let mut cells = 0;
        for ((members, _), count) in known.into_iter().zip(counts) {
            let (first, at) = (self.members.len(), self.at.len());
            self.members.extend(members);
            self.at.resize(at + *count as usize, 0);
            let place = Place { members: first..self.members.len(), at: at..self.at.len(), cells, is_tame: false };
            cells += place.members.len() * place.at.len();
            self.blocks.push(place);
        }
        self.entered_ns = vec![0; cells];
        self.left_ns = vec![0; cells];
    }

    fn put(&mut self, at: usize, stays: &[Stay]) {
        let (block, row) = self.order[at];
        let place = &self.blocks[block as usize];
        let (apart, first) = (place.at.len(), place.cells + row as usize);
        self.at[place.at.start + row as usize] = at as u32;
        for (member, stay) in stays.iter().enumerate() {
            self.entered_ns[first + member * apart] = stay.start_ns;
            self.left_ns[first + member * apart] = stay.end_ns;
        }
    }

    /// Numbers them by `key`; those of one key stay in order.
    pub(crate) fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&Meeting<'_>) -> K) {
        let mut sorted: Vec<u32> = (0..self.len() as u32).collect();
        sorted.sort_by_cached_key(|at| key(&self.get(*at as usize)));
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

    /// How many stays there are in all of them.
    pub(crate) fn stays(&self) -> usize {
        self.entered_ns.len()
    }

    /// The one of this number.
    pub(crate) fn get(&self, at: usize) -> Meeting<'_> {
        let (block, row) = self.order[at];
        Meeting { block: self.block(block as usize), row: row as usize }
    }

    /// All of them, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Meeting<'_>> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// By rank, an empty list with room for as many as it has meetings.
    pub(crate) fn room_for_each<T>(&self, ranks: usize) -> Vec<Vec<T>> {
        let mut counts = vec![0; ranks];
        self.blocks().for_each(|block| block.members.iter().for_each(|member| counts[member.rank()] += block.at.len()));
        counts.into_iter().map(Vec::with_capacity).collect()
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

impl<'a> Meeting<'a> {
    /// Ascending in rank.
    pub(crate) fn stays(&self) -> impl Iterator<Item = Stay> + use<'a> {
        let Self { block, row } = *self;
        let cells = (row..).step_by(block.apart);
        block.members.iter().zip(cells).map(move |(member, cell)| Stay {
            rank: member.rank,
            start_ns: block.entered_ns[cell],
            end_ns: block.left_ns[cell],
            is_needed: member.is_needed,
            needs: member.needs,
        })
    }

    /// The shortest stay: what remained once everybody had come.
    pub(crate) fn shortest_ns(&self) -> i64 {
        self.stays().map(|stay| stay.end_ns.saturating_sub(stay.start_ns)).min().unwrap_or(0)
    }

    /// The earliest end of those who need others, less the latest start of those who are needed: negative where the stamps of the
    /// `chosen` ranks, taken as they are, show an effect before its cause.
    pub(crate) fn slack_ns(&self, chosen: impl Fn(usize) -> bool) -> Option<i64> {
        // A rank's own stay is no constraint; with one that is needed and one that needs, there are two ranks or none.
        let (mut entered, mut left): (Option<i64>, Option<i64>) = (None, None);
        for stay in self.stays().filter(|stay| chosen(stay.rank())) {
            if stay.is_needed {
                entered = entered.max(Some(stay.start_ns));
            }
            if stay.needs {
                left = Some(left.map_or(stay.end_ns, |left| left.min(stay.end_ns)));
            }
        }
        Some(left?.saturating_sub(entered?))
    }
}

impl<'a> Block<'a> {
    /// The stretches of `length` numbers each in which it has meetings, by their numbers, with those meetings.
    pub(crate) fn stretches(self, length: usize) -> impl Iterator<Item = (usize, Self)> {
        self.cut(move |block| {
            let stretch = |at: &u32| *at as usize / length;
            block.at.partition_point(|at| block.at.first().is_some_and(|first| stretch(at) == stretch(first)))
        })
        .map(move |block| (block.at[0] as usize / length, block))
    }

    /// The same in blocks of so many meetings at most.
    pub(crate) fn in_runs(self, rows: usize) -> impl Iterator<Item = Self> {
        self.cut(move |block| block.at.len().min(rows))
    }

    /// The same in blocks, of as many meetings each as `count` says of what is left.
    fn cut(self, count: impl Fn(&Self) -> usize) -> impl Iterator<Item = Self> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let count = Some(count(&rest)).filter(|count| *count > 0)?;
            let own = Self { at: &rest.at[..count], ..rest };
            // Of the last member nothing stands behind its last row.
            let behind = |stamps: &'a [i64]| &stamps[count.min(stamps.len())..];
            let (entered_ns, left_ns) = (behind(rest.entered_ns), behind(rest.left_ns));
            rest = Self { at: &rest.at[count..], entered_ns, left_ns, ..rest };
            Some(own)
        })
    }

    /// The same with other stamps, those of one member behind those of the one before.
    pub(crate) fn with_stamps(self, entered_ns: &'a [i64], left_ns: &'a [i64]) -> Self {
        let is_tame = are_tame(entered_ns) && are_tame(left_ns);
        Self { entered_ns, left_ns, apart: self.at.len(), is_tame, ..self }
    }

    /// When the member at `place` entered each of the meetings.
    pub(crate) fn entered_ns(&self, place: usize) -> &'a [i64] {
        &self.entered_ns[place * self.apart..][..self.at.len()]
    }

    /// When it left.
    pub(crate) fn left_ns(&self, place: usize) -> &'a [i64] {
        &self.left_ns[place * self.apart..][..self.at.len()]
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

/// A least difference is first known to lie within so many rows.
const RUN: usize = 64;

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

/// Whether a rank is needed by others in a collective, and whether it needs others.
fn role(collective: &LocalCollective, group: &Group, of: &RankCollectives) -> (bool, bool) {
    let is_root = || collective.peer.map(|root| group.global(root) == of.rank);
    match collective.kind {
        kind if kind.needs_all() => (true, true),
        Kind::Send => (true, false),
        Kind::Recv => (false, true),
        Kind::Broadcast | Kind::Scatter => is_root().map_or((false, false), |root| (root, !root)),
        Kind::Reduce | Kind::Gather => is_root().map_or((false, false), |root| (!root, root)),
        _ => (false, false),
    }
}

#[cfg(test)]
impl FromIterator<Vec<Stay>> for Meetings {
    fn from_iter<I: IntoIterator<Item = Vec<Stay>>>(meetings: I) -> Self {
        let meetings: Vec<Vec<Stay>> = meetings.into_iter().collect();
        Self::of(meetings.len(), |at, stays| stays.extend(&meetings[at]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Stays of up to five ranks, some of them in few meetings and at the edges of time.
    fn any_meetings() -> impl Strategy<Value = Vec<Vec<Stay>>> {
        let stamp = || prop_oneof![20 => -500i64..500, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
        let stay = (prop::bool::weighted(0.8), stamp(), stamp(), prop::bool::weighted(0.8), prop::bool::weighted(0.8));
        prop::collection::vec(prop::collection::vec(stay, 5), 0..300).prop_map(|all| {
            let of_rank = |(rank, (is_there, start_ns, end_ns, is_needed, needs)): (usize, (bool, i64, i64, bool, bool))| {
                is_there.then(|| Stay { is_needed, needs, ..Stay::of(rank, start_ns, end_ns) })
            };
            all.into_iter().map(|stays| stays.into_iter().enumerate().filter_map(of_rank).collect()).collect()
        })
    }

    /// Of each stretch the tightest that `a` entered and `b` left, and its number.
    fn tightest_by_stretch(meetings: &Meetings, length: usize, (a, b): (usize, usize)) -> Vec<(i64, usize)> {
        let mut found: std::collections::BTreeMap<usize, (i64, usize)> = std::collections::BTreeMap::new();
        for (block, own) in &meetings.blocks_by_rank(5)[a] {
            for (stretch, block) in meetings.block(*block as usize).stretches(length) {
                let other = block.members.iter().position(|member| member.rank() == b);
                let tightest = other.and_then(|other| block.tightest(*own as usize, other));
                let tightest = tightest.map(|(row, ns)| (ns, block.at[row] as usize));
                found
                    .entry(stretch)
                    .and_modify(|known| *known = tightest.map_or(*known, |new| new.min(*known)))
                    .or_insert(tightest.unwrap_or((i64::MAX, usize::MAX)));
            }
        }
        found.into_values().filter(|(ns, _)| *ns < i64::MAX).collect()
    }

    proptest! {
        #[test]
        fn meetings_are_kept_and_sorted(all in any_meetings(), seed in any::<i64>()) {
            let mut meetings: Meetings = all.iter().cloned().collect();
            let key = |stays: &[Stay]| stays.first().map(|stay| stay.start_ns.wrapping_mul(seed) >> 60);
            meetings.sort_by_key(|meeting| key(&meeting.stays().collect::<Vec<_>>()));
            let mut sorted = all;
            sorted.sort_by_key(|stays| key(stays));
            prop_assert_eq!(meetings.iter().map(|meeting| meeting.stays().collect()).collect::<Vec<Vec<_>>>(), sorted);
        }

        /// By looking through all meetings for every pair of ranks and every stretch.
        #[test]
        fn the_tightest_of_a_stretch_is_found_as_from_meeting_to_meeting(all in any_meetings(), length in 1usize..200, seed in any::<i64>()) {
            let mut meetings: Meetings = all.into_iter().collect();
            meetings.sort_by_key(|meeting| meeting.shortest_ns().wrapping_mul(seed) >> 60);
            let all: Vec<Vec<Stay>> = meetings.iter().map(|meeting| meeting.stays().collect()).collect();
            for (a, b) in (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))) {
                let stay = |stays: &[Stay], rank| stays.iter().find(|stay| stay.rank() == rank).copied();
                let mut slowly = Vec::new();
                for (stretch, meetings) in all.chunks(length).enumerate() {
                    let slack = |(at, stays): (usize, &Vec<Stay>)| {
                        let (entered, left) = (stay(stays, a)?, stay(stays, b)?);
                        let slack_ns = left.end_ns.saturating_sub(entered.start_ns);
                        (entered.is_needed && left.needs).then_some((slack_ns, stretch * length + at))
                    };
                    slowly.extend(meetings.iter().enumerate().filter_map(slack).min().filter(|(ns, _)| *ns < i64::MAX));
                }
                prop_assert_eq!(tightest_by_stretch(&meetings, length, (a, b)), slowly, "{} {}", a, b);
            }
        }
    }
}
