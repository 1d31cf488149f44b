//! Random batches: data-parallel and context-parallel linear layouts, several shards of a document on one rank, shards
//! without tokens, ranks without shards, one rank alone.

use proptest::prelude::*;
use rankscope_dispatch::{Batch, Shard};
use rankscope_time::Rank;

/// Batches over up to `ranks` ranks.
pub(crate) fn batches(ranks: u32) -> impl Strategy<Value = Batch> {
    (1..=ranks, any::<bool>()).prop_flat_map(|(world_size, spread)| {
        let shard = (0..world_size, 0..world_size, prop_oneof![1 => Just(0_u32), 4 => 1..50_u32]);
        let document = prop::collection::vec(shard, 0..7);
        prop::collection::vec(document, 0..12).prop_map(move |documents| {
            let mut batch = Batch::new(world_size).unwrap();
            for document in documents {
                let home = document.first().map_or(0, |shard| shard.0);
                let shards: Vec<_> = document
                    .iter()
                    .map(|&(linear, attention, tokens)| Shard {
                        linear: Rank(if spread { linear } else { home }),
                        attention: Rank(attention),
                        tokens,
                    })
                    .collect();
                batch.push(&shards).unwrap();
            }
            batch
        })
    })
}

/// The documents of `batch` by the rank of their first shard: the order in which the original lists them.
pub(crate) fn by_rank(batch: &Batch) -> Batch {
    let mut documents: Vec<_> = batch.documents().collect();
    documents.sort_by_key(|document| document.first().map(|shard| shard.linear));
    let mut sorted = Batch::new(batch.world_size()).unwrap();
    documents.iter().for_each(|document| sorted.push(document).unwrap());
    sorted
}

/// Copies for which the padded arrays need room.
pub(crate) fn replicas(batch: &Batch) -> usize {
    batch.documents().map(<[Shard]>::len).max().unwrap_or(0)
}
