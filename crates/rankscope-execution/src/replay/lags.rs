//! How long a piece waits at least once what it depends on has ended.
//!
//! What ended last before a piece started bound it, and the lag between the two was seen. Whatever else it depends on ended earlier,
//! and how soon it would have started after that alone nobody saw: as soon as such pieces do in this rank, typically, and never
//! later than it did. So the unchanged graph comes back exactly.
//!
//! That it does says nothing of how well the graph explains the recording. [`Lags::mean_alone`] does: every piece then lags by what such
//! pieces do on average, whatever was seen of it, and what the graph does not explain is where it was not.

use crate::{Dependency, Execution, LaneKind, PieceId};

/// Typical lags of one rank, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lags {
    /// Medians.
    typical_ns: [i64; SORTS],
    /// Means, so that all pieces together lag by what they did.
    mean_ns: [i64; SORTS],
    /// Whether the lag that was seen of a piece counts for nothing.
    is_mean_alone: bool,
}

const SORTS: usize = 6;

/// Lags differ by how a piece depends on another, and on a device from those on the host.
fn sort(kind: LaneKind, how: Dependency) -> usize {
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
        let mean_ns = seen.each_ref().map(|lags| {
            let sum: i128 = lags.iter().map(|ns| i128::from(*ns)).sum();
            (sum / lags.len().max(1) as i128) as i64
        });
        let typical_ns = seen.map(|mut lags| {
            let middle = lags.len().saturating_sub(1) / 2;
            if lags.is_empty() { 0 } else { *lags.select_nth_unstable(middle).1 }
        });
        Self { typical_ns, mean_ns, is_mean_alone: false }
    }

    /// The same, for a replay that knows of no piece's own lag.
    #[must_use]
    pub(super) fn mean_alone(self) -> Self {
        Self { is_mean_alone: true, ..self }
    }

    /// How long a piece on a lane of `kind` lags behind something, of which `seen_ns` was seen, at least; what ended last before it
    /// `bound` it.
    fn least_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64, bound: bool) -> i64 {
        let sort = sort(kind, how);
        match (self.is_mean_alone, bound) {
            (true, _) => self.mean_ns[sort],
            (false, true) => seen_ns,
            (false, false) => seen_ns.min(self.typical_ns[sort]),
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
    let mut least_ns = i64::MAX;
    for (slot, (piece, how)) in found.iter_mut().zip(execution.dependencies(id)) {
        let lag_ns = start_ns.saturating_sub(execution.end_ns(piece));
        if lag_ns >= 0 {
            *slot = Some((piece, how, lag_ns));
            least_ns = least_ns.min(lag_ns);
        }
    }
    let lags = *lags;
    let drops_wait = none.synchronization && waits_for_device(execution, id);
    let is_dropped = move |(_, how, _): &(PieceId, Dependency, i64)| drops_wait && *how == Dependency::Wait;
    found.into_iter().flatten().filter(move |one| !is_dropped(one)).map(move |(piece, how, lag_ns)| {
        let kept_ns = match () {
            () if none.takes(how) => 0,
            () if is_program => lag_ns,
            () => lags.least_ns(kind, how, lag_ns, lag_ns == least_ns),
        };
        Behind { piece, how, shorter_ns: lag_ns - kept_ns }
    })
}
