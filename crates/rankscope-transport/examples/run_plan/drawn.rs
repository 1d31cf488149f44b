//! Batches drawn from a seed, in the layouts that jobs have and in those that break backends.

use rankscope_dispatch::{Batch, Error, Shard, SplitBatch, SplitTask};
use rankscope_time::Rank;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// A document lives on one rank and is computed by several.
    DataParallel,
    /// Documents cross the borders of ranks.
    ContextParallel,
    /// Every second rank has nothing to hold; every third computes nothing.
    Idle,
    /// One document over all ranks, computed by all ranks.
    OneHuge,
}

impl Layout {
    pub(crate) const ALL: [Self; 4] = [Self::DataParallel, Self::ContextParallel, Self::Idle, Self::OneHuge];
}

pub(crate) fn batch(world_size: u32, layout: Layout, seed: u64) -> Result<Batch, Error> {
    let mut chance = Chance(seed);
    let mut batch = Batch::new(world_size)?;
    let documents = if matches!(layout, Layout::OneHuge) { 1 } else { 3 * world_size };
    for document in 0..documents {
        let shards = match layout {
            Layout::OneHuge => 2 * world_size,
            _ => 1 + chance.below(6),
        };
        let shard = |number| {
            let anybody = chance.below(world_size);
            let (linear, attention) = match layout {
                Layout::DataParallel => (document, anybody),
                Layout::ContextParallel => (chance.below(world_size), anybody),
                Layout::Idle => (2 * number, anybody / 3 * 3 + 1),
                Layout::OneHuge => (number / 2, number),
            };
            Shard { linear: Rank(linear % world_size), attention: Rank(attention % world_size), tokens: chance.below(40) }
        };
        batch.push(&(0..shards).map(shard).collect::<Vec<_>>())?;
    }
    Ok(batch)
}

/// The same documents in tiles of queries by keys, each computed by anybody.
pub(crate) fn tiles(layout: &Batch, seed: u64) -> Result<SplitBatch, Error> {
    let mut chance = Chance(seed);
    let mut tasks = Vec::new();
    for (document, shards) in layout.documents().enumerate() {
        let tokens = shards.iter().map(|shard| shard.tokens).sum();
        let mut bounds: Vec<u32> = [0, tokens].into_iter().chain((0..4).map(|_| chance.below(tokens + 1))).collect();
        bounds.sort_unstable();
        bounds.dedup();
        for (row, queries) in bounds.windows(2).enumerate() {
            for keys in bounds.windows(2).take(row + 1) {
                let rank = Rank(chance.below(layout.world_size()));
                tasks.push(SplitTask { document, queries: queries[0]..queries[1], keys: keys[0]..keys[1], rank });
            }
        }
    }
    SplitBatch::new(layout, tasks)
}

/// splitmix64.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % u64::from(bound)) as u32
    }
}
