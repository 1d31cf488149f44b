//! How long a piece waits at least once what it depends on has ended.
//!
//! What ended last before a piece started bound it, and the lag between the two was seen. Whatever else it depends on ended earlier,
//! and how soon it would have started after that alone nobody saw: as soon as such pieces do in this rank, typically, and never
//! later than it did. So the unchanged graph comes back exactly.
//!
//! That it does says nothing of how well the graph explains the recording. [`Lags::modelled`] does: every piece then lags by what such
//! pieces usually do on average ([`usual`](super::usual)), whatever was seen of it, and what the graph does not explain is where it was
//! not. Stalls stay where they were seen.

use super::usual::{Stalls, Usual};
use crate::{Dependency, Execution, LaneKind, PieceId};

/// Typical lags of one rank, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lags {
    /// Medians.
    typical_ns: [i64; SORTS],
    /// What is usual, in a replay in which the lag that was seen of a piece counts for nothing unless it is a stall.
    usual: Option<Usual>,
}

pub(super) const SORTS: usize = 6;

/// Lags differ by how a piece depends on another, and on a device from those on the host.
pub(super) fn sort(kind: LaneKind, how: Dependency) -> usize {
    let how = match how {
        Dependency::Lane => 0,
        Dependency::Wait => 1,
        Dependency::Launch => 2,
    };
    how * 2 + usize::from(kind == LaneKind::Stream)
}

impl Lags {
    /// Those of what bound the pieces of `execution`.
    pub(super) fn of(execution: &Execution) -> Self {
        let mut seen: [Vec<i64>; SORTS] = Default::default();
        for id in execution.ids() {
            if let Some((before, how)) = execution.bound_by(id) {
                let lag_ns = execution.start_ns(id).saturating_sub(execution.end_ns(before));
                seen[sort(execution.lane_kind(id), how)].push(lag_ns);
            }
        }
        let typical_ns = seen.map(|mut lags| {
            let middle = lags.len().saturating_sub(1) / 2;
            if lags.is_empty() { 0 } else { *lags.select_nth_unstable(middle).1 }
        });
        Self { typical_ns, usual: None }
    }

    /// The same, for a replay of `execution` that knows of no piece's own lag but of its stalls, which are told, too.
    pub(super) fn modelled(&self, execution: &Execution) -> (Self, Stalls) {
        let (usual, stalls) = Usual::of(execution, self);
        (Self { usual: Some(usual), ..*self }, stalls)
    }

    /// How far a lag of `seen_ns` of a piece on a lane of `kind` is from that of such pieces.
    pub(super) fn off_typical_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64) -> u64 {
        seen_ns.abs_diff(self.typical_ns[sort(kind, how)])
    }

    /// Of what a piece on a lane of `kind` depends on, the one for which this is least held it up.
    fn far_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64) -> u64 {
        if self.usual.is_some() { self.off_typical_ns(kind, how, seen_ns) } else { seen_ns.unsigned_abs() }
    }

    /// How long a piece on a lane of `kind` lags behind something, of which `seen_ns` was seen, at least; what held it up `bound` it.
    fn least_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64, bound: bool) -> i64 {
        let sort = sort(kind, how);
        match (&self.usual, bound) {
            (Some(usual), true) if seen_ns <= usual.most_ns[sort] => usual.mean_ns[sort],
            (_, true) => seen_ns,
            // It started as soon as that, so that it can.
            (Some(usual), false) => seen_ns.min(usual.mean_ns[sort]),
            (None, false) => seen_ns.min(self.typical_ns[sort]),
        }
    }
}

/// Whether `id` is a piece of the host that waits for a device.
pub(super) fn waits_for_device(execution: &Execution, id: PieceId) -> bool {
    let is_stream = |other: PieceId| execution.lane_kind(other) == LaneKind::Stream;
    execution.lane_kind(id) == LaneKind::Thread && execution.piece(id).waits_for.is_some_and(is_stream)
}

/// What of the lags is taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NoLags {
    /// Between a launch and what it launched.
    pub(super) launches: bool,
    /// All of them.
    pub(super) all: bool,
    /// Between a device and the host that waits for it: the host goes on as if it did not wait.
    pub(super) synchronization: bool,
}

impl NoLags {
    fn takes(self, how: Dependency) -> bool {
        self.all || (self.launches && how == Dependency::Launch)
    }
}

/// What a piece depends on, and by how much its lag behind that is shorter than it was seen to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    pub(super) piece: PieceId,
    pub(super) how: Dependency,
    pub(super) shorter_ns: i64,
}

/// What the piece `id` starts behind: everything it depends on that had ended when it started.
pub(super) fn behind(execution: &Execution, id: PieceId, lags: &Lags, none: NoLags) -> impl Iterator<Item = Behind> {
    let start_ns = execution.start_ns(id);
    let piece = execution.piece(id);
    let kind = execution.lane(piece.lane).kind;
    // What a thread does between two things that it does, and that nobody else is known to have held up, is its program.
    let is_program = kind == LaneKind::Thread && piece.launched_by.is_none() && piece.waits_for.is_none();
    let mut found = [None; 3];
    let mut least_ns = u64::MAX;
    for (slot, (piece, how)) in found.iter_mut().zip(execution.dependencies(id)) {
        let lag_ns = start_ns.saturating_sub(execution.end_ns(piece));
        if lag_ns >= 0 {
            let far_ns = lags.far_ns(kind, how, lag_ns);
            *slot = Some((piece, how, lag_ns, far_ns));
            least_ns = least_ns.min(far_ns);
        }
    }
    let drops_wait = none.synchronization && waits_for_device(execution, id);
    let is_dropped = move |how: Dependency| drops_wait && how == Dependency::Wait;
    found.into_iter().flatten().filter(move |(_, how, ..)| !is_dropped(*how)).map(move |(piece, how, lag_ns, far_ns)| {
        let kept_ns = match () {
            () if none.takes(how) => 0,
            () if is_program => lag_ns,
            () => lags.least_ns(kind, how, lag_ns, far_ns == least_ns),
        };
        Behind { piece, how, shorter_ns: lag_ns - kept_ns }
    })
}
