//! All pieces of a job once more, under other lengths.
//!
//! Each rank goes through its pieces in order until one of them depends on a collective that is not over; whoever comes to a
//! collective last lets the others go on. The observed times prove that somebody always can, unless clocks or the matching are
//! wrong: then the collective that was observed first goes on with those who have come, and that is counted.
//!
//! Everything is a delay against what was observed, below zero where it is earlier, so that without changes all delays are zero.
//! What nothing is known to have let start keeps its start.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Scene;
use super::fence::Fence;
use super::lags::{Lags, behind};
use super::lengths::{Lengths, scaled};
use super::meetings::{Gathering, began_ns};
use crate::{Dependency, Execution, JobExecution, MeetingId, PieceId};

/// Not known yet.
const PENDING: i64 = i64::MIN;

/// By how much everything is late.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// By rank and piece: the delay of its end.
    pub(super) ends_ns: Vec<Vec<i64>>,
    /// By rank: the delay of the start of each piece that was asked for.
    pub(super) starts_ns: Vec<Vec<i64>>,
    /// Collectives whose participants waited for each other in a circle.
    pub(super) cycles: u64,
}

/// Runs `scene` under `lengths`; `wanted` are, by rank, the pieces whose starts are asked for, in order.
pub(super) fn run(scene: &Scene<'_>, lags: &[Lags], lengths: &Lengths<'_>, wanted: &[Vec<PieceId>]) -> Delays {
    let job = scene.job;
    let rank = |at: usize| Rank::of(job.ranks[at], Fence::of(lengths.overlap, job.ranks[at], scene.windows(at)));
    let ranks = (0..job.ranks.len()).map(rank).collect();
    let mut run = Run {
        job,
        lags,
        lengths,
        wanted,
        ranks,
        gatherings: FxHashMap::default(),
        stuck: BTreeSet::new(),
        ready: (0..job.ranks.len()).rev().collect(),
        cycles: 0,
    };
    run.all();
    let (mut ends_ns, mut starts_ns) = (Vec::new(), Vec::new());
    for rank in run.ranks {
        ends_ns.push(rank.ends_ns);
        starts_ns.push(rank.starts_ns);
    }
    Delays { ends_ns, starts_ns, cycles: run.cycles }
}

struct Run<'a> {
    job: &'a JobExecution<'a>,
    lags: &'a [Lags],
    lengths: &'a Lengths<'a>,
    wanted: &'a [Vec<PieceId>],
    ranks: Vec<Rank<'a>>,
    /// Collectives that somebody has come to and not everybody has left.
    gatherings: FxHashMap<MeetingId, Gathering>,
    /// Ranks that wait for the end of a collective, by when they were observed to come to it.
    stuck: BTreeSet<(i64, usize)>,
    /// Ranks that can go on.
    ready: Vec<usize>,
    cycles: u64,
}

/// How far one rank is.
struct Rank<'a> {
    execution: &'a Execution,
    ends_ns: Vec<i64>,
    starts_ns: Vec<i64>,
    /// By lane: the delay of the start of its last piece; none before its first.
    of_lane_ns: Vec<i64>,
    /// How many of its collectives it has come to.
    collectives: usize,
    /// How long each of them transfers, where that matters.
    transfers_ns: Vec<i64>,
    fence: Option<Fence>,
    /// The collective whose end it waits for.
    waits_for: Option<PieceId>,
}

impl<'a> Rank<'a> {
    fn of(execution: &'a Execution, fence: Option<Fence>) -> Self {
        let transfers = if fence.is_some() { execution.collective_pieces().len() } else { 0 };
        Self {
            execution,
            ends_ns: Vec::with_capacity(execution.len()),
            starts_ns: Vec::new(),
            of_lane_ns: vec![0; execution.lanes().len()],
            collectives: 0,
            transfers_ns: vec![0; transfers],
            fence,
            waits_for: None,
        }
    }

    fn end_ns(&self, id: PieceId) -> Result<i64, PieceId> {
        Some(self.ends_ns[id.0 as usize]).filter(|late_ns| *late_ns != PENDING).ok_or(id)
    }

    /// The place among the rank's pieces of collectives of `id`, if it is one of those it has come to.
    fn place(&self, id: PieceId) -> Option<usize> {
        self.execution.collective_pieces().binary_search_by_key(&id.0, |(piece, _)| *piece).ok()
    }
}

