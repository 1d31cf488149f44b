//! What must arrive, straight from what an exchange is for: no messages, no buffers, no de-duplication. Slow and plain, because
//! exchanges are held against it.

use std::ops::Range;

use crate::{Batch, Direction, TensorRows};

/// The tensors of every rank after the exchange of `batch` in `direction`, tasks with their whole contexts. `inputs` hold what
/// [`execute`](super::execute) takes, and are as long. Of [`Direction::Backward`] only the gradients of the queries are given,
/// since those of keys are sums; see [`uses`].
#[must_use]
pub fn arrived(batch: &Batch, tensors: &[TensorRows], direction: Direction, inputs: &[Vec<Vec<u8>>]) -> Vec<Vec<Vec<u8>>> {
    let places = places(batch);
    if !direction.to_attention() {
        return returned(batch, &places, &tensors[0], inputs);
    }
    let mut ranks: Vec<_> = inputs.iter().map(|_| vec![Vec::new(); tensors.len()]).collect();
    let mut documents = places.as_slice();
    for document in batch.documents() {
        let (here, rest) = documents.split_at(document.len());
        documents = rest;
        for (index, shard) in document.iter().enumerate() {
            let task = &mut ranks[shard.attention.0 as usize];
            let bytes = |tensor: usize, place: &Place| &inputs[place.linear][tensor][place.bytes(place.row, &tensors[tensor])];
            task[0].extend_from_slice(bytes(0, &here[index]));
            for (tensor, context) in task.iter_mut().enumerate().skip(1) {
                here[..=index].iter().for_each(|key| context.extend_from_slice(bytes(tensor, key)));
            }
        }
    }
    ranks
}

/// Per rank and row in the linear layout: how many tasks use the token as a key.
#[must_use]
pub fn uses(batch: &Batch) -> Vec<Vec<u64>> {
    let mut ranks: Vec<Vec<u64>> = vec![Vec::new(); batch.world_size() as usize];
    for document in batch.documents() {
        for (shard, uses) in document.iter().rev().zip(1..).collect::<Vec<_>>().into_iter().rev() {
            ranks[shard.linear.0 as usize].extend(std::iter::repeat_n(uses, shard.tokens as usize));
        }
    }
    ranks
}

fn returned(batch: &Batch, places: &[Place], tensor: &TensorRows, inputs: &[Vec<Vec<u8>>]) -> Vec<Vec<Vec<u8>>> {
    let rows = batch.linear_tokens().into_iter();
    let mut ranks: Vec<_> = rows.map(|rows| vec![vec![0; (rows * tensor.row_bytes) as usize]]).collect();
    let mut next = vec![0; inputs.len()];
    for (shard, place) in batch.shards().iter().zip(places) {
        let task = &mut next[shard.attention.0 as usize];
        let from = &inputs[shard.attention.0 as usize][0][place.bytes(*task, tensor)];
        ranks[place.linear][0][place.bytes(place.row, tensor)].copy_from_slice(from);
        *task += place.rows;
    }
    ranks
}

/// Where a shard lives.
struct Place {
    linear: usize,
    row: u64,
    rows: u64,
}

impl Place {
    /// The bytes of the shard where its first row is `row`.
    fn bytes(&self, row: u64, tensor: &TensorRows) -> Range<usize> {
        (row * tensor.row_bytes) as usize..((row + self.rows) * tensor.row_bytes) as usize
    }
}

fn places(batch: &Batch) -> Vec<Place> {
    let mut next = vec![0; batch.world_size() as usize];
    let place = |shard: &crate::Shard| {
        let (linear, rows) = (shard.linear.0 as usize, u64::from(shard.tokens));
        let row = next[linear];
        next[linear] += rows;
        Place { linear, row, rows }
    };
    batch.shards().iter().map(place).collect()
}
