//! Caps on what a rank sends, receives and holds, and the ledger that keeps a plan within them while it is made.
//!
//! Counted per layer and pass, by the way that bytes go. The buffer of a rank is what its attention takes in: rows of the queries
//! that it computes, in a backward pass with their outputs and the gradients of those, and their context, its own included.

use std::ops::Range;

use rankscope_time::Rank;

use super::piece::Piece;
use crate::planner::ways::{Way, Ways};
use crate::{Capped, Error};

/// Bytes that no rank may exceed, where a cap is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Of queries, keys, values and outputs that leave the rank; in a backward pass, of gradients, too.
    pub send_bytes: Option<u64>,
    /// Of those that reach it.
    pub receive_bytes: Option<u64>,
    /// Of queries it computes and their context, wherever they lie.
    pub buffer_bytes: Option<u64>,
}

impl Caps {
    /// The most of each, and what it is called; nothing if there are no caps.
    fn limits(self) -> Option<[u64; 3]> {
        let caps = [self.send_bytes, self.receive_bytes, self.buffer_bytes];
        caps.iter().any(Option::is_some).then(|| caps.map(|cap| cap.unwrap_or(u64::MAX)))
    }
}

const NAMES: [Capped; 3] = [Capped::Sends, Capped::Receives, Capped::Holds];
const SENT: usize = 0;
const RECEIVED: usize = 1;
const HELD: usize = 2;

/// What every rank sends, receives and holds as a plan stands.
#[derive(Clone)]
pub(in crate::planner) struct Ledger {
    caps: [u64; 3],
    ways: Ways,
    used: Vec<[u64; 3]>,
}

impl Ledger {
    pub(in crate::planner) fn new(caps: Caps, ways: Ways, world_size: usize) -> Option<Self> {
        caps.limits().map(|caps| Self { caps, ways, used: vec![[0; 3]; world_size] })
    }

    /// Nothing yet, to be filled with what a plan adds and takes away.
    pub(in crate::planner) fn entry(&self) -> Entry {
        Entry { ways: self.ways, changes: Vec::new() }
    }

    pub(in crate::planner) fn enter(&mut self, entry: &Entry) {
        for &(rank, change) in &entry.changes {
            self.used[rank as usize] = sum(self.used[rank as usize], change);
        }
    }

    /// Whether no rank gets further above a cap.
    pub(in crate::planner) fn allows(&self, entry: &Entry) -> bool {
        entry.changes.iter().all(|&(rank, change)| {
            let used = self.used[rank as usize];
            let then = sum(used, change);
            (0..3).all(|kind| then[kind] <= self.caps[kind].max(used[kind]))
        })
    }

    /// How far `rank` is above its caps.
    pub(super) fn excess(&self, rank: u32) -> u64 {
        self.above(self.used[rank as usize])
    }

    /// How far `rank` would be above its caps.
    pub(super) fn excess_after(&self, rank: u32, entry: &Entry) -> u64 {
        let used = self.used[rank as usize];
        self.above(entry.changes.iter().find(|change| change.0 == rank).map_or(used, |change| sum(used, change.1)))
    }

    fn above(&self, used: [u64; 3]) -> u64 {
        (0..3).map(|kind| used[kind].saturating_sub(self.caps[kind])).fold(0, u64::saturating_add)
    }

    /// The first rank above a cap.
    pub(in crate::planner) fn check(&self) -> Result<(), Error> {
        for (used, rank) in self.used.iter().zip(0..) {
            for kind in 0..3 {
                if used[kind] > self.caps[kind] {
                    return Err(Error::Cap { rank: Rank(rank), what: NAMES[kind], bytes: used[kind], cap: self.caps[kind] });
                }
            }
        }
        Ok(())
    }

    /// Pieces of a document in the place of others.
    pub(super) fn replaced(&self, runs: &[(Range<u32>, u32)], before: &[Piece], after: &[Piece]) -> Entry {
        let mut entry = self.entry();
        entry.pieces(runs, before, -1);
        entry.pieces(runs, after, 1);
        entry
    }
}

/// What changes of what ranks send, receive and hold.
pub(in crate::planner) struct Entry {
    ways: Ways,
    changes: Vec<(u32, [i128; 3])>,
}

impl Entry {
    /// So many queries of `home` are computed `at` a rank; `sign` is -1 where they no longer are.
    pub(in crate::planner) fn queries(&mut self, home: u32, at: u32, tokens: u64, sign: i128) {
        self.rows(home, at, tokens, self.ways.query, sign);
    }

    /// So many keys and values of `home` are needed `at` a rank.
    pub(in crate::planner) fn keys(&mut self, home: u32, at: u32, tokens: u64, sign: i128) {
        self.rows(home, at, tokens, self.ways.key, sign);
    }

    fn rows(&mut self, home: u32, at: u32, tokens: u64, way: Way, sign: i128) {
        let bytes = |each: u64| i128::from(tokens) * i128::from(each) * sign;
        self.change(at)[HELD] += bytes(way.out);
        if home != at {
            for (from, to, each) in [(home, at, way.out), (at, home, way.back)] {
                self.change(from)[SENT] += bytes(each);
                self.change(to)[RECEIVED] += bytes(each);
            }
        }
    }

    fn change(&mut self, rank: u32) -> &mut [i128; 3] {
        let place = self.changes.iter().position(|change| change.0 == rank).unwrap_or_else(|| {
            self.changes.push((rank, [0; 3]));
            self.changes.len() - 1
        });
        &mut self.changes[place].1
    }

    /// All pieces of a document.
    fn pieces(&mut self, runs: &[(Range<u32>, u32)], pieces: &[Piece], sign: i128) {
        for (place, piece) in pieces.iter().enumerate() {
            self.queries(piece.home, piece.at, u64::from(piece.end - piece.start), sign);
            // The last piece of a rank needs the context of all of them.
            if pieces[place + 1..].iter().any(|later| later.at == piece.at) {
                continue;
            }
            for (run, home) in runs.iter().filter(|(run, _)| run.start < piece.end) {
                self.keys(*home, piece.at, u64::from(run.end.min(piece.end) - run.start), sign);
            }
        }
    }
}

fn sum(used: [u64; 3], change: [i128; 3]) -> [u64; 3] {
    std::array::from_fn(|kind| u64::try_from(i128::from(used[kind]) + change[kind]).unwrap_or(u64::MAX))
}
