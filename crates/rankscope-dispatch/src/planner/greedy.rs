//! The original's greedy planner, step by step, to compare with (dispatch spec 2.10).
//!
//! Ranks below the mean are served in order of their need. Each takes, again and again, from the item that promises the fewest
//! elements per cell, either all of it or as many tokens from the end of its head as from the start of its tail, until its
//! need is within the tolerance. Nothing limits what stays on the givers: that is its flaw, and why [`super::bounded`] exists.
//!
//! Unlike the original, documents of odd length may be split; the original stops at an assertion.

use std::ops::Range;

use rankscope_time::Rank;

use super::pieces::{Piece, assemble};
use crate::{Batch, Error, causal_cells};

/// Elements that the original counts for a moved query token and for a token of context.
const QUERY_ELEMENTS: f64 = 4096.0;
const KEY_ELEMENTS: f64 = 2048.0;

/// Plans `layout` as the original does.
///
/// # Errors
/// [`Error::NotAPair`] when a rank holds more than two runs of a document; [`Error::Overflow`].
pub fn greedy(layout: &Batch, tolerance: f64) -> Result<Batch, Error> {
    let mut items = items(layout)?;
    let mut loads = vec![0_u64; layout.world_size() as usize];
    for item in &items {
        let load = &mut loads[item.at.0 as usize];
        *load = load.checked_add(item.cells()).ok_or(Error::Overflow { what: "the attention cells of one rank" })?;
    }
    let mean = loads.iter().map(|&load| load as f64).sum::<f64>() / loads.len() as f64;
    let mut receivers: Vec<usize> = (0..loads.len()).filter(|&rank| (loads[rank] as f64) < mean).collect();
    receivers.sort_by(|&a, &b| (mean - loads[b] as f64).total_cmp(&(mean - loads[a] as f64)));
    for receiver in receivers {
        while mean - loads[receiver] as f64 > tolerance * mean {
            let Some((best, moved)) = cheapest(&items, &loads, receiver, mean) else { break };
            let item = &mut items[best];
            let to = Rank(receiver as u32);
            let (from, cells, split) = match item.split(moved, to) {
                Split::Whole => (std::mem::replace(&mut item.at, to), item.cells(), None),
                Split::Pair(pair) => (item.at, pair.cells(), Some(pair)),
                Split::Nothing => break,
            };
            loads[from.0 as usize] -= cells;
            loads[receiver] += cells;
            items.extend(split);
        }
    }
    let pieces = items.iter().flat_map(|item| {
        item.runs().into_iter().map(|run| Piece {
            document: item.document,
            start: run.start,
            end: run.end,
            home: item.home,
            at: item.at,
        })
    });
    assemble(layout, pieces.collect())
}

/// A pair of runs of one document on one rank, each as long as the other but for a token; a whole document is one run.
struct Item {
    document: usize,
    length: u32,
    home: Rank,
    at: Rank,
    head: Range<u32>,
    tail: Option<Range<u32>>,
}

enum Split {
    Whole,
    Pair(Item),
    Nothing,
}

impl Item {
    fn runs(&self) -> Vec<Range<u32>> {
        std::iter::once(self.head.clone()).chain(self.tail.clone()).filter(|run| !run.is_empty()).collect()
    }

    fn cells(&self) -> u64 {
        let run = |run: &Range<u32>| causal_cells(u64::from(run.end - run.start), u64::from(run.end));
        run(&self.head) + self.tail.as_ref().map_or(0, run)
    }

    /// Cuts off what holds `moved` cells, for the rank `to`.
    fn split(&mut self, moved: f64, to: Rank) -> Split {
        if moved >= self.cells() as f64 {
            return Split::Whole;
        }
        let tokens = (moved / (f64::from(self.length) + 1.0)) as u32;
        if tokens == 0 {
            return Split::Nothing;
        }
        let middle = self.head.start + (self.head.end - self.head.start) / 2;
        let tail = self.tail.get_or_insert_with(|| middle..std::mem::replace(&mut self.head.end, middle));
        let (from_head, from_tail) = (tokens.min(self.head.end - self.head.start), tokens.min(tail.end - tail.start));
        let head = self.head.end - from_head..self.head.end;
        let pair = Item {
            document: self.document,
            length: self.length,
            home: self.home,
            at: to,
            head,
            tail: Some(tail.start..tail.start + from_tail),
        };
        self.head.end -= from_head;
        tail.start += from_tail;
        Split::Pair(pair)
    }
}

/// The item that gives `receiver` the most cells per element, and how many it gives.
fn cheapest(items: &[Item], loads: &[u64], receiver: usize, mean: f64) -> Option<(usize, f64)> {
    let need = mean - loads[receiver] as f64;
    let mut best: Option<(f64, usize, f64)> = None;
    for (index, item) in items.iter().enumerate() {
        let surplus = loads[item.at.0 as usize] as f64 - mean;
        if surplus <= 0.0 {
            continue;
        }
        let moved = surplus.min(need).min(item.cells() as f64);
        let context = f64::from(item.length) + 1.0;
        let price = (moved / context * QUERY_ELEMENTS + context * KEY_ELEMENTS) / moved;
        if moved > 0.0 && best.is_none_or(|best| price < best.0) {
            best = Some((price, index, moved));
        }
    }
    best.map(|(_, index, moved)| (index, moved))
}

/// The runs that each rank holds of each document, as the original pairs them up.
fn items(layout: &Batch) -> Result<Vec<Item>, Error> {
    let mut items: Vec<Item> = Vec::new();
    for (document, shards) in layout.documents().enumerate() {
        let first = items.len();
        let length = shards.iter().map(|shard| shard.tokens).sum();
        let mut end = 0;
        for (index, shard) in shards.iter().enumerate() {
            let run = end..end + shard.tokens;
            end = run.end;
            match items[first..].iter_mut().find(|item| item.home == shard.linear) {
                Some(item) if item.tail.is_none() => item.tail = Some(run),
                Some(_) => return Err(Error::NotAPair { document, shard: index, rank: shard.linear }),
                None => items.push(Item { document, length, home: shard.linear, at: shard.linear, head: run, tail: None }),
            }
        }
    }
    Ok(items)
}
