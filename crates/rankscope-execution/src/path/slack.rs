//! Slack: by how much a piece could end later without making its step end later.
//!
//! The step is passed through backwards once. Whatever follows a piece allows it what it has itself, and the time by which it was not
//! the last that was waited for; the end of the step allows what lies between. Lags and lengths stay as they are. Pieces are taken
//! when everything that follows them has been, which does not ask the clocks; where the order of collectives contradicts itself nothing
//! is said of what is before.

use std::cmp::Reverse;

use rankscope_analyze::Waiting;
use rankscope_collectives::Kind;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Path, PathWindow, label};
use crate::{JobExecution, KeyId, Meeting, MeetingId, Participant, PieceId};

/// The least slack of what one operator launched on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastSlack<'j> {
    /// The operator, or the kernel where none is known.
    pub name: &'j str,
    /// Index of the rank.
    pub rank: u32,
    /// The least slack of its pieces, in nanoseconds.
    pub least_ns: i64,
    /// How long they took in all.
    pub ns: i64,
}

/// The device work of `windows`, one a rank at most, that is not on their `path`, with the least slack to the path's end; the `most`
/// scarcest.
pub fn scarcest<'j>(job: &'j JobExecution<'_>, path: &Path, windows: &[PathWindow], most: usize) -> Vec<LeastSlack<'j>> {
    let slacks = Slacks::of(job, path.window.end_ns, windows);
    let on_path: FxHashSet<(u32, &str)> = path.segments.iter().map(|segment| (segment.rank, segment.name(job))).collect();
    let mut found: FxHashMap<(u32, &'j str), (i64, i64)> = FxHashMap::default();
    for own in &slacks.ranks {
        for (name, least) in slacks.of_rank(own) {
            let what = (own.rank, name);
            if least.ns > 0 && !on_path.contains(&what) {
                let known = found.entry(what).or_insert((i64::MAX, 0));
                *known = (known.0.min(least.least_ns), known.1.saturating_add(least.ns));
            }
        }
    }
    let slack = |((rank, name), (least_ns, ns))| LeastSlack { name, rank, least_ns, ns };
    let mut found: Vec<LeastSlack<'j>> = found.into_iter().map(slack).collect();
    found.sort_unstable_by_key(|slack| (slack.least_ns, Reverse(slack.ns), slack.rank, slack.name));
    found.truncate(most);
    found
}

/// The pieces of a step, rank by rank, in one list.
pub(super) struct Slacks<'j, 'a> {
    job: &'j JobExecution<'a>,
    end_ns: i64,
    ranks: Vec<OfRank>,
    /// By index of the rank, where its pieces are in `ranks`.
    places: Vec<Option<usize>>,
    /// By how much the end of each could be later, as far as what follows was looked at.
    slacks_ns: Vec<i64>,
    /// How many of those that follow each were not.
    open: Vec<u32>,
    /// Which are part of a collective in the step.
    takes_part: Vec<bool>,
    /// Participants that are not settled yet, of collectives that have any in the step.
    meetings: FxHashMap<MeetingId, u32>,
    ready: Vec<(u32, PieceId)>,
}

/// The pieces of a rank that start in its window.
struct OfRank {
    rank: u32,
    /// The first of them.
    first: PieceId,
    count: usize,
    /// Where they are in the list.
    from: usize,
    end_ns: i64,
}

/// Of pieces of one name.
#[derive(Clone, Copy)]
struct Least {
    /// Their least slack.
    least_ns: i64,
    /// How long they took in all.
    ns: i64,
}

impl Least {
    const NONE: Self = Self { least_ns: i64::MAX, ns: 0 };

    fn add(&mut self, slack_ns: i64, dur_ns: i64) {
        *self = Self { least_ns: self.least_ns.min(slack_ns), ns: self.ns.saturating_add(dur_ns) };
    }
}

impl<'j, 'a> Slacks<'j, 'a> {
    /// The slack of the pieces in `windows`, one a rank at most, to `end_ns`.
    pub(super) fn of(job: &'j JobExecution<'a>, end_ns: i64, windows: &[PathWindow]) -> Self {
        let (ranks, places) = (Vec::with_capacity(windows.len()), vec![None; job.ranks.len()]);
        let (meetings, ready) = (FxHashMap::default(), Vec::new());
        let (slacks_ns, open, takes_part) = Default::default();
        let mut all = Self { job, end_ns, ranks, places, slacks_ns, open, takes_part, meetings, ready };
        for window in windows {
            all.add(window);
        }
        all.make_room();
        all.count();
        all.settle();
        all
    }

    /// By how much a piece could end later; none of a piece that is not in the step, or before collectives that contradict each other.
    #[cfg(test)]
    pub(super) fn slack_ns(&self, rank: u32, piece: PieceId) -> Option<i64> {
        let at = self.at(rank, piece)?;
        (self.open[at] == 0).then_some(self.slacks_ns[at])
    }

    /// The slack of all device work of the step that takes time on one rank, by what it is called in lists. One name may come twice.
    fn of_rank(&self, own: &OfRank) -> impl Iterator<Item = (&'j str, Least)> {
        let (job, rank, execution) = (self.job, own.rank as usize, self.job.ranks[own.rank as usize]);
        let mut by_key = vec![Least::NONE; execution.keys().len()];
        let mut by_kind: Vec<(Kind, Least)> = Vec::new();
        for (piece, at) in (own.first.0..).map(PieceId).zip(own.from..own.from + own.count) {
            let (key, dur_ns) = (execution.key_of(piece), execution.dur_ns(piece));
            if dur_ns <= 0 || self.open[at] > 0 || execution.key(key).activity.is_host() {
                continue;
            }
            let least = match job.kind_in_meeting(rank, piece) {
                None => &mut by_key[key.0 as usize],
                Some(kind) => {
                    let known = by_kind.iter().position(|(known, _)| *known == kind);
                    let known = known.unwrap_or_else(|| {
                        by_kind.push((kind, Least::NONE));
                        by_kind.len() - 1
                    });
                    &mut by_kind[known].1
                }
            };
            least.add(self.slacks_ns[at], dur_ns);
        }
        let of_key = move |(key, least): (u32, Least)| (label(job, rank, KeyId(key), None), least);
        (0..).zip(by_key).map(of_key).chain(by_kind.into_iter().map(|(kind, least)| (kind.name(), least)))
    }

    fn add(&mut self, window: &PathWindow) {
        let (job, execution) = (self.job, self.job.ranks[window.rank]);
        let start_ns = |id: u32| job.on_job_clock(window.rank, execution.start_ns(PieceId(id)));
        let first = first_that(execution.len() as u32, |id| start_ns(id) >= window.start_ns);
        let until = first_that(execution.len() as u32, |id| start_ns(id) > window.end_ns);
        let from = self.ranks.last().map_or(0, |before| before.from + before.count);
        self.places[window.rank] = Some(self.ranks.len());
        let count = (until - first) as usize;
        self.ranks.push(OfRank { rank: window.rank as u32, first: PieceId(first), count, from, end_ns: window.end_ns });
    }

    /// Lists the pieces of all ranks, which allow what lies between their end and that of the step. A list that grew would take twice that.
    fn make_room(&mut self) {
        let count = self.ranks.last().map_or(0, |last| last.from + last.count);
        (self.slacks_ns, self.open, self.takes_part) = (Vec::with_capacity(count), vec![0; count], vec![false; count]);
        for own in &self.ranks {
            let execution = self.job.ranks[own.rank as usize];
            let left_ns = |id: u32| {
                let end_ns = self.job.on_job_clock(own.rank as usize, execution.end_ns(PieceId(id)));
                self.end_ns.saturating_sub(end_ns).max(0)
            };
            self.slacks_ns.extend((own.first.0..).take(own.count).map(left_ns));
        }
    }

    /// Counts what follows each piece.
    fn count(&mut self) {
        for place in 0..self.ranks.len() {
            let OfRank { rank, first, count, from, .. } = self.ranks[place];
            for (id, own) in (first.0..).map(PieceId).zip(from..from + count) {
                for (before, _) in self.job.ranks[rank as usize].dependencies(id) {
                    if let Some(at) = self.at(rank, before) {
                        self.open[at] += 1;
                    }
                }
                if let Some(meeting) = self.meeting(rank, id) {
                    *self.meetings.entry(meeting).or_default() += 1;
                    self.takes_part[own] = true;
                }
            }
        }
        for own in &self.ranks {
            let last = |at: &usize| self.open[own.from + at] == 0;
            self.ready.extend((0..own.count).filter(last).map(|at| (own.rank, PieceId(own.first.0 + at as u32))));
        }
    }

    /// Where a piece is in the list.
    fn at(&self, rank: u32, piece: PieceId) -> Option<usize> {
        let own = &self.ranks[self.places[rank as usize]?];
        let at = piece.0.checked_sub(own.first.0)? as usize;
        (at < own.count).then_some(own.from + at)
    }

    /// The collective that a piece of the step is part of. What starts when the step ends is of the next one.
    fn meeting(&self, rank: u32, piece: PieceId) -> Option<MeetingId> {
        self.job.meeting(rank as usize, piece).filter(|_| self.ends_the_step(rank, piece).is_none())
    }

    /// Whether the rank's step ends with the start of the piece, and how long before the end of the whole that was.
    fn ends_the_step(&self, rank: u32, piece: PieceId) -> Option<i64> {
        let window_end_ns = self.places[rank as usize].map(|place| self.ranks[place].end_ns)?;
        let start_ns = self.job.on_job_clock(rank as usize, self.job.ranks[rank as usize].start_ns(piece));
        (start_ns >= window_end_ns).then(|| self.end_ns.saturating_sub(start_ns).max(0))
    }

    /// The slack of each piece, by way of all that follow it.
    fn settle(&mut self) {
        while let Some((rank, piece)) = self.ready.pop() {
            let Some(at) = self.at(rank, piece) else { continue };
            let meeting = self.takes_part[at].then(|| self.job.meeting(rank as usize, piece)).flatten();
            match meeting {
                Some(meeting) => self.settle_in(meeting),
                None => {
                    let slack_ns = self.ends_the_step(rank, piece).unwrap_or(self.slacks_ns[at]);
                    self.allow(rank, piece, slack_ns);
                }
            }
        }
    }

    /// One more participant of `meeting` is settled. Once all are, they know by how much each of them could come later.
    fn settle_in(&mut self, meeting: MeetingId) {
        let Some(open) = self.meetings.get_mut(&meeting) else { return };
        *open -= 1;
        if *open > 0 {
            return;
        }
        let job = self.job;
        let meeting = job.get(meeting);
        let ends: Vec<i64> = meeting.participants.iter().map(|one| self.end_slack(one)).collect();
        for (one, slack_ns) in meeting.participants.iter().zip(comings(meeting, &ends)) {
            if self.taking_part(one).is_some() {
                self.allow(one.rank, one.piece, slack_ns);
            }
        }
    }

    /// Where a participant's part is in the list, if it is of this step. One that starts when its rank's step ends is settled by itself.
    fn taking_part(&self, one: &Participant) -> Option<usize> {
        self.at(one.rank, one.piece).filter(|at| self.takes_part[*at])
    }

    /// By how much a participant could leave later; one whose part is in another step does not matter.
    fn end_slack(&self, one: &Participant) -> i64 {
        self.taking_part(one).map_or(i64::MAX, |at| self.slacks_ns[at])
    }

    /// `piece` could start later by `slack_ns`. That is passed on to whatever it depends on.
    fn allow(&mut self, rank: u32, piece: PieceId, slack_ns: i64) {
        let execution = self.job.ranks[rank as usize];
        let start_ns = execution.start_ns(piece);
        let all = || execution.dependencies(piece).map(|(before, _)| (before, execution.end_ns(before)));
        // What let it start is the last of them that had ended.
        let bound_ns = all().map(|(_, ended_ns)| ended_ns).filter(|ended_ns| *ended_ns <= start_ns).max();
        for (before, ended_ns) in all() {
            let Some(at) = self.at(rank, before) else { continue };
            self.open[at] -= 1;
            if let Some(bound_ns) = bound_ns.filter(|_| ended_ns <= start_ns) {
                self.slacks_ns[at] = self.slacks_ns[at].min(slack_ns.saturating_add(bound_ns - ended_ns));
            }
            if self.open[at] == 0 {
                self.ready.push((rank, before));
            }
        }
    }
}

/// By how much each participant could come later, where they could leave later by `ends`, in the same order.
fn comings(meeting: &Meeting, ends: &[i64]) -> Vec<i64> {
    let all = &meeting.participants;
    let last_ns = meeting.last().came_ns;
    // Whoever comes before the one that is waited for could come later by the time between.
    let own = |one: &Participant, ready_ns: i64, end_ns: i64| (ready_ns - one.came_ns).saturating_add(end_ns);
    match meeting.waiting {
        Waiting::ForTheLast => {
            let least_ns = ends.iter().copied().min().unwrap_or(i64::MAX);
            all.iter().map(|one| own(one, last_ns, least_ns)).collect()
        }
        Waiting::Pairwise => {
            let waits = |at: usize, other: usize| at == other || all[other].kind != Kind::Send;
            let ready_ns = |at: usize| if all[at].kind == Kind::Send { all[at].came_ns } else { last_ns };
            let least = |(at, one): (usize, &Participant)| {
                let waiting = (0..all.len()).filter(|other| waits(at, *other));
                waiting.map(|other| own(one, ready_ns(other).max(one.came_ns), ends[other])).min().unwrap_or(i64::MAX)
            };
            all.iter().enumerate().map(least).collect()
        }
        Waiting::ForSome => {
            let awaited =
                |one: &Participant| all[..all.partition_point(|other| other.came_ns < one.left_ns)].len().checked_sub(1);
            let mut slack_ns = vec![i64::MAX; all.len()];
            for (at, (one, end_ns)) in all.iter().zip(ends).enumerate() {
                let other = awaited(one).filter(|other| all[*other].came_ns > one.came_ns).unwrap_or(at);
                slack_ns[at] = slack_ns[at].min(own(one, all[other].came_ns, *end_ns));
                slack_ns[other] = slack_ns[other].min(*end_ns);
            }
            slack_ns
        }
    }
}

/// The first of `count` numbers that `holds`, where it holds of all that follow.
fn first_that(count: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}
