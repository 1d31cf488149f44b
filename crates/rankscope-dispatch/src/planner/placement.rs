//! Where documents lie before anybody balances anything: the linear layout that a planner starts from.
//!
//! Ranks are filled in order with a fixed number of tokens. A document that crosses the border of a rank is cut, and each part
//! takes half of its tokens from the head of what is left of the document and half from its tail, so that early, cheap
//! queries and late, costly ones meet on every rank (dispatch spec 2.10).

use rankscope_time::Rank;

use crate::{Batch, Error, Shard};

/// Fills ranks in order, each with at most `tokens_per_rank`. Every task stays where its tokens lie.
///
/// # Errors
/// [`Error::NoRoom`] when the ranks together are too small; [`Error::NoRanks`].
pub fn place_in_order(lengths: &[u32], world_size: u32, tokens_per_rank: u64) -> Result<Batch, Error> {
    let mut batch = Batch::new(world_size)?;
    let (mut rank, mut room) = (0, tokens_per_rank);
    let (mut shards, mut tails) = (Vec::new(), Vec::new());
    for (document, &length) in lengths.iter().enumerate() {
        let mut left = length;
        while left > 0 {
            while room == 0 {
                rank += 1;
                room = tokens_per_rank;
                if rank >= world_size || tokens_per_rank == 0 {
                    return Err(Error::NoRoom { document, world_size, tokens_per_rank });
                }
            }
            let part = u32::try_from(room).map_or(left, |room| room.min(left));
            if part == length {
                shards.push(resident(rank, part));
            } else {
                shards.push(resident(rank, part / 2));
                tails.push(resident(rank, part - part / 2));
            }
            left -= part;
            room -= u64::from(part);
        }
        shards.extend(tails.drain(..).rev());
        shards.retain(|shard| shard.tokens > 0);
        batch.push(&shards)?;
        shards.clear();
    }
    Ok(batch)
}

/// Whole documents that already lie on ranks: one list of lengths per rank.
///
/// # Errors
/// [`Error::NoRanks`]; [`Error::Overflow`] when there are more than `u32::MAX` ranks.
pub fn place_on_ranks(lengths: &[Vec<u32>]) -> Result<Batch, Error> {
    let world_size = u32::try_from(lengths.len()).map_err(|_| Error::Overflow { what: "the ranks" })?;
    let mut batch = Batch::new(world_size)?;
    for (rank, lengths) in (0..).zip(lengths) {
        for &length in lengths {
            match length {
                0 => batch.push(&[])?,
                _ => batch.push(&[resident(rank, length)])?,
            }
        }
    }
    Ok(batch)
}

/// The smallest number of tokens per rank that holds all documents, a multiple of the block when there is more than one rank.
#[must_use]
pub fn tokens_per_rank_for(lengths: &[u32], world_size: u32) -> u64 {
    let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    match world_size {
        0 | 1 => tokens,
        _ => tokens.div_ceil(u64::from(world_size)).next_multiple_of(u64::from(super::BLOCK_TOKENS)),
    }
}

fn resident(rank: u32, tokens: u32) -> Shard {
    Shard { linear: Rank(rank), attention: Rank(rank), tokens }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_crosses_ranks_gives_each_a_head_and_a_tail() -> Result<(), Error> {
        let batch = place_in_order(&[6, 20], 2, 16)?;
        assert_eq!(batch.document(0), [resident(0, 6)]);
        assert_eq!(batch.document(1), [resident(0, 5), resident(1, 5), resident(1, 5), resident(0, 5)]);
        assert_eq!(batch.linear_tokens(), [16, 10]);
        Ok(())
    }

    #[test]
    fn a_part_of_one_token_has_no_head() -> Result<(), Error> {
        let batch = place_in_order(&[3, 2], 2, 4)?;
        assert_eq!(batch.document(1), [resident(1, 1), resident(0, 1)]);
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = place_in_order(&[4, 5], 2, 4);
        assert_eq!(refused, Err(Error::NoRoom { document: 1, world_size: 2, tokens_per_rank: 4 }));
        assert!(place_in_order(&[1], 2, 0).is_err());
        assert!(place_in_order(&[0], 2, 0).is_ok());
    }

    #[test]
    fn the_ranks_asked_for_are_large_enough() -> Result<(), Error> {
        for (lengths, world_size) in [(vec![1, 1, 1], 64), (vec![1000, 3, 77_777], 3), (vec![129], 1), (vec![], 4)] {
            let batch = place_in_order(&lengths, world_size, tokens_per_rank_for(&lengths, world_size))?;
            assert_eq!(batch.len(), lengths.len());
        }
        Ok(())
    }
}
