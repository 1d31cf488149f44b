//! Documents on ranks by length, the longest first, where the order of documents is free.
//!
//! A document lies whole on one rank if it fits; if not, on as few ranks as have room, in equal shares as far as their rooms allow.
//! Shares are whole blocks but for one of each document, as long as rooms are. With [`Degree::ByWork`] a document also lies on several ranks where one
//! would have too much to compute: to hold a share of the keys costs less than to fetch queries later.
//!
//! Tokens come first: no rank ever holds more than it may, and whether the work is even is for a planner to see to.

use std::collections::BTreeSet;

use rankscope_time::Rank;

use super::BLOCK_TOKENS;
use crate::{Batch, Error, Shard, causal_cells};

/// How many ranks a document is cut for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Degree {
    /// As few as can hold it.
    ByTokens,
    /// As few as can hold it and compute it, within so many cells each.
    ByWork(u64),
}

/// What each rank gets of a document that lies on several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Half of its share from the head of the document and half from the tail, so that all have alike to compute.
    HeadAndTail,
    /// One run: less context to fetch, but the last ranks have most to compute.
    Run,
}

/// Lays documents out over ranks that hold at most `tokens_per_rank` each. Every task stays where its tokens lie.
///
/// # Errors
/// [`Error::NoRoom`] when the ranks together are too small; [`Error::NoRanks`].
pub(super) fn pack(lengths: &[u32], world_size: u32, tokens_per_rank: u64, degree: Degree, cut: Cut) -> Result<Batch, Error> {
    let mut batch = Batch::new(world_size)?;
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&document| std::cmp::Reverse(lengths[document]));
    let mut ranks = Ranks::new(world_size, tokens_per_rank);
    let mut documents: Vec<Vec<Shard>> = vec![Vec::new(); lengths.len()];
    for document in order {
        let tokens = lengths[document];
        let shares = match degree {
            Degree::ByTokens => ranks.fewest(tokens),
            Degree::ByWork(most) => ranks.able(tokens, most).or_else(|| ranks.fewest(tokens)),
        };
        let shares = shares.ok_or(Error::NoRoom { document, world_size, tokens_per_rank })?;
        documents[document] = shards(&shares, cut);
        ranks.add(&documents[document]);
    }
    documents.iter().try_for_each(|shards| batch.push(shards))?;
    Ok(batch)
}

/// What ranks have so far.
struct Ranks {
    tokens_per_rank: u64,
    tokens: Vec<u64>,
    cells: Vec<u64>,
    by_tokens: BTreeSet<(u64, u32)>,
    by_cells: BTreeSet<(u64, u32)>,
}

impl Ranks {
    fn new(world_size: u32, tokens_per_rank: u64) -> Self {
        let empty = vec![0; world_size as usize];
        let by_tokens: BTreeSet<_> = (0..world_size).map(|rank| (0, rank)).collect();
        Self { tokens_per_rank, tokens: empty.clone(), cells: empty, by_cells: by_tokens.clone(), by_tokens }
    }

    fn room(&self, rank: u32) -> u64 {
        self.tokens_per_rank - self.tokens[rank as usize]
    }

    /// The emptiest ranks that together have room, and the tokens that each gets.
    fn fewest(&self, tokens: u32) -> Option<Vec<(u32, u32)>> {
        let mut chosen = Vec::new();
        let mut room = 0;
        let mut emptiest = self.by_tokens.iter();
        while room < u64::from(tokens) {
            let &(_, rank) = emptiest.next()?;
            room += self.room(rank);
            chosen.push(rank);
        }
        chosen.reverse();
        Some(self.shares(&chosen, tokens))
    }

