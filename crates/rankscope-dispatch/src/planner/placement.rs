//! Where documents lie before anybody balances anything: the linear layout that a planner starts from.
//!
//! Ranks are filled in order with a fixed number of tokens. A document that crosses the border of a rank is cut, and each part
//! takes half of its tokens from the head of what is left of the document and half from its tail, so that early, cheap
//! queries and late, costly ones meet on every rank (dispatch spec 2.10).

use rankscope_time::Rank;

use super::BLOCK_TOKENS;
use crate::{Batch, Error, Shard};

/// Fills ranks in order, each with at most `tokens_per_rank`. Every task stays where its tokens lie.
///
/// # Errors
/// [`Error::NoRoom`] when the ranks together are too small; [`Error::NoRanks`].
pub fn place_in_order(lengths: &[u32], world_size: u32, tokens_per_rank: u64) -> Result<Batch, Error> {
    fill(lengths, world_size, |part| part / 2, |_| tokens_per_rank)
}

/// Spreads documents evenly over all ranks, in order: the first ranks hold one token more where the number of tokens is no
/// multiple of the number of ranks. Where a share would end next to the end of a document (at most [`NEAR_TOKENS`] tokens and
/// one part in [`NEAR_PARTS`] of a share away), it ends there, and no document is cut for a few tokens; and else after a whole
/// number of blocks of the document, if that is as near. Every task stays where its tokens lie.
///
/// # Errors
/// [`Error::NoRanks`].
pub fn place_evenly(lengths: &[u32], world_size: u32) -> Result<Batch, Error> {
    let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
    let (share, more) = (tokens / u64::from(world_size.max(1)), tokens % u64::from(world_size.max(1)));
    let near = NEAR_TOKENS.min(share / NEAR_PARTS);
    let mut ends = lengths.iter().scan(0, |end, &length| {
        *end += u64::from(length);
        Some(*end)
    });
    let (mut below, mut above, mut filled) = (0, 0, 0);
    let room = |rank: u32| {
        let end = (u64::from(rank) + 1) * share + (u64::from(rank) + 1).min(more);
        while above < end {
            (below, above) = (above, ends.next().unwrap_or(tokens));
        }
        let nearest = if above - end <= end.saturating_sub(below) { above } else { below };
        let blocks = below + round_to_blocks(end.saturating_sub(below));
        let end = [nearest, blocks].into_iter().find(|near_by| near_by.abs_diff(end) <= near).unwrap_or(end);
        end - std::mem::replace(&mut filled, end)
    };
    fill(lengths, world_size, |part| head_in_blocks(part, share), room)
}

/// Half of a part of a document, in whole blocks unless there are too few. Less than two blocks stay in one piece where that is
/// little of a share: halves would be crumbs to a kernel, and where few tokens lie hardly matters to the balance.
fn head_in_blocks(part: u32, share: u64) -> u32 {
    match (part < 2 * BLOCK_TOKENS, u64::from(part) <= share / LITTLE_PARTS) {
        (true, true) => part,
        (true, false) => part / 2,
        (false, false) if part < 4 * BLOCK_TOKENS => part / 2,
        // No more than the part, which is several blocks.
        (false, _) => round_to_blocks(u64::from(part / 2)) as u32,
    }
}

/// The part of a share that is little: one in so many.
const LITTLE_PARTS: u64 = 16;

/// The nearest whole number of blocks.
fn round_to_blocks(tokens: u64) -> u64 {
    let block = u64::from(BLOCK_TOKENS);
    (tokens + block / 2) / block * block
}

/// The most tokens that a share of [`place_evenly`] gives up, or has too many, at each end to leave a document whole.
pub const NEAR_TOKENS: u64 = BLOCK_TOKENS as u64 / 2;
/// The largest part of a share that this is: one in so many.
pub const NEAR_PARTS: u64 = 256;

/// Fills ranks in order, each with at most the tokens that `room` says. Of a part of a document `head` says what comes from its
/// head.
fn fill(lengths: &[u32], world_size: u32, head: impl Fn(u32) -> u32, mut room: impl FnMut(u32) -> u64) -> Result<Batch, Error> {
    let mut batch = Batch::new(world_size)?;
    let tokens_per_rank = room(0);
    let (mut rank, mut left_on_rank) = (0, tokens_per_rank);
    let (mut shards, mut tails) = (Vec::new(), Vec::new());
    for (document, &length) in lengths.iter().enumerate() {
        let mut left = length;
        while left > 0 {
            while left_on_rank == 0 {
                rank += 1;
                if rank >= world_size {
                    return Err(Error::NoRoom { document, world_size, tokens_per_rank });
                }
                left_on_rank = room(rank);
            }
            let part = u32::try_from(left_on_rank).map_or(left, |room| room.min(left));
            if part == length {
                shards.push(resident(rank, part));
            } else {
                shards.push(resident(rank, head(part)));
                tails.push(resident(rank, part - head(part)));
            }
            left -= part;
            left_on_rank -= u64::from(part);
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

    fn even(lengths: &[u32], world_size: u32) -> Batch {
        place_evenly(lengths, world_size).expect("ranks")
    }

    #[test]
    fn equal_documents_on_as_many_ranks_stay_whole() {
        let batch = even(&[4100; 64], 64);
        assert_eq!(batch.linear_tokens(), [4100; 64]);
        assert!(batch.documents().all(|document| document.len() == 1));
        assert!(even(&[2000; 64], 16).documents().all(|document| document.len() == 1));
    }

    #[test]
    fn documents_that_differ_by_a_few_tokens_stay_whole() {
        let lengths: Vec<u32> = (0..64).map(|index| 8192 - index % 7).collect();
        assert!(even(&lengths, 64).documents().all(|document| document.len() == 1));
    }

    #[test]
    fn even_shares_are_whole_blocks_but_for_the_ends_of_documents() {
        let lengths: Vec<u32> = (1..40).map(|index| index * index * 77 + 4001).collect();
        for document in even(&lengths, 8).documents() {
            let odd = document.iter().filter(|shard| shard.tokens % BLOCK_TOKENS != 0).count();
            assert!(odd <= 1 || document.iter().any(|shard| shard.tokens < 4 * BLOCK_TOKENS), "{document:?}");
        }
    }

    #[test]
    fn less_than_two_blocks_beside_a_large_share_stay_in_one_piece() {
        let batch = even(&[65_636, 65_436], 2);
        assert_eq!(batch.document(0).iter().filter(|shard| shard.linear == Rank(1)).collect::<Vec<_>>(), [&resident(1, 100)]);
        // Of a small share, halves keep the work even.
        assert!(even(&[3000], 16).shards().len() > 16);
    }

    #[test]
    fn shares_are_even_whatever_the_lengths() {
        for (lengths, world_size) in [
            (vec![3000], 16),
            (vec![1000, 0, 5], 100),
            (vec![1, 1, 1], 64),
            (vec![1000, 3, 77_777], 3),
            (vec![129], 1),
            (vec![], 4),
            (vec![0, 0], 2),
            (vec![40_000, 8190, 3, 8200, 2, 16_000, 555], 9),
        ] {
            let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            let shares = even(&lengths, world_size).linear_tokens();
            let share = tokens / u64::from(world_size);
            let near = NEAR_TOKENS.min(share / NEAR_PARTS);
            let (least, most) = (share.saturating_sub(2 * near), share + 1 + 2 * near);
            assert_eq!(shares.iter().sum::<u64>(), tokens, "{lengths:?}");
            assert!(shares.iter().all(|held| (least..=most).contains(held)), "{lengths:?}: {shares:?}");
        }
    }
}
