//! Runs of tokens with the rank they live on and the rank that computes them, put together into a [`Batch`].

use rankscope_time::Rank;

use crate::{Batch, Error, Shard};

/// A run of consecutive tokens of one document, by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) document: usize,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) home: Rank,
    pub(super) at: Rank,
}

/// The pieces of all documents of `layout`, in any order, as a batch of as many documents.
pub(super) fn assemble(layout: &Batch, mut pieces: Vec<Piece>) -> Result<Batch, Error> {
    pieces.sort_unstable_by_key(|piece| (piece.document, piece.start));
    let mut batch = Batch::new(layout.world_size())?;
    let mut shards = Vec::new();
    let mut rest = pieces.as_slice();
    for document in 0..layout.len() {
        let (own, others) = rest.split_at(rest.partition_point(|piece| piece.document == document));
        rest = others;
        shards.clear();
        shards.extend(own.iter().map(|piece| Shard {
            linear: piece.home,
            attention: piece.at,
            tokens: piece.end - piece.start,
        }));
        batch.push(&shards)?;
    }
    Ok(batch)
}
