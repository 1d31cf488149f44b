//! Plans of groups of heads: a group of a document is a document of its own, so any planner plans them, and one more way is open.
//!
//! A document on many ranks has every rank compute its own queries with most keys of all heads. If each of the ranks computes all
//! that its part of the ranks holds, for one group alone, it needs the keys of that group only, and queries and outputs of the others
//! travel once. That is the all-to-all of sequence and head parallelism, for groups as coarse as wanted. It moves less where a
//! document lies on more ranks than there are groups, or about as many, and a batch is all such documents; elsewhere the planner's
//! plan stays.

use rankscope_time::Rank;

use super::bounded::{Caps, Limits, Options, loads};
use super::{BLOCK_TOKENS, Remote};
use crate::{Batch, Error, HeadGroups, Shard};

/// A plan of groups of heads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeadPlan {
    /// The documents where they lie, once for every group.
    pub layout: Batch,
    /// Who computes them.
    pub plan: Batch,
}

/// Plans the documents of `layout` with their heads in `groups`. Prices in `options` are of rows of one group. What `planner` makes of
/// them is kept unless ranks with a group each move fewer bytes within the same limits.
///
/// # Errors
/// Those of `planner`; [`Error::Overflow`].
pub fn by_heads(
    layout: &Batch,
    groups: HeadGroups,
    options: &Options,
    planner: impl FnOnce(&Batch) -> Result<Batch, Error>,
) -> Result<HeadPlan, Error> {
    let all = groups.repeated(layout)?;
    let mut plan = planner(&all)?;
    // Caps are the planner's to keep.
    if options.caps != Caps::default() {
        return Ok(HeadPlan { layout: all, plan });
    }
    let limits = Limits::new(&all, &options.work, options.eps, &options.weights)?;
    for cut in [Cut::Runs, Cut::Ends] {
        let apart = apart(layout, groups, cut)?;
        let keeps = loads(&apart, &options.work)?.iter().zip(&limits.promised).all(|(load, limit)| load <= limit);
        if keeps && Remote::of(&apart).bytes(options.prices) < Remote::of(&plan).bytes(options.prices) {
            plan = apart;
        }
    }
    Ok(HeadPlan { layout: all, plan })
}

/// What a rank of several computes of a document.
#[derive(Clone, Copy)]
enum Cut {
    /// One run, of as much work as the others'. Early runs need few keys.
    Runs,
    /// One of as many equal chunks from either end: as even as a layout in zigzag is.
    Ends,
}

/// Every group of a document on a part of the ranks that hold it.
fn apart(layout: &Batch, groups: HeadGroups, cut: Cut) -> Result<Batch, Error> {
    let mut batch = Batch::new(layout.world_size())?;
    for group in 0..groups.get() {
        for document in layout.documents() {
            let homes = homes(document);
            let part = part(&homes, group as usize, groups.get() as usize);
            batch.push(&computed(document, &cut.pieces(document, part)))?;
        }
    }
    Ok(batch)
}

/// Ranks that hold something of a document.
fn homes(document: &[Shard]) -> Vec<Rank> {
    let mut homes: Vec<Rank> = document.iter().filter(|shard| shard.tokens > 0).map(|shard| shard.linear).collect();
    homes.sort_unstable();
    homes.dedup();
    homes
}

/// The ranks of a group: as many for each as divide, or one for several groups.
fn part(homes: &[Rank], group: usize, groups: usize) -> &[Rank] {
    let cut = |group: usize| group * homes.len() / groups;
    let (start, end) = (cut(group), cut(group + 1));
    &homes[start..end.max(start + 1).min(homes.len())]
}

impl Cut {
    /// Which rank computes up to where.
    fn pieces(self, document: &[Shard], ranks: &[Rank]) -> Vec<(Rank, u64)> {
        let tokens: u64 = document.iter().map(|shard| u64::from(shard.tokens)).sum();
        let count = ranks.len() as u64;
        match self {
            Self::Runs => (1..).zip(ranks).map(|(place, rank)| (*rank, end(tokens, place, count))).collect(),
            Self::Ends => {
                let order = ranks.iter().chain(ranks.iter().rev());
                (1..).zip(order).map(|(place, rank)| (*rank, tokens * place / (2 * count))).collect()
            }
        }
    }
}

/// The shards of a document, cut where the next piece begins.
fn computed(document: &[Shard], pieces: &[(Rank, u64)]) -> Vec<Shard> {
    let (mut shards, mut start) = (Vec::with_capacity(document.len() + pieces.len()), 0);
    for shard in document {
        let shard_end = start + u64::from(shard.tokens);
        let first = pieces.partition_point(|piece| piece.1 <= start);
        for &(rank, end) in &pieces[first..] {
            if start >= shard_end {
                break;
            }
            let end = shard_end.min(end);
            shards.push(Shard { attention: rank, tokens: (end - start) as u32, ..*shard });
            start = end;
        }
    }
    shards
}

/// Where the run of the rank at `place`, counted from one, ends: work grows with the square of the position. In whole blocks, where
/// runs are long.
fn end(tokens: u64, place: u64, ranks: u64) -> u64 {
    if place == ranks {
        return tokens;
    }
    let exact = tokens as f64 * (place as f64 / ranks as f64).sqrt();
    let block = u64::from(BLOCK_TOKENS);
    match tokens / ranks >= 16 * block {
        true => ((exact / block as f64).round() as u64 * block).min(tokens),
        false => (exact.round() as u64).min(tokens),
    }
}
