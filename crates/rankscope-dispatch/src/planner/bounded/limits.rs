//! How much work a rank may have.

use crate::cost::Work;
use crate::planner::BLOCK_TOKENS;
use crate::{Batch, Error, Shard};

/// The most that each rank may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `1 + eps` times the rank's share of all work. Kept to where whole blocks allow it.
    pub target: Vec<u64>,
    /// One block more, which can always be kept to; for a rank of weight zero, nothing.
    pub hard: Vec<u64>,
}

impl Limits {
    /// The limits of the documents of `layout`. Empty `weights` stand for ranks that are all alike.
    ///
    /// # Errors
    /// [`Error::Eps`] and [`Error::Weights`] for figures that mean nothing; [`Error::Overflow`].
    pub fn new(layout: &Batch, work: &Work, eps: f64, weights: &[f64]) -> Result<Self, Error> {
        if !(eps.is_finite() && eps >= 0.0) {
            return Err(Error::Eps { eps });
        }
        let world_size = layout.world_size() as usize;
        let equal = vec![1.0; world_size];
        let weights = if weights.is_empty() { &equal } else { weights };
        let sum: f64 = weights.iter().sum();
        if weights.len() != world_size {
            return Err(Error::Weights { what: format!("{} for {world_size} ranks", weights.len()) });
        }
        if let Some(rank) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(Error::Weights { what: format!("rank {rank} has {}", weights[rank]) });
        }
        if sum <= 0.0 {
            return Err(Error::Weights { what: "no rank may have work".to_owned() });
        }
        let (total, block) = (total(layout, work)?, largest_block(layout, work));
        let limit = |weight: &f64| (total as f64 * (1.0 + eps) * (weight / sum)) as u64;
        let target: Vec<u64> = weights.iter().map(limit).collect();
        let hard = target
            .iter()
            .zip(weights)
            .map(|(&target, &weight)| if weight > 0.0 { target.saturating_add(block) } else { 0 })
            .collect();
        Ok(Self { target, hard })
    }
}

/// The work of every rank, with neighbouring shards of a document on one rank as separate tasks.
///
/// # Errors
/// [`Error::Overflow`].
pub fn loads(batch: &Batch, work: &Work) -> Result<Vec<u64>, Error> {
    let mut loads = vec![0_u64; batch.world_size() as usize];
    for document in batch.documents() {
        let mut end = 0;
        for shard in document {
            let start = end;
            end += shard.tokens;
            let load = &mut loads[shard.attention.0 as usize];
            *load = load.checked_add(work.of(start, end)).ok_or(Error::Overflow { what: "the work of one rank" })?;
        }
    }
    Ok(loads)
}

/// All work, with every run of the layout computed where it lies.
fn total(layout: &Batch, work: &Work) -> Result<u64, Error> {
    let mut total = 0_u64;
    for document in layout.documents() {
        let mut end = 0;
        for run in document.chunk_by(|a, b| a.linear == b.linear) {
            let start = end;
            end += run.iter().map(|shard| shard.tokens).sum::<u32>();
            total = total.checked_add(work.of(start, end)).ok_or(Error::Overflow { what: "the cells of all ranks" })?;
        }
    }
    Ok(total)
}

/// The most that a single block can hold: that at the end of the longest document.
fn largest_block(layout: &Batch, work: &Work) -> u64 {
    let length = |document: &[Shard]| document.iter().map(|shard| shard.tokens).sum::<u32>();
    let longest = layout.documents().map(length).max().unwrap_or(0);
    work.of(longest.saturating_sub(BLOCK_TOKENS), longest)
}
