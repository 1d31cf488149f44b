//! Meetings of the same ranks in the same roles: their columns, and what is least in them.

use std::ops::RangeInclusive;

use multiversion::multiversion;

use super::Stay;
use super::stamps::{Room, Stamps};

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
    pub(super) block: Block<'a>,
    pub(super) row: usize,
}

/// Meetings in which the same ranks took part in the same roles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Ascending in rank.
    pub(crate) members: &'a [Member],
    /// The numbers of the meetings, ascending.
    pub(crate) at: &'a [u32],
    pub(super) stamps: Stamps<'a>,
    /// Whether all stamps are so far from the edges of time that every difference fits.
    pub(super) is_tame: bool,
}

/// When a member entered each meeting of a block, and when it left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    member: Member,
    pub(crate) entered_ns: &'a [i64],
    pub(crate) left_ns: &'a [i64],
    is_tame: bool,
}

/// The same with all stamps moved.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    entered_ns: Vec<i64>,
    left_ns: Vec<i64>,
    is_tame: bool,
}

/// Stamps of all members of a run of meetings that there is room for.
const STAMPS_AT_ONCE: usize = 1 << 22;

/// Differences of stamps that are nearer to zero than this fit.
const TAME_NS: u64 = 1 << 62;

impl Member {
    pub(super) fn of(stay: &Stay) -> Self {
        Self { rank: stay.rank, is_needed: stay.is_needed, needs: stay.needs }
    }

    /// Index of the rank.
    pub(crate) fn rank(self) -> usize {
        self.rank as usize
    }
}

impl<'a> Meeting<'a> {
    /// Ascending in rank.
    pub(crate) fn stays(&self) -> impl Iterator<Item = Stay> + use<'a> {
        let Self { block, row } = *self;
        block.members.iter().enumerate().map(move |(place, member)| {
            let (start_ns, end_ns) = block.stamps.one(place, row);
            Stay { rank: member.rank, start_ns, end_ns, is_needed: member.is_needed, needs: member.needs }
        })
    }

    /// The shortest stay: what remained once everybody had come.
    #[cfg(test)]
    pub(crate) fn shortest_ns(&self) -> i64 {
        self.stays().map(|stay| stay.end_ns.saturating_sub(stay.start_ns)).min().unwrap_or(0)
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

    /// The same in blocks of at most so many meetings as come to [`STAMPS_AT_ONCE`], and of no fewer and no more than are in `rows`. What is
    /// read of a member at a time should be as much as can be: the next one's stamps are somewhere else, in a file perhaps.
    pub(crate) fn in_runs(self, rows: RangeInclusive<usize>) -> impl Iterator<Item = Self> {
        let most = (STAMPS_AT_ONCE / self.members.len().max(1)).clamp(*rows.start(), *rows.end());
        self.cut(move |block| block.at.len().min(most))
    }

    /// The same in blocks, of as many meetings each as `count` says of what is left.
    fn cut(self, count: impl Fn(&Self) -> usize) -> impl Iterator<Item = Self> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let count = Some(count(&rest)).filter(|count| *count > 0)?;
            let own = Self { at: &rest.at[..count], ..rest };
            rest = Self { at: &rest.at[count..], stamps: rest.stamps.behind(count), ..rest };
            Some(own)
        })
    }

    /// What the member at `place` did. `room` is for what has to be read.
    pub(crate) fn column<'b>(&self, place: usize, room: &'b mut Room) -> Column<'b>
    where
        'a: 'b,
    {
        let (entered_ns, left_ns) = self.stamps.of_member(place, self.at.len(), room);
        Column { member: self.members[place], entered_ns, left_ns, is_tame: self.is_tame }
    }
}

