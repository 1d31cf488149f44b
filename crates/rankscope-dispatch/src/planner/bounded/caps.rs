//! Caps on what a rank sends, receives and holds, and the ledger that keeps a plan within them while it is made.
//!
//! Counted per layer, forward: queries, keys and values out, outputs back. The buffer of a rank is what its attention needs at
//! once: the queries it computes and their context, its own included.

use std::ops::Range;

use rankscope_time::Rank;

use super::piece::Piece;
use crate::planner::Prices;
use crate::{Capped, Error};

/// Bytes that no rank may exceed, where a cap is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Of queries, keys, values and outputs that leave the rank.
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

/// What every rank sends, receives and holds as a plan stands.
pub(super) struct Ledger {
    caps: [u64; 3],
    prices: Prices,
    used: Vec<[u64; 3]>,
}

impl Ledger {
    pub(super) fn new(caps: Caps, prices: Prices, world_size: usize) -> Option<Self> {
        caps.limits().map(|caps| Self { caps, prices, used: vec![[0; 3]; world_size] })
    }

    /// Enters the pieces of a document in the place of others.
    pub(super) fn replace(&mut self, runs: &[(Range<u32>, u32)], before: &[Piece], after: &[Piece]) {
        for (rank, change) in self.change(runs, before, after) {
            self.used[rank as usize] = sum(self.used[rank as usize], change);
        }
    }

    /// Whether no rank gets further above a cap when pieces of a document take the place of others.
    pub(super) fn allows(&self, runs: &[(Range<u32>, u32)], before: &[Piece], after: &[Piece]) -> bool {
        self.change(runs, before, after).iter().all(|&(rank, change)| {
            let used = self.used[rank as usize];
            let then = sum(used, change);
            (0..3).all(|kind| then[kind] <= self.caps[kind].max(used[kind]))
        })
    }

    /// How far `rank` is above its caps.
    pub(super) fn excess(&self, rank: u32) -> u64 {
        let used = self.used[rank as usize];
        (0..3).map(|kind| used[kind].saturating_sub(self.caps[kind])).fold(0, u64::saturating_add)
    }

    /// How far `rank` would be above its caps.
    pub(super) fn excess_after(&self, rank: u32, runs: &[(Range<u32>, u32)], before: &[Piece], after: &[Piece]) -> u64 {
        let changes = self.change(runs, before, after);
        let used = changes
            .iter()
            .find(|change| change.0 == rank)
            .map_or(self.used[rank as usize], |change| sum(self.used[rank as usize], change.1));
        (0..3).map(|kind| used[kind].saturating_sub(self.caps[kind])).fold(0, u64::saturating_add)
    }

    /// The first rank above a cap.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (used, rank) in self.used.iter().zip(0..) {
            for kind in 0..3 {
                if used[kind] > self.caps[kind] {
                    return Err(Error::Cap { rank: Rank(rank), what: NAMES[kind], bytes: used[kind], cap: self.caps[kind] });
                }
            }
        }
        Ok(())
    }

    fn change(&self, runs: &[(Range<u32>, u32)], before: &[Piece], after: &[Piece]) -> Vec<(u32, [i128; 3])> {
        let mut changes: Vec<(u32, [i128; 3])> = Vec::new();
        for (pieces, sign) in [(before, -1), (after, 1)] {
            self.flows(runs, pieces, |rank, kind, bytes| {
                let place = changes.iter().position(|change| change.0 == rank).unwrap_or_else(|| {
                    changes.push((rank, [0; 3]));
                    changes.len() - 1
                });
                changes[place].1[kind] += i128::from(bytes) * sign;
            });
        }
        changes
    }

    /// Calls `flow` with what a document makes ranks send (0), receive (1) and hold (2).
    fn flows(&self, runs: &[(Range<u32>, u32)], pieces: &[Piece], mut flow: impl FnMut(u32, usize, u64)) {
        for (place, piece) in pieces.iter().enumerate() {
            // A query and an output are as long as each other, and each crosses once.
            let row = u64::from(piece.end - piece.start) * (self.prices.query / 2);
            flow(piece.at, SLOT_HELD, row);
            if piece.at != piece.home {
                for rank in [piece.at, piece.home] {
                    flow(rank, SLOT_SENT, row);
                    flow(rank, SLOT_RECEIVED, row);
                }
            }
            if pieces[place + 1..].iter().any(|later| later.at == piece.at) {
                continue;
            }
            flow(piece.at, SLOT_HELD, u64::from(piece.end) * self.prices.key);
            for (run, home) in runs.iter().filter(|(run, home)| *home != piece.at && run.start < piece.end) {
                let bytes = u64::from(run.end.min(piece.end) - run.start) * self.prices.key;
                flow(*home, SLOT_SENT, bytes);
                flow(piece.at, SLOT_RECEIVED, bytes);
            }
        }
    }
}

const SLOT_SENT: usize = 0;
const SLOT_RECEIVED: usize = 1;
const SLOT_HELD: usize = 2;

fn sum(used: [u64; 3], change: [i128; 3]) -> [u64; 3] {
    std::array::from_fn(|kind| u64::try_from(i128::from(used[kind]) + change[kind]).unwrap_or(u64::MAX))
}