impl Run<'_> {
    fn all(&mut self) {
        loop {
            while let Some(at) = self.ready.pop() {
                self.advance(at);
            }
            let Some((_, at)) = self.stuck.pop_first() else { break };
            self.cycles += 1;
            self.break_out(at);
        }
    }

    /// The rank at index `at` goes on until it must wait.
    fn advance(&mut self, at: usize) {
        let execution = self.ranks[at].execution;
        while self.ranks[at].ends_ns.len() < execution.len() {
            let id = PieceId(self.ranks[at].ends_ns.len() as u32);
            match self.start_ns(at, id) {
                Ok(late_ns) => self.run_piece(at, id, late_ns),
                Err(pending) => {
                    self.ranks[at].waits_for = Some(pending);
                    let came_ns = self.job.on_job_clock(at, execution.start_ns(pending));
                    self.stuck.insert((came_ns, at));
                    return;
                }
            }
        }
    }

    /// By how much the piece `id` starts later.
    ///
    /// # Errors
    /// The collective whose end is to be known first.
    fn start_ns(&mut self, at: usize, id: PieceId) -> Result<i64, PieceId> {
        let rank = &mut self.ranks[at];
        let mut latest: Option<i64> = None;
        for one in behind(rank.execution, id, &self.lags[at], self.lengths.no_lags(at, id)) {
            let mut late_ns = rank.end_ns(one.piece)?;
            if rank.fence.is_some()
                && one.how == Dependency::Wait
                && let Some(place) = rank.place(one.piece)
            {
                late_ns = late_ns.saturating_sub(rank.transfers_ns[place]);
            }
            latest = latest.max(Some(late_ns.saturating_sub(one.shorter_ns)));
        }
        // Work that overlaps with what is before it in its stream came with it.
        let late_ns = latest.unwrap_or(rank.of_lane_ns[rank.execution.piece(id).lane.0 as usize]);
        let Some(mut fence) = rank.fence.take() else { return Ok(late_ns) };
        let held_ns = fence.holds_ns(rank.execution, id, |piece| rank.end_ns(piece));
        rank.fence = Some(fence);
        Ok(held_ns?.map_or(late_ns, |held_ns| held_ns.max(late_ns)))
    }

    /// The piece `id` starts so much later.
    fn run_piece(&mut self, at: usize, id: PieceId, late_ns: i64) {
        let (job, lengths) = (self.job, self.lengths);
        let rank = &mut self.ranks[at];
        let piece = rank.execution.piece(id);
        rank.of_lane_ns[piece.lane.0 as usize] = late_ns;
        if self.wanted[at].get(rank.starts_ns.len()) == Some(&id) {
            rank.starts_ns.push(late_ns);
        }
        let collective = rank.execution.collective_pieces().get(rank.collectives).filter(|(piece, _)| *piece == id.0);
        let Some((_, collective)) = collective.copied() else {
            let longer_ns = lengths.piece_ns(at, rank.execution, id).saturating_sub(piece.dur_ns);
            rank.ends_ns.push(late_ns.saturating_add(longer_ns));
            return;
        };
        rank.collectives += 1;
        match job.meeting(at, id) {
            Some(meeting) => {
                rank.ends_ns.push(PENDING);
                self.come(meeting, at, id, late_ns);
            }
            None => {
                let transfer_ns = scaled(piece.dur_ns, lengths.transfer(at, id, collective as usize, None));
                rank.ends_ns.push(late_ns.saturating_add(transfer_ns.saturating_sub(piece.dur_ns)));
                rank.transferred(id, transfer_ns);
            }
        }
    }

    /// The rank at index `at` comes to `id`, so much later than it was observed to; whoever waits for nobody any more leaves.
    fn come(&mut self, id: MeetingId, at: usize, piece: PieceId, late_ns: i64) {
        let meeting = self.job.get(id);
        let mut gathering = self.gatherings.remove(&id).unwrap_or_else(|| Gathering::of(meeting));
        gathering.comes(meeting, self.participant(id, at, piece), late_ns);
        while let Some(own) = gathering.next_to_leave() {
            let begins_ns = gathering.begins_ns(meeting, own);
            self.leave(id, own, begins_ns);
        }
        if !gathering.is_over() {
            self.gatherings.insert(id, gathering);
        }
    }

    /// The place of the rank at index `at` among those who take part: they are in order of their coming, then of rank.
    fn participant(&self, id: MeetingId, at: usize, piece: PieceId) -> usize {
        let meeting = self.job.get(id);
        let came_ns = self.job.on_job_clock(at, self.ranks[at].execution.start_ns(piece));
        let found = meeting.participants.binary_search_by_key(&(came_ns, at as u32), |one| (one.came_ns, one.rank));
        found.unwrap_or_else(|near| near.min(meeting.participants.len() - 1))
    }

    /// The participant `own` starts to transfer at `begins_ns` of the job's clock, and its rank goes on.
    fn leave(&mut self, id: MeetingId, own: usize, begins_ns: i64) {
        let meeting = self.job.get(id);
        let one = &meeting.participants[own];
        let at = one.rank as usize;
        if self.ranks[at].ends_ns[one.piece.0 as usize] != PENDING {
            return;
        }
        let seen_ns = one.left_ns.saturating_sub(began_ns(meeting, own));
        let collective = self.ranks[at].execution.collective(one.piece).unwrap_or(0);
        let transfer_ns = scaled(seen_ns, self.lengths.transfer(at, one.piece, collective, Some(id)));
        let rank = &mut self.ranks[at];
        rank.ends_ns[one.piece.0 as usize] = begins_ns.saturating_add(transfer_ns).saturating_sub(one.left_ns);
        rank.transferred(one.piece, transfer_ns);
        if rank.waits_for == Some(one.piece) {
            rank.waits_for = None;
            self.stuck.remove(&(one.came_ns, at));
            self.ready.push(at);
        }
    }

    /// The rank at index `at` waits no longer for those who have not come: they are as late as it is.
    fn break_out(&mut self, at: usize) {
        let Some(piece) = self.ranks[at].waits_for else { return };
        let Some(id) = self.job.meeting(at, piece) else { return };
        let own = self.participant(id, at, piece);
        let late_ns = self.gatherings.get(&id).map_or(0, |gathering| gathering.late_ns(own));
        self.leave(id, own, began_ns(self.job.get(id), own).saturating_add(late_ns));
    }
}

impl Rank<'_> {
    /// Notes how long the collective `id` transfers.
    fn transferred(&mut self, id: PieceId, transfer_ns: i64) {
        if self.fence.is_some()
            && let Some(place) = self.place(id)
        {
            self.transfers_ns[place] = transfer_ns;
        }
    }
}
