//! Metadata put to work: every token of every rank gets a number, and is moved.

use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::{Padded, orchestrate_simulate};

use super::error::{Result, TensorError};

/// What the numbers are, beside arrays of queries only, whole dispatches, and big ones.
pub(super) const RULE_QUERIES: &str = "token t of rank r = 1000*(r+1)+t+1, hidden size 1, zero past the rank own tokens";
pub(super) const RULE_WHOLE: &str = "token t of rank r = 1000*(r+1)+t+1, hidden size 1, zero past own tokens";
pub(super) const RULE_BIG: &str = "token t of rank r = 1000*(r+1)+t+1 (hidden 1); buffers padded with 0 to the widest rank";

/// The numbered tokens of every rank.
pub(super) fn numbered(lengths: &Padded) -> Result<Vec<Vec<i64>>> {
    let held: Vec<i64> = lengths.rows().map(|row| row.iter().sum()).collect();
    if held.iter().sum::<i64>() > MOST_TOKENS {
        return Err(TensorError::Tokens.into());
    }
    Ok(held.iter().zip(1..).map(|(&held, rank)| (1..=held).map(|token| 1000 * rank + token).collect()).collect())
}

/// What every rank has afterwards, in rows of `width`.
pub(super) fn moved(input: &[Vec<i64>], metadata: &Metadata, width: usize) -> Result<Padded> {
    let mut output = vec![vec![0; width]; metadata.world_size];
    orchestrate_simulate(input, &mut output, 1, metadata)?;
    Ok(Padded::new(&[metadata.world_size, width], output.concat())?)
}

/// The rows of an array.
pub(super) fn rows(array: &Padded) -> Vec<Vec<i64>> {
    array.rows().map(<[i64]>::to_vec).collect()
}

/// Tokens of the rank that receives the most.
pub(super) fn widest(metadata: &Metadata) -> usize {
    metadata.num_total_recv_tokens.iter().flatten().copied().max().map_or(0, |most| most as usize)
}

/// Tokens of the rank that holds the most.
pub(super) fn longest(input: &[Vec<i64>]) -> usize {
    input.iter().map(Vec::len).max().unwrap_or(0)
}

/// Whether buffers of so many ranks and tokens are worth moving.
pub(super) fn is_small(ranks: usize, width: usize) -> bool {
    ranks.saturating_mul(width) <= MOST_TOKENS as usize
}

/// A gigabyte of numbers.
const MOST_TOKENS: i64 = 1 << 27;
