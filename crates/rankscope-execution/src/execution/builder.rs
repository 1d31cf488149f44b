//! [`Builder`]: pieces in any order become an [`Execution`].

use super::{Execution, KeyId, Lane, LaneId, LaneKind, NONE, PieceId, Pieces, Share, in_order};
use crate::Key;
use crate::columns::{Back, Marks};
use crate::shares::Shares;

/// A piece that is to be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPiece {
    /// Its lane.
    pub lane: LaneId,
    /// Start, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// How long it took.
    pub dur_ns: i64,
    /// What its time goes to, in order; the lengths add up to its own. One key of any length stands for all of it.
    pub shares: Vec<Share>,
    /// Which of the rank's collectives it is.
    pub collective: Option<usize>,
}

/// Collects pieces in any order.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    keys: indexed::Indexed<Key>,
    lanes: Vec<Lane>,
    pieces: Vec<Added>,
    shares: Shares,
    launches: Vec<(u32, u32)>,
    waits: Vec<(u32, u32)>,
    /// How many collectives the rank has.
    collectives: usize,
}

/// A piece that was added, but for its shares.
#[derive(Clone, Copy, Debug)]
struct Added {
    start_ns: i64,
    dur_ns: i64,
    lane: u32,
    key: u32,
    /// [`NONE`] where it is no collective.
    collective: u32,
}

impl Builder {
    /// The place of `key`.
    pub fn key(&mut self, key: Key) -> KeyId {
        KeyId(self.keys.place(key))
    }

    /// A new lane.
    pub fn lane(&mut self, kind: LaneKind, name: impl Into<String>) -> LaneId {
        self.lanes.push(Lane { kind, name: name.into() });
        LaneId(self.lanes.len() as u32 - 1)
    }

    /// Adds a piece. Its number is good for [`launch`](Self::launch) and [`wait`](Self::wait), and another one once all are in order.
    pub fn piece(&mut self, piece: NewPiece) -> PieceId {
        let NewPiece { lane, start_ns, dur_ns, shares, collective } = piece;
        let key = self.shared(&shares);
        self.added(lane, (start_ns, dur_ns), key, collective)
    }

    /// Adds a piece that is no collective, whose time goes to `shares`.
    pub(crate) fn piece_with(&mut self, shares: &[Share], lane: LaneId, start_ns: i64, dur_ns: i64) -> PieceId {
        let key = self.shared(shares);
        self.added(lane, (start_ns, dur_ns), key, None)
    }

    /// The key that most of the time of the next piece goes to.
    fn shared(&mut self, shares: &[Share]) -> KeyId {
        self.shares.push(if shares.len() > 1 { shares } else { &[] });
        let most = shares.iter().enumerate().max_by_key(|(at, share)| (share.ns, std::cmp::Reverse(*at)));
        KeyId(most.map_or(0, |(_, share)| share.key.0))
    }

    /// Adds a piece all of whose time goes to `key`, without a list of that.
    pub fn piece_of(&mut self, key: KeyId, lane: LaneId, start_ns: i64, dur_ns: i64, collective: Option<usize>) -> PieceId {
        self.shares.push(&[]);
        self.added(lane, (start_ns, dur_ns), key, collective)
    }

    fn added(&mut self, lane: LaneId, (start_ns, dur_ns): (i64, i64), key: KeyId, collective: Option<usize>) -> PieceId {
        self.collectives = self.collectives.max(collective.map_or(0, |at| at + 1));
        let collective = collective.map_or(NONE, |at| at as u32);
        self.pieces.push(Added { start_ns, dur_ns, lane: lane.0, key: key.0, collective });
        PieceId(self.pieces.len() as u32 - 1)
    }

    /// The host launched `work` when its piece `by` ended.
    pub fn launch(&mut self, work: PieceId, by: PieceId) {
        self.launches.push((work.0, by.0));
    }

    /// `piece` waits for `other`, of another lane. Of several the last one added counts.
    pub fn wait(&mut self, piece: PieceId, other: PieceId) {
        self.waits.push((piece.0, other.0));
    }

    /// The rank has so many collectives, of which some may have no piece.
    pub fn collectives(&mut self, count: usize) {
        self.collectives = self.collectives.max(count);
    }

