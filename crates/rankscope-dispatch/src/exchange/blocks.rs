//! Where every message lies in both of its buffers, and where in its message each document's part lies.
//!
//! A message holds the query rows of all documents, then the keys, then the values; within each, documents in order. Buffers
//! hold messages by peer. A block is described from the linear to the attention side; the way back swaps the two buffers.

use super::outline::Outline;
use super::{Direction, TensorRows};
use crate::{Batch, Error};

/// All messages of one exchange, whichever way they go.
pub(super) struct Blocks {
    /// By linear rank, then attention rank; none without bytes.
    pub(super) blocks: Vec<Block>,
    /// By document, then destination, then source of its [`Outline`]. A document without bytes for a pair has no part there.
    pub(super) parts: Vec<Part>,
    /// Buffer sizes on the linear side.
    pub(super) linear_bytes: Vec<u64>,
    /// Buffer sizes on the attention side.
    pub(super) attention_bytes: Vec<u64>,
    pub(super) wire: Wire,
}

/// The message between two ranks.
pub(super) struct Block {
    pub(super) linear: u32,
    pub(super) attention: u32,
    pub(super) queries: u64,
    pub(super) contexts: u64,
    pub(super) linear_at: u64,
    pub(super) attention_at: u64,
}

/// A document's part of a message.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) linear: u32,
    attention: u32,
    queries: u64,
    contexts: u64,
    /// Position in [`Blocks::blocks`].
    block: u32,
    /// Rows of its message before it.
    queries_before: u64,
    contexts_before: u64,
}

/// Bytes of one row in a message.
#[derive(Clone, Copy)]
pub(super) struct Wire {
    pub(super) query: u64,
    /// Of a key; a value has the same.
    pub(super) context: u64,
}

/// Where a document's part starts, on both sides.
#[derive(Clone, Copy, Default)]
pub(super) struct PartAt {
    pub(super) linear_query: u64,
    pub(super) linear_key: u64,
    pub(super) attention_query: u64,
    pub(super) attention_key: u64,
    /// From a key to its value.
    pub(super) value_after: u64,
}

impl Blocks {
    pub(super) fn new(batch: &Batch, direction: Direction, tensors: &[TensorRows]) -> Result<Self, Error> {
        let wire = Wire::of(tensors);
        let mut parts = parts(batch, direction)?;
        fits_u64(parts.iter().map(|part| (part.queries, part.contexts)), wire)?;
        let mut blocks = blocks(batch.world_size(), &mut parts);
        let (linear_bytes, attention_bytes) = place(&mut blocks, wire, batch.world_size());
        Ok(Self { blocks, parts, linear_bytes, attention_bytes, wire })
    }

    /// Where the part of the document at `index` of [`Self::parts`] starts.
    pub(super) fn part_at(&self, index: usize) -> PartAt {
        let part = &self.parts[index];
        let Some(block) = self.blocks.get(part.block as usize) else { return PartAt::default() };
        let query = part.queries_before * self.wire.query;
        let key = block.queries * self.wire.query + part.contexts_before * self.wire.context;
        PartAt {
            linear_query: block.linear_at + query,
            linear_key: block.linear_at + key,
            attention_query: block.attention_at + query,
            attention_key: block.attention_at + key,
            value_after: block.contexts * self.wire.context,
        }
    }
}

impl Wire {
    /// Of tensors with a row for each query, and, if there are more, one for each key.
    pub(super) fn of(tensors: &[TensorRows]) -> Self {
        Self { query: tensors[0].wire_row_bytes, context: tensors.get(1).map_or(0, |key| key.wire_row_bytes) }
    }
}

impl Block {
    pub(super) fn bytes(&self, wire: Wire) -> u64 {
        self.queries * wire.query + 2 * self.contexts * wire.context
    }
}

