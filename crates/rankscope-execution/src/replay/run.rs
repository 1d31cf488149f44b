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
        stuck: None,
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
    /// Ranks that wait for the end of a collective, by when they were observed to come to it. Only once some wait in a circle it matters who
    /// came first, and they are listed.
    stuck: Option<BTreeSet<(i64, usize)>>,
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
        let transfers = if fence.is_some() { execution.collective_pieces() } else { 0 };
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
}

impl Run<'_> {
    fn all(&mut self) {
        loop {
            while let Some(at) = self.ready.pop() {
                self.advance(at);
            }
            let Some((_, at)) = self.first_stuck() else { break };
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
                    let came_ns = || self.job.on_job_clock(at, execution.start_ns(pending));
                    if let Some(stuck) = &mut self.stuck {
                        stuck.insert((came_ns(), at));
                    }
                    return;
                }
            }
        }
    }

    /// Of the ranks that wait the one that came first to what it waits for, which does so no longer.
    fn first_stuck(&mut self) -> Option<(i64, usize)> {
        let (job, ranks) = (self.job, &self.ranks);
        let waits = |(at, rank): (usize, &Rank<'_>)| Some((job.on_job_clock(at, rank.execution.start_ns(rank.waits_for?)), at));
        self.stuck.get_or_insert_with(|| ranks.iter().enumerate().filter_map(waits).collect()).pop_first()
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
                && let Some(place) = rank.execution.place_of_collective(one.piece)
            {
                late_ns = late_ns.saturating_sub(rank.transfers_ns[place]);
            }
            latest = latest.max(Some(late_ns.saturating_sub(one.shorter_ns)));
        }
        // Work that overlaps with what is before it in its stream came with it.
        let late_ns = latest.unwrap_or(rank.of_lane_ns[rank.execution.lane_of(id).0 as usize]);
        let Some(mut fence) = rank.fence.take() else { return Ok(late_ns) };
        let held_ns = fence.holds_ns(rank.execution, id, |piece| rank.end_ns(piece));
        rank.fence = Some(fence);
        Ok(held_ns?.map_or(late_ns, |held_ns| held_ns.max(late_ns)))
    }

    /// The piece `id` starts so much later.
    fn run_piece(&mut self, at: usize, id: PieceId, late_ns: i64) {
        let (job, lengths) = (self.job, self.lengths);
        let rank = &mut self.ranks[at];
        let dur_ns = rank.execution.dur_ns(id);
        rank.of_lane_ns[rank.execution.lane_of(id).0 as usize] = late_ns;
        if self.wanted[at].get(rank.starts_ns.len()) == Some(&id) {
            rank.starts_ns.push(late_ns);
        }
        let collective = rank.execution.nth_collective(rank.collectives).filter(|(piece, _)| *piece == id);
        let Some((_, collective)) = collective else {
            let longer_ns = lengths.piece_ns(at, rank.execution, id).saturating_sub(dur_ns);
            rank.ends_ns.push(late_ns.saturating_add(longer_ns));
            return;
        };
        rank.collectives += 1;
        match job.seat(at, collective) {
            Some((meeting, place)) => {
                rank.ends_ns.push(PENDING);
                self.come(meeting, place, late_ns);
            }
            None => {
                let transfer_ns = scaled(dur_ns, lengths.transfer(at, id, || collective, None));
                rank.ends_ns.push(late_ns.saturating_add(transfer_ns.saturating_sub(dur_ns)));
                rank.transferred(id, transfer_ns);
            }
        }
    }

    /// The participant `own` comes to the meeting `id`, so much later than it was observed to; whoever waits for nobody any more leaves.
    fn come(&mut self, id: MeetingId, own: usize, late_ns: i64) {
        let meeting = self.job.get(id);
        let gathering = self.gatherings.entry(id).or_insert_with(|| Gathering::of(meeting));
        gathering.comes(meeting, own, late_ns);
        let Some(mut next) = gathering.next_to_leave(meeting) else { return };
        let Some(mut gathering) = self.gatherings.remove(&id) else { return };
        loop {
            let begins_ns = gathering.begins_ns(meeting, next);
            self.leave(id, next, begins_ns);
            match gathering.next_to_leave(meeting) {
                Some(other) => next = other,
                None => break,
            }
        }
        if !gathering.is_over() {
            self.gatherings.insert(id, gathering);
        }
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
        let collective = || self.ranks[at].execution.collective(one.piece).unwrap_or(0);
        let transfer_ns = scaled(seen_ns, self.lengths.transfer(at, one.piece, collective, Some(id)));
        let rank = &mut self.ranks[at];
        rank.ends_ns[one.piece.0 as usize] = begins_ns.saturating_add(transfer_ns).saturating_sub(one.left_ns);
        rank.transferred(one.piece, transfer_ns);
        if rank.waits_for == Some(one.piece) {
            rank.waits_for = None;
            if let Some(stuck) = &mut self.stuck {
                stuck.remove(&(one.came_ns, at));
            }
            self.ready.push(at);
        }
    }

    /// The rank at index `at` waits no longer for those who have not come: they are as late as it is.
    fn break_out(&mut self, at: usize) {
        let Some(piece) = self.ranks[at].waits_for else { return };
        let seat = self.ranks[at].execution.collective(piece).and_then(|collective| self.job.seat(at, collective));
        let Some((id, own)) = seat else { return };
        let late_ns = self.gatherings.get(&id).map_or(0, |gathering| gathering.late_ns(own));
        self.leave(id, own, began_ns(self.job.get(id), own).saturating_add(late_ns));
    }
}

impl Rank<'_> {
    /// Notes how long the collective `id` transfers.
    fn transferred(&mut self, id: PieceId, transfer_ns: i64) {
        if self.fence.is_some()
            && let Some(place) = self.execution.place_of_collective(id)
        {
            self.transfers_ns[place] = transfer_ns;
        }
    }
}
