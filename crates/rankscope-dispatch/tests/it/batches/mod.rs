//! Batches for laws: few ranks, odd shapes.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::{Batch, Shard, SplitBatch, SplitTask};
use rankscope_time::Rank;

/// One to five ranks; documents without shards, shards without tokens, ranks without shards and documents spread over several
/// ranks all occur.
pub(crate) fn batch() -> impl Strategy<Value = Batch> {
    (1_u32..6).prop_flat_map(|world_size| {
        let shard = (0..world_size, 0..world_size, 0_u32..7).prop_map(|(linear, attention, tokens)| Shard {
            linear: Rank(linear),
            attention: Rank(attention),
            tokens,
        });
        vec(vec(shard, 0..7), 0..6).prop_map(move |documents| {
            let mut batch = Batch::new(world_size).expect("at least one rank");
            documents.iter().for_each(|document| batch.push(document).expect("ranks in range"));
            batch
        })
    })
}

/// Documents cut into tiles by queries and keys, each tile on a rank drawn by chance: one rank may have several tiles of the same
/// queries, or of the same keys, and any part of a context may be on any rank.
pub(crate) fn split_batch() -> impl Strategy<Value = SplitBatch> {
    let drawn = (batch(), vec(any::<u32>(), 0..5), vec(any::<u32>(), 64));
    drawn.prop_map(|(layout, cuts, chance)| {
        let mut tasks = Vec::new();
        for (document, shards) in layout.documents().enumerate() {
            let tokens: u32 = shards.iter().map(|shard| shard.tokens).sum();
            let mut bounds: Vec<u32> = cuts.iter().map(|cut| cut % (tokens + 1)).chain([0, tokens]).collect();
            bounds.sort_unstable();
            bounds.dedup();
            for (row, queries) in bounds.windows(2).enumerate() {
                for keys in bounds.windows(2).take(row + 1) {
                    let rank = Rank(chance[tasks.len() % chance.len()] % layout.world_size());
                    tasks.push(SplitTask { document, queries: queries[0]..queries[1], keys: keys[0]..keys[1], rank });
                }
            }
        }
        SplitBatch::new(&layout, tasks).expect("tiles of a grid compute everything once")
    })
}
