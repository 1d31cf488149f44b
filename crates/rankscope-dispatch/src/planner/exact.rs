//! The fewest bytes there are, for batches so small that every assignment can be gone through: the measure of the others.
//!
//! Every block of [`BLOCK_TOKENS`] is given to every rank in turn, documents from their end to their start, so that a rank's
//! context of a document is paid with its first block. A branch ends when it costs as much as the best plan so far, or when
//! what is left does not fit. Ranks that hold nothing, have nothing and may have as much are alike, and only one of them is tried.

use rankscope_time::Rank;

use super::bounded::Limits;
use super::pieces::{Piece, assemble};
use super::{BLOCK_TOKENS, Prices};
use crate::{Batch, Error, causal_cells};

/// The plan that moves the fewest bytes with every rank's cells within its limit.
///
/// # Errors
/// [`Error::Exact`] when no plan keeps to the limits, or when there are more than `most_steps` steps to take.
pub fn exact(layout: &Batch, prices: Prices, limits: &[u64], most_steps: u64) -> Result<Batch, Error> {
    if limits.len() != layout.world_size() as usize {
        return Err(Error::Weights { what: format!("{} limits for {} ranks", limits.len(), layout.world_size()) });
    }
    let (blocks, left) = blocks(layout);
    let mut holds = vec![false; limits.len()];
    for block in &blocks {
        holds[block.home as usize] = true;
    }
    let mut search = Search {
        prices,
        room: limits.to_vec(),
        holds,
        left,
        reached: vec![0; limits.len() * layout.len()],
        chosen: vec![0; blocks.len()],
        best: None,
        steps_left: most_steps,
        blocks,
    };
    search.go_on(0, 0);
    if search.steps_left == 0 {
        return Err(Error::Exact { what: format!("{} blocks need more than {most_steps} steps", search.blocks.len()) });
    }
    let (_, ranks) = search.best.ok_or(Error::Exact { what: "no plan in whole blocks keeps to the limits".to_owned() })?;
    let pieces = search.blocks.iter().zip(ranks).map(|(block, at)| Piece {
        document: block.document,
        start: block.start,
        end: block.end,
        home: Rank(block.home),
        at: Rank(at),
    });
    assemble(layout, merged(pieces.collect()))
}

/// The plan that moves the fewest bytes with limits raised, for all ranks alike, no further above the target than whole blocks
/// need; never to more than the slowest rank has if nothing moves.
///
/// # Errors
/// Those of [`exact()`].
pub fn exact_raising(layout: &Batch, prices: Prices, limits: &Limits, most_steps: u64) -> Result<Batch, Error> {
    let levels = &limits.levels;
    let within = |level: f64, steps: u64| exact(layout, prices, &levels.limits(level), steps);
    let (mut low, mut high) = (levels.goal.min(levels.as_it_lies), levels.as_it_lies.min(levels.all_on_one));
    let mut best = within(low, most_steps);
    if best.is_ok() || high <= low {
        return best;
    }
    best = within(high, most_steps);
    while best.is_ok() && high - low > levels.precision() {
        let middle = f64::midpoint(low, high);
        match within(middle, most_steps / STEPS_PART) {
            Ok(plan) => (high, best) = (middle, Ok(plan)),
            Err(_) => low = middle,
        }
    }
    best
}

/// What part of the steps goes to each limit that is only tried.
const STEPS_PART: u64 = 8;

struct Block {
    document: usize,
    start: u32,
    end: u32,
    home: u32,
    cells: u64,
    /// Per rank that holds something of the document: tokens before the end of the block that it holds.
    held: Vec<(u32, u32)>,
}

struct Search {
    prices: Prices,
    blocks: Vec<Block>,
    /// Cells of the blocks from each one on.
    left: Vec<u64>,
    room: Vec<u64>,
    holds: Vec<bool>,
    /// Blocks of each document that each rank has: its context is paid with the first.
    reached: Vec<u32>,
    chosen: Vec<u32>,
    best: Option<(u64, Vec<u32>)>,
    steps_left: u64,
}