    /// The ranks with the least to compute that have room for equal shares, so many that none has more than `most` cells; if
    /// there are none, as many as come near.
    fn able(&self, tokens: u32, most: u64) -> Option<Vec<(u32, u32)>> {
        let cells = causal_cells(tokens.into(), tokens.into());
        let least = cells.div_ceil(most.max(1)).max(u64::from(tokens).div_ceil(self.tokens_per_rank.max(1))).max(1);
        let mut found = None;
        for degree in least..=least.saturating_mul(2).min(self.tokens.len() as u64).min(u64::from(tokens)) {
            let share = u64::from(tokens).div_ceil(degree).next_multiple_of(SHARE_TOKENS).min(tokens.into());
            let asked = self.by_cells.iter().take(degree as usize + LOOKED_AT);
            let with_room = asked.map(|&(_, rank)| rank).filter(|&rank| self.room(rank) >= share);
            let mut chosen: Vec<u32> = with_room.take(degree as usize).collect();
            if chosen.len() < degree as usize {
                continue;
            }
            let heaviest = chosen.last().map_or(0, |&rank| self.cells[rank as usize]);
            chosen.sort_by_key(|&rank| self.room(rank));
            found = Some(self.shares(&chosen, tokens));
            if heaviest + cells / degree <= most {
                break;
            }
        }
        found
    }

    /// Equal shares as far as there is room, in whole blocks from each end but for the last. `ranks` are those with the least
    /// room first, and have room for `tokens` together: whoever has less than an equal share leaves more to those with more room.
    fn shares(&self, ranks: &[u32], tokens: u32) -> Vec<(u32, u32)> {
        let mut left = u64::from(tokens);
        let mut shares = Vec::with_capacity(ranks.len());
        for (place, &rank) in ranks.iter().enumerate() {
            let equal = left.div_ceil((ranks.len() - place) as u64);
            let share = equal.next_multiple_of(SHARE_TOKENS).min(self.room(rank)).min(left);
            // A crumb that would be left for the next rank stays here if it fits.
            let crumb = left - share < CRUMB_TOKENS && left <= self.room(rank);
            let share = if crumb { left } else { share };
            left -= share;
            // No more than `tokens`, which fit.
            shares.push((rank, share as u32));
        }
        shares
    }

    fn add(&mut self, shards: &[Shard]) {
        let mut end = 0;
        for shard in shards {
            end += u64::from(shard.tokens);
            let (rank, place) = (shard.linear.0, shard.linear.0 as usize);
            self.by_tokens.remove(&(self.tokens[place], rank));
            self.by_cells.remove(&(self.cells[place], rank));
            self.tokens[place] += u64::from(shard.tokens);
            self.cells[place] = self.cells[place].saturating_add(causal_cells(shard.tokens.into(), end));
            self.by_tokens.insert((self.tokens[place], rank));
            self.by_cells.insert((self.cells[place], rank));
        }
    }
}

fn shards(shares: &[(u32, u32)], cut: Cut) -> Vec<Shard> {
    let shard = |rank: u32, tokens: u32| Shard { linear: Rank(rank), attention: Rank(rank), tokens };
    let head = |share: u32| match cut {
        // Neither end is less than half a block.
        Cut::HeadAndTail if shares.len() > 1 && share >= 2 * BLOCK_TOKENS => {
            (share / 2 + BLOCK_TOKENS / 2) / BLOCK_TOKENS * BLOCK_TOKENS
        }
        _ => share,
    };
    let heads = shares.iter().map(|&(rank, share)| shard(rank, head(share)));
    let tails = shares.iter().rev().map(|&(rank, share)| shard(rank, share - head(share)));
    heads.chain(tails).filter(|shard| shard.tokens > 0).collect()
}

