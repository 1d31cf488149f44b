//! How long a piece waits at least once what it depends on has ended.
//!
//! What ended last before a piece started bound it, and the lag between the two was seen. Whatever else it depends on ended earlier,
//! and how soon it would have started after that alone nobody saw: as soon as such pieces do in this rank, typically, and never
//! later than it did. So the unchanged graph comes back exactly.
//!
//! That it does says nothing of how well the graph explains the recording. [`Lags::modelled`] does: every piece then lags by what such
//! pieces do on average, whatever was seen of it, and what the graph does not explain is where it was not. A lag that is far out by
//! Tukey's outer fence, or on a device longer than any start takes ([`DEVICE_NS_MAX`]), is no lag of its sort: a module that is loaded at
//! its first launch, a stream that idles for a second. It makes no average, and stays where it was seen.

use crate::{Dependency, Execution, LaneKind, PieceId};

/// Typical lags of one rank, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lags {
    /// Medians.
    typical_ns: [i64; SORTS],
    /// Longer ones are far out.
    usual_most_ns: [i64; SORTS],
    /// Means of the usual ones, so that all pieces together lag by what they did.
    mean_ns: [i64; SORTS],
    /// Lags that are far out.
    stalls: Stalls,
    /// Whether the lag that was seen of a piece counts for nothing, but for those that are far out.
    is_modelled: bool,
}

/// Delays that are far longer than others of their sort, and that nothing in the recording explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stalls {
    /// How many.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub ns: i64,
}

impl Stalls {
    /// Both together.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, ns: self.ns.saturating_add(other.ns) }
    }
}

const SORTS: usize = 6;

/// What a thread does after what it did before is its program, and no lag.
const PROGRAM: usize = 0;

/// Stamps are recorded in microseconds at worst: what is longer by less is no other lag.
const STAMP_NS: i64 = 1_000;

/// No device of today takes so long to start what nothing holds up, about a hundred times what a launch takes: longer lags are far out
/// even where there are no others.
const DEVICE_NS_MAX: i64 = 1_000_000;

/// Whether lags of `sort` are of pieces on a device.
fn is_of_device(sort: usize) -> bool {
    sort % 2 == 1
}

/// The end of so many of four quarters of `sorted`; none of nothing.
fn quarter_ns(sorted: &[i64], quarter: usize) -> i64 {
    sorted.get(sorted.len().saturating_sub(1) * quarter / 4).copied().unwrap_or(0)
}

/// Tukey's outer fence of `sorted`: three times the range of its middle half above it.
fn outer_fence_ns(sorted: &[i64]) -> i64 {
    let (low_ns, high_ns) = (quarter_ns(sorted, 1), quarter_ns(sorted, 3));
    high_ns.saturating_add(high_ns.saturating_sub(low_ns).saturating_mul(3).max(STAMP_NS))
}

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
        let mut lags = Self::default();
        let bound = seen(execution, |lag_ns, _| lag_ns);
        lags.typical_ns = bound.each_ref().map(|sorted| quarter_ns(sorted, 2));
        // What ended last held a piece up only if it did so for as long as such things do.
        let typical_ns = lags.typical_ns;
        for (sort, seen) in seen(execution, |lag_ns, sort| lag_ns.abs_diff(typical_ns[sort])).iter().enumerate() {
            let usual_most_ns = outer_fence_ns(seen).min(if is_of_device(sort) { DEVICE_NS_MAX } else { i64::MAX });
            let (usual, stalls) = seen.split_at(seen.partition_point(|ns| *ns <= usual_most_ns));
            let sum_ns = |lags: &[i64]| lags.iter().map(|ns| i128::from(*ns)).sum::<i128>();
            lags.usual_most_ns[sort] = usual_most_ns;
            lags.mean_ns[sort] = (sum_ns(usual) / usual.len().max(1) as i128) as i64;
            if sort != PROGRAM {
                let stalls_ns = i64::try_from(sum_ns(stalls)).unwrap_or(i64::MAX);
                lags.stalls = lags.stalls.and(Stalls { count: stalls.len() as u64, ns: stalls_ns });
            }
        }
        lags
    }

    /// Those that are far out.
    pub(super) fn stalls(&self) -> Stalls {
        self.stalls
    }

    /// The same, for a replay that knows of no piece's own lag.
    #[must_use]
    pub(super) fn modelled(self) -> Self {
        Self { is_modelled: true, ..self }
    }

    /// How far a lag of `seen_ns` is from what would hold up a piece on a lane of `kind`; of what it depends on, the nearest did.
    fn far_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64) -> u64 {
        if self.is_modelled { seen_ns.abs_diff(self.typical_ns[sort(kind, how)]) } else { seen_ns.unsigned_abs() }
    }

    /// How long a piece on a lane of `kind` lags behind something, of which `seen_ns` was seen, at least; what held it up `bound` it.
    fn least_ns(&self, kind: LaneKind, how: Dependency, seen_ns: i64, bound: bool) -> i64 {
        let sort = sort(kind, how);
        match (self.is_modelled, bound) {
            (true, true) if seen_ns > self.usual_most_ns[sort] => seen_ns,
            (true, true) => self.mean_ns[sort],
            // It started as soon as that, so that it can.
            (true, false) => seen_ns.min(self.mean_ns[sort]),
            (false, true) => seen_ns,
            (false, false) => seen_ns.min(self.typical_ns[sort]),
        }
    }
}

/// By sort, the lags of what held pieces of `execution` up, sorted: of what each depends on, that with the least of `far`.
fn seen<K: Ord>(execution: &Execution, far: impl Fn(i64, usize) -> K) -> [Vec<i64>; SORTS] {
    let mut seen: [Vec<i64>; SORTS] = Default::default();
    for id in execution.ids() {
        let (start_ns, kind) = (execution.start_ns(id), execution.lane_kind(id));
        let lags = execution.dependencies(id).map(|(before, how)| (start_ns.saturating_sub(execution.end_ns(before)), how));
        let held = lags.filter(|(lag_ns, _)| *lag_ns >= 0).min_by_key(|(lag_ns, how)| (far(*lag_ns, sort(kind, *how)), *how));
        if let Some((lag_ns, how)) = held {
            seen[sort(kind, how)].push(lag_ns);
        }
    }
    seen.each_mut().into_iter().for_each(|lags| lags.sort_unstable());
    seen
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
            *slot = Some((piece, how, lag_ns));
            least_ns = least_ns.min(lags.far_ns(kind, how, lag_ns));
        }
    }
    let lags = *lags;
    let drops_wait = none.synchronization && waits_for_device(execution, id);
    let is_dropped = move |(_, how, _): &(PieceId, Dependency, i64)| drops_wait && *how == Dependency::Wait;
    found.into_iter().flatten().filter(move |one| !is_dropped(one)).map(move |(piece, how, lag_ns)| {
        let kept_ns = match () {
            () if none.takes(how) => 0,
            () if is_program => lag_ns,
            () => lags.least_ns(kind, how, lag_ns, lags.far_ns(kind, how, lag_ns) == least_ns),
        };
        Behind { piece, how, shorter_ns: lag_ns - kept_ns }
    })
}
