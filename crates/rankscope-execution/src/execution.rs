//! [`Execution`]: the execution graph of one rank, in columns, on the rank's own clock.
//!
//! A piece is a stretch of one lane, which is a thread or a stream, that does one thing: a kernel, a copy, a collective, or what the
//! host did between two events that others wait for. A piece starts once everything that it depends on has ended: the piece
//! before it in its lane, the host's call that launched it, and the one piece elsewhere that it is known to wait for. What lies
//! between the last of those ends and its start is its lag.
//!
//! Pieces stand in order of their start, and whatever a piece depends on ended when it started, so that their order is one in which
//! they can be run again.

mod builder;

use crate::Key;
use crate::columns::{Back, Marks, Moments, Narrow};
use crate::shares::Shares;

pub use builder::{Builder, NewPiece};

/// A piece, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PieceId(pub u32);

/// A thread or a stream, by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub u32);

/// A [`Key`], by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub u32);

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LaneKind {
    /// A thread of the host.
    Thread,
    /// A stream of a device.
    Stream,
}

/// A thread or a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// Which of the two.
    pub kind: LaneKind,
    /// Its name, as the trace has it.
    pub name: String,
}

/// Time of a piece that goes to one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// To what.
    pub key: KeyId,
    /// How much, in nanoseconds.
    pub ns: i64,
}

/// How a piece depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// It is the next one in its lane.
    Lane,
    /// It waits for that piece of another lane: a stream for an event of another stream, the host for a device, a thread for another.
    Wait,
    /// The host launched it when that piece ended.
    Launch,
}

/// One piece, read from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its lane.
    pub lane: LaneId,
    /// When it started, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// How long it took.
    pub dur_ns: i64,
    /// What it is; of a stretch of the host, what most of it is.
    pub key: KeyId,
    /// The piece of the host that ended with the call which launched it.
    pub launched_by: Option<PieceId>,
    /// The piece of another lane that it waits for.
    pub waits_for: Option<PieceId>,
}

impl Piece {
    /// When it ended.
    pub fn end_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.dur_ns)
    }
}

/// The execution graph of one rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Execution {
    keys: Vec<Key>,
    lanes: Vec<Lane>,
    pieces: Pieces,
    /// The piece of each of the rank's collectives, in their order; [`NONE`] where the graph has none.
    collectives: Vec<u32>,
    /// Those that have one, in order of their pieces; not there where that is the order of them all.
    in_order: Option<Vec<u32>>,
    /// Which pieces those are.
    marks: Marks,
}

/// The columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pieces {
    lane: Narrow<u8>,
    start_ns: Moments,
    dur_ns: Narrow<u32>,
    key: Narrow<u16>,
    launched_by: Back,
    waits_for: Back,
    /// The piece before it in its lane.
    previous: Back,
    /// None of a piece of one key.
    shares: Shares,
}

impl Pieces {
    /// Room for so many.
    fn with_capacity(count: usize) -> Self {
        Self {
            lane: Narrow::with_capacity(count),
            start_ns: Moments::with_capacity(count),
            dur_ns: Narrow::with_capacity(count),
            key: Narrow::with_capacity(count),
            ..Self::default()
        }
    }
}

/// No piece.
const NONE: u32 = u32::MAX;

/// The collectives that have a piece in order of those, where that is not the order of them all.
fn in_order(collectives: &[u32]) -> Option<Vec<u32>> {
    if collectives.is_sorted() && collectives.last() != Some(&NONE) {
        return None;
    }
    let mut order: Vec<u32> = (0..collectives.len() as u32).filter(|at| collectives[*at as usize] != NONE).collect();
    order.sort_unstable_by_key(|at| collectives[*at as usize]);
    Some(order)
}

fn some(at: u32) -> Option<PieceId> {
    (at != NONE).then_some(PieceId(at))
}

