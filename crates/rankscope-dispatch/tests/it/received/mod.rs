//! What a plan makes ranks receive, for laws about caps.

use rankscope_dispatch::Batch;
use rankscope_dispatch::planner::Prices;

/// Bytes that each rank receives, counted without the planner's ledger.
pub(crate) fn received(plan: &Batch, prices: Prices) -> Vec<u64> {
    let mut bytes = vec![0; plan.world_size() as usize];
    for document in plan.documents() {
        let mut end = 0;
        let mut reach = vec![0; bytes.len()];
        for shard in document.iter().filter(|shard| shard.tokens > 0) {
            end += u64::from(shard.tokens);
            reach[shard.attention.0 as usize] = end;
            if shard.linear != shard.attention {
                bytes[shard.attention.0 as usize] += u64::from(shard.tokens) * prices.query / 2;
                bytes[shard.linear.0 as usize] += u64::from(shard.tokens) * prices.query / 2;
            }
        }
        let mut start = 0;
        for shard in document {
            for (rank, reach) in reach.iter().enumerate().filter(|(rank, _)| *rank != shard.linear.0 as usize) {
                bytes[rank] += (reach.saturating_sub(start)).min(u64::from(shard.tokens)) * prices.key;
            }
            start += u64::from(shard.tokens);
        }
    }
    bytes
}