impl<'a> Column<'a> {
    /// When it entered, if anybody needs it.
    pub(crate) fn needed_since(&self) -> Option<&'a [i64]> {
        self.member.is_needed.then_some(self.entered_ns)
    }

    /// When it left, if it needs anybody.
    pub(crate) fn needing_until(&self) -> Option<&'a [i64]> {
        self.member.needs.then_some(self.left_ns)
    }

    /// The row of the meeting that the member of `left` left soonest after this one had come, and how soon; the first of several. `None`
    /// where the one need not wait for the other, and where it is as long as time lasts.
    pub(crate) fn tightest(&self, left: &Self) -> Option<(usize, i64)> {
        let (entered_ns, left_ns) = (self.needed_since()?, left.needing_until()?);
        match self.is_tame && left.is_tame {
            true => place_tame(left_ns, entered_ns),
            false => place(left_ns, entered_ns, i64::saturating_sub),
        }
    }

    /// The same without the row.
    pub(crate) fn tightest_ns(&self, left: &Self) -> Option<i64> {
        let (entered_ns, left_ns) = (self.needed_since()?, left.needing_until()?);
        let least_ns = match self.is_tame && left.is_tame {
            true => least_tame(left_ns, entered_ns),
            false => least(left_ns, entered_ns, i64::saturating_sub),
        };
        Some(least_ns).filter(|least_ns| *least_ns < i64::MAX)
    }
}

impl Moved {
    /// What `column` tells, with each stamp where `to` moves it.
    pub(crate) fn take(&mut self, column: &Column<'_>, to: impl Fn(i64) -> i64) {
        let Self { entered_ns, left_ns, is_tame } = self;
        for (own_ns, stamps_ns) in [(&mut *entered_ns, column.entered_ns), (&mut *left_ns, column.left_ns)] {
            own_ns.clear();
            own_ns.extend(stamps_ns.iter().map(|ns| to(*ns)));
        }
        *is_tame = [entered_ns, left_ns].into_iter().all(|stamps_ns| tame(stamps_ns));
    }

    /// The same of the member that it is of.
    pub(crate) fn column(&self, member: Member) -> Column<'_> {
        Column { member, entered_ns: &self.entered_ns, left_ns: &self.left_ns, is_tame: self.is_tame }
    }
}

/// Whether all stamps of a member are so far from the edges of time that every difference fits.
pub(super) fn are_tame(column: &Column<'_>) -> bool {
    tame(column.entered_ns) && tame(column.left_ns)
}

fn tame(stamps_ns: &[i64]) -> bool {
    stamps_ns.iter().fold(0, |most, ns| most.max(ns.unsigned_abs())) < TAME_NS
}

/// A least difference is first known to lie within so many rows.
const RUN: usize = 64;

/// The least of what each of `ends` is behind that of `starts`, of differences that fit, with the widest instructions that the processor
/// has: it is done for every pair of ranks.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn least_tame(ends: &[i64], starts: &[i64]) -> i64 {
    least(ends, starts, i64::wrapping_sub)
}

/// The same with the row that has it, the first of several.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn place_tame(ends: &[i64], starts: &[i64]) -> Option<(usize, i64)> {
    place(ends, starts, i64::wrapping_sub)
}

/// The least of what each of `ends` is `apart` from that of `starts`.
#[inline(always)]
fn least(ends: &[i64], starts: &[i64], apart: impl Fn(i64, i64) -> i64) -> i64 {
    // No closure goes round it: the library's own loops do not have the instructions that this may be made with.
    let mut least = i64::MAX;
    for (end, start) in ends.iter().zip(starts) {
        least = least.min(apart(*end, *start));
    }
    least
}

/// Where that is, the first of several, and how much; `None` where it is as long as time lasts.
#[inline(always)]
fn place(ends: &[i64], starts: &[i64], apart: impl Fn(i64, i64) -> i64) -> Option<(usize, i64)> {
    let (runs, last_ends) = ends.as_chunks::<RUN>();
    let (runs_too, last_starts) = starts.as_chunks::<RUN>();
    let mut found = (0, i64::MAX);
    for (run, (ends, starts)) in runs.iter().zip(runs_too).enumerate() {
        let own = least(ends, starts, &apart);
        if own < found.1 {
            found = (run * RUN, own);
        }
    }
    let own = least(last_ends, last_starts, &apart);
    if own < found.1 {
        found = (runs.len() * RUN, own);
    }
    let (from, least_ns) = found;
    let mut within = ends.iter().zip(starts).skip(from);
    let at = within.position(|(end, start)| least_ns < i64::MAX && apart(*end, *start) == least_ns)?;
    Some((from + at, least_ns))
}
