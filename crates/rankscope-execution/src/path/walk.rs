//! The walk back from the end of a window to its start.

use rustc_hash::FxHashSet;

use super::ends::At;
use super::{Path, PathClass, PathEnd, PathWindow, Segment};
use crate::{Activity, Dependency, JobExecution, KeyId, LaneKind, MeetingId, Participant, PieceId};

/// Walks back through `window` from `from`.
pub(super) fn walk(job: &JobExecution<'_>, window: PathWindow, from: Option<At>) -> Path {
    let segments = Vec::new();
    let mut walk =
        Walk { job, window, rank: window.rank, now_ns: window.end_ns, segments, hops: 0, seen: FxHashSet::default() };
    let mut end = PathEnd::Whole;
    let mut at = from.ok_or(PathEnd::NothingKnown(window.rank as u32));
    while walk.now_ns > window.start_ns {
        at = match at {
            Ok(At::In(piece)) => walk.through(piece),
            Ok(At::Before(piece)) => walk.before(piece),
            Err(why) => {
                end = why;
                walk.push(window.start_ns, PathClass::Unknown, None, None);
                Err(why)
            }
        };
    }
    walk.segments.reverse();
    Path { window, segments: walk.segments, hops: walk.hops, end }
}

struct Walk<'j, 'a> {
    job: &'j JobExecution<'a>,
    window: PathWindow,
    /// Index of the rank the walk is on.
    rank: usize,
    /// How far back it has come, on the job's clock.
    now_ns: i64,
    /// What it went through, last first.
    segments: Vec<Segment>,
    hops: u64,
    /// Where it was: by rank, piece.
    seen: FxHashSet<(u32, PieceId)>,
}

impl Walk<'_, '_> {
    /// From within `piece`, or its end, to its start, or to the rank that it waited for.
    fn through(&mut self, piece: PieceId) -> Result<At, PathEnd> {
        if !self.seen.insert((self.rank as u32, piece)) {
            return Err(PathEnd::Cycle(self.rank as u32));
        }
        let meeting = self.job.meeting(self.rank, piece);
        let awaited = meeting.and_then(|meeting| self.job.get(meeting).awaited(self.rank as u32)).copied();
        match (meeting, awaited) {
            (Some(meeting), Some(awaited)) if self.seen.insert((awaited.rank, awaited.piece)) => {
                Ok(self.hop(piece, meeting, awaited))
            }
            _ => {
                self.run(piece, meeting);
                Ok(At::Before(piece))
            }
        }
    }

    /// To the start of `piece`, by what its time went to.
    fn run(&mut self, piece: PieceId, meeting: Option<MeetingId>) {
        let execution = self.job.ranks[self.rank];
        let mut begin_ns = execution.start_ns(piece);
        let shares = execution.shares(piece).map(|share| {
            let own_ns = begin_ns;
            begin_ns = begin_ns.saturating_add(share.ns.max(0));
            (own_ns, share.key)
        });
        for (begin_ns, key) in shares.collect::<Vec<_>>().into_iter().rev() {
            let from_ns = self.job.on_job_clock(self.rank, begin_ns);
            self.push(from_ns, class_of(execution.key(key).activity), Some(key), meeting);
        }
    }

    /// From the rank's leaving of a collective to the coming of the rank that it waited for. Time that the clocks put between the two
    /// the wrong way round is theirs.
    fn hop(&mut self, piece: PieceId, meeting: MeetingId, awaited: Participant) -> At {
        let execution = self.job.ranks[self.rank];
        let key = Some(execution.key_of(piece));
        self.push(awaited.came_ns, PathClass::Communication, key, Some(meeting));
        let left_ns = self.job.on_job_clock(self.rank, execution.end_ns(piece));
        self.rank = awaited.rank as usize;
        self.hops += 1;
        let wrong_ns = awaited.came_ns.saturating_sub(left_ns).max(0);
        self.push(self.now_ns.saturating_sub(wrong_ns), PathClass::Clock, None, Some(meeting));
        At::Before(awaited.piece)
    }

    /// From the start of `piece` to the end of what it was bound by.
    fn before(&mut self, piece: PieceId) -> Result<At, PathEnd> {
        let execution = self.job.ranks[self.rank];
        // What a hop led to may have started later than the walk has come back to.
        let (before, how) = execution.bound_by(piece).ok_or(PathEnd::NothingKnown(self.rank as u32))?;
        let ended_ns = self.job.on_job_clock(self.rank, execution.end_ns(before));
        let started = execution.piece(piece);
        let (class, key) = match (how, execution.lane(started.lane).kind) {
            (Dependency::Launch, _) => (PathClass::Launch, Some(started.key)),
            (_, LaneKind::Stream) => (PathClass::DeviceGap, Some(started.key)),
            (_, LaneKind::Thread) => (PathClass::Host, None),
        };
        self.push(ended_ns, class, key, None);
        Ok(At::In(before))
    }

    /// A segment from `from_ns` to where the walk is, within the window.
    fn push(&mut self, from_ns: i64, class: PathClass, key: Option<KeyId>, meeting: Option<MeetingId>) {
        let start_ns = from_ns.max(self.window.start_ns);
        if start_ns < self.now_ns {
            self.segments.push(Segment { rank: self.rank as u32, start_ns, end_ns: self.now_ns, class, key, meeting });
            self.now_ns = start_ns;
        }
    }
}

fn class_of(activity: Activity) -> PathClass {
    match activity {
        Activity::Kernel => PathClass::Compute,
        Activity::Communication => PathClass::Communication,
        Activity::Copy | Activity::Fill => PathClass::Copy,
        _ => PathClass::Host,
    }
}