/// What shares are multiples of: a block from each end.
pub(super) const SHARE_TOKENS: u64 = 2 * BLOCK_TOKENS as u64;
/// A piece of fewer tokens is a crumb: more than half of a kernel's tile is empty.
const CRUMB_TOKENS: u64 = BLOCK_TOKENS as u64 / 2;
/// Ranks that are looked at beyond those needed, to find some with room. They are sorted by work, and few of those with the
/// least work are full.
const LOOKED_AT: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(lengths: &[u32], world_size: u32, tokens_per_rank: u64) -> Batch {
        pack(lengths, world_size, tokens_per_rank, Degree::ByTokens, Cut::HeadAndTail).expect("they fit")
    }

    #[test]
    fn documents_that_fit_lie_whole_whatever_their_order() {
        let batch = packed(&[100, 900, 500, 500], 2, 1000);
        assert_eq!(batch.linear_tokens(), [1000, 1000]);
        assert!(batch.documents().all(|document| document.len() == 1));
    }

    #[test]
    fn a_long_document_lies_on_as_few_ranks_as_hold_it_from_both_ends() {
        let batch = packed(&[4096], 8, 2048);
        let shards: Vec<_> = batch.document(0).iter().map(|shard| (shard.linear.0, shard.tokens)).collect();
        assert_eq!(shards, [(1, 1024), (0, 1024), (0, 1024), (1, 1024)]);
    }

    #[test]
    fn by_work_a_document_lies_on_more_ranks() {
        let whole = causal_cells(4096, 4096);
        let batch = pack(&[4096], 8, 4096, Degree::ByWork(whole.div_ceil(4)), Cut::HeadAndTail).expect("it fits");
        assert_eq!(batch.linear_tokens().iter().filter(|tokens| **tokens > 0).count(), 4);
    }

    #[test]
    fn long_documents_lie_in_whole_blocks_but_for_one_piece() {
        for cut in [Cut::HeadAndTail, Cut::Run] {
            let batch = pack(&[100_001, 70_077, 999], 8, 25_600, Degree::ByTokens, cut).expect("they fit");
            for document in batch.documents() {
                assert!(document.iter().filter(|shard| shard.tokens % BLOCK_TOKENS != 0).count() <= 1, "{document:?}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = pack(&[4, 5], 2, 4, Degree::ByTokens, Cut::Run);
        assert_eq!(refused, Err(Error::NoRoom { document: 0, world_size: 2, tokens_per_rank: 4 }));
        assert_eq!(pack(&[], 0, 4, Degree::ByTokens, Cut::Run), Err(Error::NoRanks));
    }

    proptest! {
        #[test]
        fn where_there_is_room_no_document_is_cut_into_crumbs(
            lengths in prop::collection::vec(1_u32..100_000, 1..30),
            world_size in 1_u32..20,
            most in 1_u64..100_000_000,
            run in any::<bool>(),
        ) {
            let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            let cut = if run { Cut::Run } else { Cut::HeadAndTail };
            for document in pack(&lengths, world_size, tokens, Degree::ByWork(most), cut)?.documents() {
                let crumb = document.iter().find(|shard| u64::from(shard.tokens) < CRUMB_TOKENS);
                prop_assert!(document.len() == 1 || crumb.is_none(), "{:?}", document);
            }
        }

        #[test]
        fn every_token_lies_somewhere_and_no_rank_has_too_many(
            lengths in prop::collection::vec(prop_oneof![0_u32..40, 0_u32..3000, 0_u32..100_000], 0..30),
            world_size in 1_u32..20,
            spare in 0_u64..300,
            most in prop::option::of(1_u64..100_000_000),
            run in any::<bool>(),
        ) {
            let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
            let tokens_per_rank = tokens.div_ceil(world_size.into()) + spare;
            let degree = most.map_or(Degree::ByTokens, Degree::ByWork);
            let cut = if run { Cut::Run } else { Cut::HeadAndTail };
            let batch = pack(&lengths, world_size, tokens_per_rank, degree, cut)?;
            prop_assert!(batch.linear_tokens().iter().all(|held| *held <= tokens_per_rank));
            for (document, &length) in batch.documents().zip(&lengths) {
                prop_assert_eq!(document.iter().map(|shard| shard.tokens).sum::<u32>(), length);
            }
        }
    }
}