    pub(super) fn append(&mut self, execution: &Execution, first_collective: usize) {
        let (first_piece, first_lane) = (self.pieces.len() as u32, self.lanes.len() as u32);
        self.lanes.extend(execution.lanes.iter().cloned());
        let keys: Vec<KeyId> = execution.keys.iter().map(|key| self.key(key.clone())).collect();
        for id in execution.ids() {
            let piece = execution.piece(id);
            let own = |share: Share| Share { key: keys[share.key.0 as usize], ns: share.ns };
            self.piece(NewPiece {
                lane: LaneId(first_lane + piece.lane.0),
                start_ns: piece.start_ns,
                dur_ns: piece.dur_ns,
                shares: execution.shares(id).map(own).collect(),
                collective: execution.collective(id).map(|collective| first_collective + collective),
            });
            self.launches.extend(piece.launched_by.map(|by| (first_piece + id.0, first_piece + by.0)));
            self.waits.extend(piece.waits_for.map(|by| (first_piece + id.0, first_piece + by.0)));
        }
    }

    /// Puts all pieces in order. A launch or a wait of something that had not ended when the piece started is none, and left out.
    pub fn finish(self) -> Execution {
        let mut order: Vec<u32> = (0..self.pieces.len() as u32).collect();
        let end_ns = |at: u32| {
            let piece = &self.pieces[at as usize];
            piece.start_ns.saturating_add(piece.dur_ns)
        };
        order.sort_by_key(|at| (self.pieces[*at as usize].start_ns, end_ns(*at), self.pieces[*at as usize].lane, *at));
        let mut place = vec![0_u32; order.len()];
        order.iter().zip(0..).for_each(|(at, new)| place[*at as usize] = new);
        let mut columns = Pieces::with_capacity(order.len());
        let mut collectives = vec![NONE; self.collectives];
        let mut last_of_lane = vec![None; self.lanes.len()];
        let mut previous: Vec<Option<u32>> = Vec::with_capacity(order.len());
        for (new, at) in (0_u32..).zip(&order) {
            let piece = &self.pieces[*at as usize];
            columns.lane.push(piece.lane.into());
            columns.start_ns.push(piece.start_ns);
            columns.dur_ns.push(piece.dur_ns.cast_unsigned());
            columns.key.push(piece.key.into());
            previous.push(last_of_lane[piece.lane as usize].replace(new));
            columns.shares.push_from(&self.shares, *at as usize);
            if piece.collective != NONE {
                collectives[piece.collective as usize] = new;
            }
        }
        columns.shares.shrink();
        columns.previous = Back::of(&previous);
        let ended = |(piece, by): &(u32, u32)| {
            end_ns(*by) <= self.pieces[*piece as usize].start_ns && place[*by as usize] < place[*piece as usize]
        };
        // The room of one column serves for the next.
        let mut before = previous;
        let mut column = |pairs: &[(u32, u32)]| {
            before.fill(None);
            for (piece, by) in pairs.iter().filter(|pair| ended(pair)) {
                before[place[*piece as usize] as usize] = Some(place[*by as usize]);
            }
            Back::of(&before)
        };
        (columns.launched_by, columns.waits_for) = (column(&self.launches), column(&self.waits));
        let in_order = in_order(&collectives);
        let pieces = |order: &Vec<u32>| Marks::of(order.iter().map(|collective| collectives[*collective as usize]));
        let marks = in_order.as_ref().map_or_else(|| Marks::of(collectives.iter().copied()), pieces);
        Execution { keys: self.keys.into_all(), lanes: self.lanes, pieces: columns, collectives, in_order, marks }
    }
}

mod indexed {
    //! A list of different values, each with its place.

    use std::hash::Hash;

    use rustc_hash::FxHashMap;

    #[derive(Clone, Debug)]
    pub(super) struct Indexed<T> {
        all: Vec<T>,
        places: FxHashMap<T, u32>,
    }

    impl<T> Default for Indexed<T> {
        fn default() -> Self {
            Self { all: Vec::new(), places: FxHashMap::default() }
        }
    }

    impl<T: Clone + Eq + Hash> Indexed<T> {
        pub(super) fn place(&mut self, value: T) -> u32 {
            *self.places.entry(value).or_insert_with_key(|value| {
                self.all.push(value.clone());
                self.all.len() as u32 - 1
            })
        }

        pub(super) fn into_all(self) -> Vec<T> {
            self.all
        }
    }
}