impl Execution {
    /// One to be filled.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.start_ns.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All pieces, in order of their start.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = PieceId> + use<> {
        (0..self.len() as u32).map(PieceId)
    }

    /// One piece. Who wants one column of it asks for that.
    #[inline]
    pub fn piece(&self, id: PieceId) -> Piece {
        let at = id.0 as usize;
        Piece {
            lane: self.lane_of(id),
            start_ns: self.pieces.start_ns.get(at),
            dur_ns: self.dur_ns(id),
            key: self.key_of(id),
            launched_by: self.pieces.launched_by.get(at).map(PieceId),
            waits_for: self.pieces.waits_for.get(at).map(PieceId),
        }
    }

    /// Its lane.
    #[inline]
    pub fn lane_of(&self, id: PieceId) -> LaneId {
        LaneId(self.pieces.lane.get(id.0 as usize) as u32)
    }

    /// What its lane is.
    #[inline]
    pub fn lane_kind(&self, id: PieceId) -> LaneKind {
        self.lane(self.lane_of(id)).kind
    }

    /// What it is; of a stretch of the host, what most of it is.
    #[inline]
    pub fn key_of(&self, id: PieceId) -> KeyId {
        KeyId(self.pieces.key.get(id.0 as usize) as u32)
    }

    /// When it started, in nanoseconds since the epoch.
    #[inline]
    pub fn start_ns(&self, id: PieceId) -> i64 {
        self.pieces.start_ns.get(id.0 as usize)
    }

    /// How long it took.
    #[inline]
    pub fn dur_ns(&self, id: PieceId) -> i64 {
        self.pieces.dur_ns.get(id.0 as usize).cast_signed()
    }

    /// When it ended.
    #[inline]
    pub fn end_ns(&self, id: PieceId) -> i64 {
        self.start_ns(id).saturating_add(self.dur_ns(id))
    }

    /// The piece before it in its lane.
    pub fn previous(&self, id: PieceId) -> Option<PieceId> {
        self.pieces.previous.get(id.0 as usize).map(PieceId)
    }

    /// What its time goes to: shares that add up to its length, in order of first appearance within it.
    pub fn shares(&self, id: PieceId) -> impl Iterator<Item = Share> + '_ {
        let mut stored = self.pieces.shares.list(id.0 as usize).peekable();
        let whole = Share { key: self.key_of(id), ns: self.dur_ns(id) };
        let whole = stored.peek().is_none().then_some(whole);
        stored.chain(whole)
    }

    /// Everything that it depends on.
    pub fn dependencies(&self, id: PieceId) -> impl Iterator<Item = (PieceId, Dependency)> + use<> {
        let at = id.0 as usize;
        let all = [
            (self.pieces.previous.get(at), Dependency::Lane),
            (self.pieces.waits_for.get(at), Dependency::Wait),
            (self.pieces.launched_by.get(at), Dependency::Launch),
        ];
        all.into_iter().filter_map(|(piece, how)| Some((PieceId(piece?), how)))
    }

    /// What it depended on that ended last, and so let it start; of several that ended together the one of its own lane first. A piece
    /// that overlaps with the one before it in its lane did not wait for that one.
    pub fn bound_by(&self, id: PieceId) -> Option<(PieceId, Dependency)> {
        let start_ns = self.start_ns(id);
        let ended = self.dependencies(id).filter(|(piece, _)| self.end_ns(*piece) <= start_ns);
        ended.min_by_key(|(piece, how)| (std::cmp::Reverse(self.end_ns(*piece)), *how))
    }

    /// All keys.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// One key.
    pub fn key(&self, id: KeyId) -> &Key {
        &self.keys[id.0 as usize]
    }

    /// All lanes.
    pub fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// One lane.
    pub fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes[id.0 as usize]
    }

    /// Whether work of devices is recorded and no launch of any, so that what it waited for is known in part only.
    pub fn lacks_launches(&self) -> bool {
        let mut on_device = self.ids().filter(|id| self.lane_kind(*id) == LaneKind::Stream).peekable();
        on_device.peek().is_some() && on_device.all(|id| self.pieces.launched_by.get(id.0 as usize).is_none())
    }

    /// How many collectives the rank has, with a piece or without.
    pub fn collectives(&self) -> usize {
        self.collectives.len()
    }

    /// The piece of the rank's collective number `collective`.
    pub fn of_collective(&self, collective: usize) -> Option<PieceId> {
        some(*self.collectives.get(collective)?)
    }

    /// Which of the rank's collectives the piece is.
    pub fn collective(&self, id: PieceId) -> Option<usize> {
        self.nth_collective(self.place_of_collective(id)?).map(|(_, collective)| collective)
    }

    /// The place of `id` among the pieces that are collectives, in order.
    #[inline]
    pub(crate) fn place_of_collective(&self, id: PieceId) -> Option<usize> {
        self.marks.place(id.0)
    }

    /// How many pieces are collectives.
    pub(crate) fn collective_pieces(&self) -> usize {
        self.in_order.as_ref().map_or(self.collectives.len(), Vec::len)
    }

    /// Of the pieces that are collectives the one at `place`, in order, and the number of its collective.
    #[inline]
    pub(crate) fn nth_collective(&self, place: usize) -> Option<(PieceId, usize)> {
        let collective = match &self.in_order {
            None => place,
            Some(order) => *order.get(place)? as usize,
        };
        Some((PieceId(*self.collectives.get(collective)?), collective))
    }

    /// The last piece that has started by `ns`.
    pub fn last_started(&self, ns: i64) -> Option<PieceId> {
        let after = self.pieces.start_ns.partition_point(|start_ns| start_ns <= ns);
        after.checked_sub(1).map(|at| PieceId(at as u32))
    }

    /// The place of the first piece that starts at `ns` or later.
    pub(crate) fn first_started(&self, ns: i64) -> u32 {
        self.pieces.start_ns.partition_point(|start_ns| start_ns < ns) as u32
    }

    /// Adds what a later export of the same rank recorded, whose collectives follow those of this one. Nothing of the two depends
    /// on each other.
    pub fn join(&mut self, later: &Self) {
        let mut builder = Builder::default();
        for (own, execution) in [(0, &*self), (self.collectives.len(), later)] {
            builder.append(execution, own);
        }
        builder.collectives(self.collectives.len() + later.collectives.len());
        *self = builder.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activity;

    fn piece(lane: LaneId, start_ns: i64, end_ns: i64, key: KeyId) -> NewPiece {
        NewPiece {
            lane,
            start_ns,
            dur_ns: end_ns - start_ns,
            shares: vec![Share { key, ns: end_ns - start_ns }],
            collective: None,
        }
    }

    #[test]
    fn a_piece_is_bound_by_what_ended_last_before_it() {
        let mut builder = Execution::builder();
        let (host, stream) = (builder.lane(LaneKind::Thread, "main"), builder.lane(LaneKind::Stream, "7"));
        let (op, kernel) = (builder.key(Key::new(Activity::Operator, "mm")), builder.key(Key::new(Activity::Kernel, "gemm")));
        // Given in no order.
        let second = builder.piece(piece(stream, 60, 90, kernel));
        let first = builder.piece(piece(stream, 12, 50, kernel));
        let call = builder.piece(piece(host, 0, 10, op));
        let late = builder.piece(piece(host, 10, 55, op));
        builder.launch(first, call);
        builder.launch(second, late);
        let execution = builder.finish();
        let bound = |at| execution.bound_by(PieceId(at));
        assert_eq!(execution.ids().map(|id| execution.start_ns(id)).collect::<Vec<_>>(), [0, 10, 12, 60]);
        assert_eq!(bound(0), None);
        assert_eq!(bound(1), Some((PieceId(0), Dependency::Lane)));
        assert_eq!(bound(2), Some((PieceId(0), Dependency::Launch)));
        assert_eq!(bound(3), Some((PieceId(1), Dependency::Launch)), "the host came after the kernel before it");
    }

    #[test]
    fn what_had_not_ended_is_nothing_that_was_waited_for() {
        let mut builder = Execution::builder();
        let (a, b) = (builder.lane(LaneKind::Stream, "7"), builder.lane(LaneKind::Stream, "8"));
        let key = builder.key(Key::new(Activity::Kernel, "k"));
        let (one, other) = (builder.piece(piece(a, 0, 10, key)), builder.piece(piece(b, 5, 20, key)));
        builder.wait(other, one);
        let execution = builder.finish();
        assert_eq!(execution.bound_by(PieceId(1)), None);
    }

    #[test]
    fn joined_exports_are_those_of_one_rank() {
        let mut builder = Execution::builder();
        let lane = builder.lane(LaneKind::Stream, "7");
        let key = builder.key(Key::new(Activity::Communication, "all_reduce"));
        builder.piece(NewPiece { collective: Some(0), ..piece(lane, 0, 10, key) });
        let one = builder.finish();
        let mut both = one.clone();
        both.join(&one);
        assert_eq!((both.len(), both.keys().len(), both.lanes().len()), (2, 1, 2));
        assert_eq!((both.of_collective(0), both.of_collective(1)), (Some(PieceId(0)), Some(PieceId(1))));
    }
}
