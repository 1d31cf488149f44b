//! The layout of context-parallel training on packed sequences, as Megatron and Transformer Engine have it: every document in
//! 2 x degree equal chunks, one from each end for every rank of the group, so that causal work is even within a document.

use rankscope_time::Rank;

use crate::{Batch, Error, Shard};

/// Documents on groups of `degree` ranks, a list of lengths per group: rank i of a group holds chunks i and 2 x degree - 1 - i of
/// each of its documents. Every task stays where its tokens lie.
///
/// # Errors
/// [`Error::NoRanks`] without a group or a degree; [`Error::UnequalChunks`] for a document whose tokens no such chunks make;
/// [`Error::TooManyRanks`].
pub fn place_zigzag(lengths: &[Vec<u32>], degree: u32) -> Result<Batch, Error> {
    let groups = u32::try_from(lengths.len()).map_err(|_| Error::Overflow { what: "the groups of ranks" })?;
    let world_size = groups.checked_mul(degree).ok_or(Error::Overflow32 { what: "the ranks of all groups" })?;
    let mut batch = Batch::new(world_size)?;
    let chunks = 2 * degree;
    for (group, lengths) in (0..).zip(lengths) {
        for &tokens in lengths {
            if !tokens.is_multiple_of(chunks) {
                return Err(Error::UnequalChunks { document: batch.len(), tokens, chunks });
            }
            let chunk = |chunk: u32| {
                let rank = Rank(group * degree + chunk.min(chunks - 1 - chunk));
                Shard { linear: rank, attention: rank, tokens: tokens / chunks }
            };
            let shards = if tokens == 0 { Vec::new() } else { (0..chunks).map(chunk).collect() };
            batch.push(&shards)?;
        }
    }
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rank_has_a_chunk_from_each_end() -> Result<(), Error> {
        let batch = place_zigzag(&[vec![16], vec![8, 0]], 2)?;
        let ranks = |document| batch.document(document).iter().map(|shard| shard.linear.0).collect::<Vec<_>>();
        assert_eq!([ranks(0), ranks(1), ranks(2)], [vec![0, 1, 1, 0], vec![2, 3, 3, 2], vec![]]);
        assert_eq!(batch.linear_tokens(), [8, 8, 4, 4]);
        Ok(())
    }

    #[test]
    fn what_cannot_be_cut_evenly_is_named() {
        let refused = place_zigzag(&[vec![8], vec![4, 6]], 2);
        assert_eq!(refused, Err(Error::UnequalChunks { document: 2, tokens: 6, chunks: 4 }));
        assert_eq!(place_zigzag(&[vec![8]], 0), Err(Error::NoRanks));
        assert_eq!(place_zigzag(&[], 4), Err(Error::NoRanks));
        assert!(place_zigzag(&[vec![0]], u32::MAX).is_err());
    }

    proptest! {
        #[test]
        fn every_rank_of_a_group_has_the_same_tokens_and_the_same_work(
            groups in prop::collection::vec(prop::collection::vec(0_u32..50, 0..5), 1..4),
            degree in 1_u32..6,
        ) {
            let lengths: Vec<Vec<u32>> =
                groups.iter().map(|group| group.iter().map(|chunk| chunk * 2 * degree).collect()).collect();
            let batch = place_zigzag(&lengths, degree)?;
            let (tokens, cells) = (batch.linear_tokens(), batch.cells()?);
            for group in 0..lengths.len() {
                let ranks = group * degree as usize..(group + 1) * degree as usize;
                prop_assert!(tokens[ranks.clone()].iter().all(|held| *held == tokens[ranks.start]));
                prop_assert!(cells[ranks.clone()].iter().all(|work| *work == cells[ranks.start]));
            }
        }
    }
}