/// Puts messages, by linear rank and then attention rank, one after the other into the buffers of both. Gives the sizes of these,
/// on the linear side and on the other.
pub(super) fn place(blocks: &mut [Block], wire: Wire, world_size: u32) -> (Vec<u64>, Vec<u64>) {
    let (mut linear, mut attention) = (vec![0; world_size as usize], vec![0; world_size as usize]);
    for block in blocks {
        let ends = (&mut linear[block.linear as usize], &mut attention[block.attention as usize]);
        (block.linear_at, block.attention_at) = (*ends.0, *ends.1);
        *ends.0 += block.bytes(wire);
        *ends.1 += block.bytes(wire);
    }
    (linear, attention)
}

/// One part for every destination and source of every document.
fn parts(batch: &Batch, direction: Direction) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::with_capacity(batch.shards().len());
    let (mut outline, mut contexts) = (Outline::new(batch.world_size()), Vec::new());
    for document in batch.documents() {
        outline.draw(document);
        for (destination, &attention) in outline.destinations.iter().enumerate() {
            if direction.has_contexts() {
                outline.contexts(destination, &mut contexts);
            } else {
                contexts.clear();
                contexts.resize(outline.sources.len(), 0);
            }
            let queries = &outline.queries[destination * outline.sources.len()..];
            for ((&linear, &queries), &contexts) in outline.sources.iter().zip(queries).zip(&contexts) {
                let (block, queries_before, contexts_before) = (u32::MAX, 0, 0);
                parts.push(Part { linear, attention, queries, contexts, block, queries_before, contexts_before });
            }
        }
    }
    match u32::try_from(parts.len()) {
        Ok(count) if count < u32::MAX => Ok(parts),
        _ => Err(Error::Overflow32 { what: "the pairs of ranks of all documents" }),
    }
}

/// Whether no offset or size can leave the range; all of them are bounded by the bytes of the whole exchange.
pub(super) fn fits_u64(mut rows: impl Iterator<Item = (u64, u64)>, wire: Wire) -> Result<(), Error> {
    let bytes = rows.try_fold(0_u128, |sum, (queries, contexts)| {
        sum.checked_add(u128::from(queries) * u128::from(wire.query))?
            .checked_add(2 * u128::from(contexts) * u128::from(wire.context))
    });
    match bytes {
        Some(bytes) if bytes <= u128::from(u64::MAX) => Ok(()),
        _ => Err(Error::Overflow { what: "the bytes of one exchange" }),
    }
}

/// Sorts parts into messages. Two counting sorts keep documents in order within a pair of ranks.
fn blocks(world_size: u32, parts: &mut [Part]) -> Vec<Block> {
    let by_attention = counting_sort(0..parts.len() as u32, world_size, |index| parts[index as usize].attention);
    let order = counting_sort(by_attention.into_iter(), world_size, |index| parts[index as usize].linear);
    let mut blocks: Vec<Block> = Vec::new();
    for index in order {
        let part = &mut parts[index as usize];
        if part.queries + part.contexts == 0 {
            continue;
        }
        let (linear, attention) = (part.linear, part.attention);
        if blocks.last().is_none_or(|block| (block.linear, block.attention) != (linear, attention)) {
            blocks.push(Block { linear, attention, queries: 0, contexts: 0, linear_at: 0, attention_at: 0 });
        }
        part.block = blocks.len() as u32 - 1;
        if let Some(block) = blocks.last_mut() {
            (part.queries_before, part.contexts_before) = (block.queries, block.contexts);
            block.queries += part.queries;
            block.contexts += part.contexts;
        }
    }
    blocks
}

/// Stable, by a key below `keys`.
fn counting_sort(items: impl ExactSizeIterator<Item = u32> + Clone, keys: u32, key: impl Fn(u32) -> u32) -> Vec<u32> {
    let mut next = vec![0_u32; keys as usize + 1];
    for item in items.clone() {
        next[key(item) as usize + 1] += 1;
    }
    for at in 0..keys as usize {
        next[at + 1] += next[at];
    }
    let mut sorted = vec![0; items.len()];
    for item in items {
        let place = &mut next[key(item) as usize];
        sorted[*place as usize] = item;
        *place += 1;
    }
    sorted
}