impl Search {
    fn go_on(&mut self, at: usize, bytes: u64) {
        if self.steps_left == 0 || self.best.as_ref().is_some_and(|best| bytes >= best.0) {
            return;
        }
        self.steps_left -= 1;
        if at == self.blocks.len() {
            self.best = Some((bytes, self.chosen.clone()));
            return;
        }
        if self.room.iter().fold(0_u64, |sum, room| sum.saturating_add(*room)) < self.left[at] {
            return;
        }
        let home = self.blocks[at].home;
        let mut tried: Vec<u64> = Vec::new();
        for rank in std::iter::once(home).chain((0..self.room.len() as u32).filter(|&rank| rank != home)) {
            let place = rank as usize;
            let untouched = !self.holds[place] && self.empty(place);
            if self.room[place] < self.blocks[at].cells || (untouched && tried.contains(&self.room[place])) {
                continue;
            }
            if untouched {
                tried.push(self.room[place]);
            }
            let more = self.bytes(at, rank);
            let reached = self.reached_place(at, place);
            self.room[place] -= self.blocks[at].cells;
            self.reached[reached] += 1;
            self.chosen[at] = rank;
            self.go_on(at + 1, bytes + more);
            self.reached[reached] -= 1;
            self.room[place] += self.blocks[at].cells;
        }
    }

    fn empty(&self, rank: usize) -> bool {
        self.reached.iter().skip(rank).step_by(self.room.len()).all(|&blocks| blocks == 0)
    }

    fn reached_place(&self, at: usize, rank: usize) -> usize {
        self.blocks[at].document * self.room.len() + rank
    }

    /// Bytes that a block costs on `rank`.
    fn bytes(&self, at: usize, rank: u32) -> u64 {
        let block = &self.blocks[at];
        let queries = if rank == block.home { 0 } else { u64::from(block.end - block.start) };
        let keys = match self.reached[self.reached_place(at, rank as usize)] {
            0 => u64::from(block.end - block.held.iter().find(|held| held.0 == rank).map_or(0, |held| held.1)),
            _ => 0,
        };
        queries * self.prices.query + keys * self.prices.key
    }
}

/// The blocks of every document from its end to its start, and the cells of all from each one on.
fn blocks(layout: &Batch) -> (Vec<Block>, Vec<u64>) {
    let mut blocks: Vec<Block> = Vec::new();
    for (document, shards) in layout.documents().enumerate() {
        let first = blocks.len();
        let mut held: Vec<(u32, u32)> = Vec::new();
        let mut end = 0;
        for run in shards.chunk_by(|a, b| a.linear == b.linear) {
            let home = run[0].linear.0;
            let mut left: u32 = run.iter().map(|shard| shard.tokens).sum();
            if held.iter().all(|entry| entry.0 != home) {
                held.push((home, 0));
            }
            while left > 0 {
                let tokens = left.min(BLOCK_TOKENS);
                let start = end;
                (end, left) = (end + tokens, left - tokens);
                for entry in held.iter_mut().filter(|entry| entry.0 == home) {
                    entry.1 += tokens;
                }
                let cells = causal_cells(u64::from(tokens), u64::from(end));
                blocks.push(Block { document, start, end, home, cells, held: held.clone() });
            }
        }
        blocks[first..].reverse();
    }
    let mut left = vec![0; blocks.len() + 1];
    for (place, block) in blocks.iter().enumerate().rev() {
        left[place] = left[place + 1] + block.cells;
    }
    (blocks, left)
}

/// Pieces that follow each other on the same ranks, as one.
fn merged(mut pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.sort_unstable_by_key(|piece| (piece.document, piece.start));
    pieces.dedup_by(|next, kept| {
        let same = (next.document, next.home, next.at) == (kept.document, kept.home, kept.at);
        if same {
            kept.end = next.end;
        }
        same
    });
    pieces
}
