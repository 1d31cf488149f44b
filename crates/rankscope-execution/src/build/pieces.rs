//! [`Cutter`]: a thread's time, cut into pieces, each with what its time went to.

use rankscope_trace::{StrId, TrackId};

use crate::{Activity, Builder, KeyId, LaneId, PieceId, Share};

use super::keys::{Keys, TraceKey};

/// Shares that are kept of a piece; what is less than each of them is one share.
const SHARES_MAX: usize = 16;

/// What those others are called.
const OTHERS: &str = "other";

/// What a piece waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Awaited {
    /// That one.
    Piece(PieceId),
    /// The piece of that thread that ended then.
    Ended(TrackId, i64),
    /// That one of the rank's collectives.
    Collective(usize),
}

/// Why a thread's time is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// Something else depends on what ends here.
    Here,
    /// Until the end it waits; what is next depends on that, or on what launched it.
    Waits(Option<Awaited>),
    /// Until the end it is in that one of the rank's collectives, of that key.
    Collective(usize, KeyId),
}

/// A place where a thread's time is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cut {
    pub(super) at_ns: i64,
    pub(super) until_ns: i64,
    pub(super) why: Why,
}

impl Cut {
    pub(super) fn here(at_ns: i64) -> Self {
        Self { at_ns, until_ns: at_ns, why: Why::Here }
    }
}

/// What became of a thread.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// End and number of each of its pieces, in order.
    pub(super) ends: Vec<(i64, PieceId)>,
    /// Those that wait for something, and for what.
    pub(super) waiting: Vec<(PieceId, Awaited)>,
    /// Those that are collectives.
    pub(super) collectives: Vec<(usize, PieceId)>,
}

impl Pieces {
    /// The last piece that had ended by `ns`.
    pub(super) fn last_ended(&self, ns: i64) -> Option<PieceId> {
        let ended = self.ends.partition_point(|(end_ns, _)| *end_ns <= ns);
        ended.checked_sub(1).map(|at| self.ends[at].1)
    }
}

/// Cuts one thread.
pub(super) struct Cutter<'a, 'k> {
    lane: LaneId,
    /// In order; those before `next` are done.
    cuts: &'a [Cut],
    next: usize,
    /// Where the piece under way began, and how far it is.
    start_ns: i64,
    now_ns: i64,
    awaited: Option<Awaited>,
    shares: Vec<Share>,
    /// By key: the number of the piece that last had it, and the place of its share there.
    places: Vec<(u32, u32)>,
    number: u32,
    keys: &'a mut Keys<'k>,
    builder: &'a mut Builder,
    made: Pieces,
}

impl<'a, 'k> Cutter<'a, 'k> {
    /// One for the thread of `lane` from `start_ns`, with `cuts` in order.
    pub(super) fn new(lane: LaneId, start_ns: i64, cuts: &'a [Cut], keys: &'a mut Keys<'k>, builder: &'a mut Builder) -> Self {
        Self {
            lane,
            cuts,
            next: 0,
            start_ns,
            now_ns: start_ns,
            awaited: None,
            shares: Vec::new(),
            places: Vec::new(),
            number: 1,
            keys,
            builder,
            made: Pieces::default(),
        }
    }

    /// The place of `key`.
    pub(super) fn key(&mut self, key: TraceKey) -> KeyId {
        self.keys.place(key, self.builder)
    }

    /// From `from_ns` to `to_ns` it did what `key` says.
    pub(super) fn spent(&mut self, from_ns: i64, to_ns: i64, key: KeyId) {
        while let Some(cut) = self.cuts.get(self.next).copied().filter(|cut| cut.at_ns < to_ns) {
            self.add(key, from_ns, cut.at_ns);
            self.next += 1;
            self.cut(cut);
        }
        self.add(key, from_ns, to_ns);
    }

    /// Ends the thread.
    pub(super) fn finish(mut self) -> Pieces {
        while let Some(cut) = self.cuts.get(self.next).copied() {
            self.next += 1;
            self.cut(cut);
        }
        if self.start_ns < self.now_ns {
            self.end_piece();
        }
        self.made
    }

    fn add(&mut self, key: KeyId, from_ns: i64, to_ns: i64) {
        let from_ns = from_ns.max(self.now_ns);
        if from_ns >= to_ns {
            return;
        }
        self.now_ns = to_ns;
        let ns = to_ns.saturating_sub(from_ns);
        let at = key.0 as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, (0, 0));
        }
        if self.places[at].0 == self.number {
            self.shares[self.places[at].1 as usize].ns += ns;
        } else {
            self.places[at] = (self.number, self.shares.len() as u32);
            self.shares.push(Share { key, ns });
        }
    }

    fn cut(&mut self, cut: Cut) {
        // What is waited for already was waited for within another wait.
        if cut.until_ns <= self.now_ns && matches!(cut.why, Why::Waits(_)) && cut.at_ns < self.now_ns {
            return;
        }
        // What is launched first of all depends on the thread's having begun.
        let is_first = self.made.ends.is_empty() && cut.why == Why::Here && cut.at_ns == self.now_ns;
        if self.start_ns < self.now_ns || self.awaited.is_some() || is_first {
            self.end_piece();
        }
        match cut.why {
            Why::Here => return,
            Why::Waits(awaited) => self.awaited = awaited,
            Why::Collective(number, key) => {
                let start_ns = self.now_ns.max(cut.at_ns);
                let dur_ns = cut.until_ns.saturating_sub(start_ns).max(0);
                let id = self.builder.piece_of(key, self.lane, start_ns, dur_ns, Some(number));
                self.made.ends.push((start_ns.saturating_add(dur_ns), id));
                self.made.collectives.push((number, id));
            }
        }
        self.now_ns = self.now_ns.max(cut.until_ns);
        self.start_ns = self.now_ns;
    }

    fn end_piece(&mut self) {
        if self.shares.len() > SHARES_MAX {
            self.most();
        }
        if self.shares.is_empty() {
            let key = self.key(TraceKey::new(Activity::Unrecorded, StrId::EMPTY));
            self.shares.push(Share { key, ns: 0 });
        }
        let dur_ns = self.now_ns.saturating_sub(self.start_ns);
        let id = self.builder.piece_with(&self.shares, self.lane, self.start_ns, dur_ns);
        self.shares.clear();
        self.made.ends.push((self.now_ns, id));
        self.made.waiting.extend(self.awaited.take().map(|awaited| (id, awaited)));
        self.start_ns = self.now_ns;
        self.number += 1;
    }

    /// Of the shares the largest, in their order, and one for all others.
    fn most(&mut self) {
        let sum = |shares: &[Share]| shares.iter().map(|share| share.ns).sum::<i64>();
        let all = std::mem::take(&mut self.shares);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| (std::cmp::Reverse(all[*at].ns), *at));
        order.truncate(SHARES_MAX);
        order.sort_unstable();
        self.shares.extend(order.into_iter().map(|at| all[at]));
        let key = self.builder.key(crate::Key::new(Activity::Unrecorded, OTHERS));
        self.shares.push(Share { key, ns: sum(&all) - sum(&self.shares) });
    }
}
