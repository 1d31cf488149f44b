//! Where a walk begins: the piece that a window ended with.
//!
//! A step ends when the device starts with the next one, so what its end was bound by is what that first piece was bound by. Where
//! nothing starts just then, the window ended with the piece that ended last before its end, or that still ran.

use std::cmp::Reverse;

use super::PathWindow;
use crate::{JobExecution, LaneKind, PieceId};

/// A place in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// This piece runs, or has just ended.
    In(PieceId),
    /// This piece is about to start.
    Before(PieceId),
}

/// Where the walk of each of `windows` begins, in that order; none where nothing had started by its end.
pub(super) fn ends(job: &JobExecution<'_>, windows: &[PathWindow]) -> Vec<Option<At>> {
    let mut found = vec![None; windows.len()];
    let mut order: Vec<usize> = (0..windows.len()).collect();
    order.sort_by_key(|at| (windows[*at].rank, windows[*at].end_ns));
    for of_rank in order.chunk_by(|a, b| windows[*a].rank == windows[*b].rank) {
        let mut sweep = Sweep::new(job, windows[of_rank[0]].rank);
        for at in of_rank {
            found[*at] = sweep.at(windows[*at].end_ns);
        }
    }
    found
}

/// The last pieces of all lanes of a rank to have started, as time goes on.
struct Sweep<'j, 'a> {
    job: &'j JobExecution<'a>,
    rank: usize,
    next: u32,
    last: Vec<Option<PieceId>>,
}

impl<'j, 'a> Sweep<'j, 'a> {
    fn new(job: &'j JobExecution<'a>, rank: usize) -> Self {
        Self { job, rank, next: 0, last: vec![None; job.ranks[rank].lanes().len()] }
    }

    /// What a window that ends at `end_ns` of the job's clock ended with. Each question is about a later moment.
    fn at(&mut self, end_ns: i64) -> Option<At> {
        let execution = self.job.ranks[self.rank];
        let start_ns = |id: PieceId| self.job.on_job_clock(self.rank, execution.start_ns(id));
        while (self.next as usize) < execution.len() && start_ns(PieceId(self.next)) < end_ns {
            let id = PieceId(self.next);
            let last = &mut self.last[execution.lane_of(id).0 as usize];
            // A piece that ends no later than the one before it in its lane lies within that one.
            if last.is_none_or(|last| execution.end_ns(last) <= execution.end_ns(id)) {
                *last = Some(id);
            }
            self.next += 1;
        }
        let on_stream = |id: &PieceId| execution.lane_kind(*id) == LaneKind::Stream;
        let begins = (self.next..execution.len() as u32).map(PieceId).take_while(|id| start_ns(*id) == end_ns);
        let bound = begins.filter(on_stream).find(|id| execution.bound_by(*id).is_some());
        bound.map(At::Before).or_else(|| {
            let end = |id: PieceId| self.job.on_job_clock(self.rank, execution.end_ns(id));
            let rank = |id: &PieceId| (end(*id).min(end_ns), end(*id) == end_ns, execution.start_ns(*id), Reverse(*id));
            self.last.iter().copied().flatten().max_by_key(rank).map(At::In)
        })
    }
}
