//! The index of one rank: a single pass over the batch, which counts for all ranks and keeps the documents that this one has a
//! part in. So a rank's part of a plan costs the reading of the batch, and no more memory than a few numbers a rank.
//!
//! Tasks in the order of slots have no place that one pass could know; they go by the index of all ranks.

use super::Index;
use super::index::{Ahead, Receiver, Source, fits};
use crate::{Batch, Error, Shard};

/// The index in which `rank`, which must exist, is the only one and the first; [`Index::held`] is of all of them. Tasks are in
/// the order of documents.
pub(super) fn alone(batch: &Batch, rank: u32) -> Result<Index, Error> {
    let shards = batch.shards().len();
    if u32::try_from(shards).is_err() {
        return Err(Error::TooLarge { shape: vec![shards] });
    }
    let mut pass = Pass::new(batch.world_size());
    let mut index = Index { world_size: batch.world_size(), ..Index::default() };
    let (mut copies, mut runs) = (0, 0);
    for document in batch.documents() {
        pass.document(document.len() as u64);
        let mut context = 0;
        if !document.iter().any(|shard| shard.linear.0 == rank || shard.attention.0 == rank) {
            for shard in document {
                pass.shard(shard, &mut context);
            }
            continue;
        }
        let first = index.sources.len() as u32;
        let end = first + document.len() as u32;
        for (shard, at) in document.iter().zip(first..) {
            let (source, receiver, query_offset) = pass.shard(shard, &mut context);
            if shard.linear.0 == rank {
                index.by_slot.push(at);
                copies += end - at;
            }
            if shard.attention.0 == rank {
                index.by_task.push(at);
                runs += at + 1 - first;
            }
            index.sources.push(Source { first, ..source });
            index.receivers.push(receiver);
            index.ahead.push(Ahead { end, context: context as u32 - shard.tokens, query_offset });
        }
    }
    index.held = pass.finish()?;
    index.replicas = pass.replicas as u32;
    index.slots = vec![0, index.by_slot.len() as u32];
    index.tasks = vec![0, index.by_task.len() as u32];
    (index.copies, index.runs) = (vec![0, copies], vec![0, runs]);
    Ok(index)
}

/// What all ranks hold and receive of the documents so far.
struct Pass {
    held: Vec<u64>,
    received: Vec<Received>,
    replicas: u64,
    copies: u64,
}

#[derive(Clone, Copy, Default)]
struct Received {
    queries: u64,
    keys: u64,
}

impl Pass {
    fn new(world_size: u32) -> Self {
        let ranks = world_size as usize;
        Self { held: vec![0; ranks], received: vec![Received::default(); ranks], replicas: 0, copies: 0 }
    }

    fn document(&mut self, shards: u64) {
        self.replicas = self.replicas.max(shards);
        self.copies += shards * (shards + 1) / 2;
    }

    /// The places of a shard after `context` tokens of its document, which are then more. Whatever is beyond 32 bits is refused
    /// in the end.
    fn shard(&mut self, shard: &Shard, context: &mut u64) -> (Source, Receiver, u32) {
        let tokens = u64::from(shard.tokens);
        *context += tokens;
        let (held, received) = (&mut self.held[shard.linear.0 as usize], &mut self.received[shard.attention.0 as usize]);
        let source = Source { rank: shard.linear.0, start: *held as u32, tokens: shard.tokens, first: 0 };
        let receiver = Receiver { rank: shard.attention.0, first_key: received.keys as u32 };
        let query_offset = received.queries as u32;
        *held += tokens;
        received.queries += tokens;
        received.keys = received.keys.saturating_add(*context);
        (source, receiver, query_offset)
    }

    /// Tokens that each rank holds.
    fn finish(&self) -> Result<Vec<u32>, Error> {
        let most_received = self.received.iter().map(|rank| rank.queries.max(rank.keys)).max().unwrap_or(0);
        fits(self.held.iter().copied().max().unwrap_or(0), most_received, self.replicas, self.copies)?;
        Ok(self.held.iter().map(|&tokens| tokens as u32).collect())
    }
}
