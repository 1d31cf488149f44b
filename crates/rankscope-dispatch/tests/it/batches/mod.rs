//! Batches for laws: few ranks, odd shapes.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::{Batch, Shard};
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
