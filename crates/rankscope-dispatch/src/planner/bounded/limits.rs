//! How much work a rank may have.
//!
//! Ranks are compared by the time they take, which is work over weight. A *level* is such a time, and gives every rank a limit:
//! the work that it does in that time. Three levels matter:
//!
//! - *asked*: `1 + eps` times the mean.
//! - *as it lies*: the time of the slowest rank if nothing moves. No plan is worth a higher one.
//! - *sure*: the mean and the longest block. With `n` ranks of weight above zero, each limit but that of one rank too heavy, and
//!   all of them too full for another block, would need more work than there is; so below this level a rank that is too heavy
//!   always finds one with room for a block. Blocks are made small enough that this is no more than was asked, down to one token.
//!
//! Nothing can be below the time of a single query token at the end of the longest document.

use super::piece::longest_block;
use crate::cost::Work;
use crate::planner::BLOCK_TOKENS;
use crate::{Batch, Error, Shard};

/// The most that each rank may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// `1 + eps` times the rank's share of all work.
    pub target: Vec<u64>,
    /// What a plan without caps keeps to, whatever the documents: the target, and where that cannot be, one block above the
    /// share; in both cases no more than it takes to be no slower than the slowest rank of the layout as it lies. With a table
    /// of times only the latter, as nobody knows what a cut costs there. Nothing for a rank of weight zero.
    pub promised: Vec<u64>,
    /// Tokens of the smallest blocks that documents are cut in, a power of two. Larger ones are tried first, from
    /// [`BLOCK_TOKENS`] down.
    pub smallest_block: u32,
    pub(in crate::planner) levels: Levels,
}

/// Levels between which a plan is looked for, and what turns them into limits.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::planner) struct Levels {
    weights: Vec<f64>,
    pub(in crate::planner) mean: f64,
    /// Where to begin: what is asked, or the best that can be.
    pub(in crate::planner) goal: f64,
    /// Where a plan is sure to be found, if there are no caps.
    pub(in crate::planner) sure: f64,
    /// The slowest rank if nothing moves; infinite if a rank of weight zero has work.
    pub(in crate::planner) as_it_lies: f64,
    /// The fastest rank if it did everything.
    pub(in crate::planner) all_on_one: f64,
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
        let weights = checked(weights, layout.world_size() as usize)?;
        let loads = loads_at_home(layout, work)?;
        let total = loads.iter().try_fold(0_u64, |sum, load| sum.checked_add(*load));
        let total = total.ok_or(Error::Overflow { what: "the cells of all ranks" })? as f64;
        let (speed, fastest) = (weights.iter().sum::<f64>(), weights.iter().copied().fold(0.0, f64::max));
        let workers = weights.iter().filter(|weight| **weight > 0.0).count() as f64;
        let (mean, as_it_lies) = (total / speed, slowest(&loads, &weights));
        let (asked, all_on_one) = (mean * (1.0 + eps), total / fastest);
        let (smallest_block, least, sure) = match work {
            Work::Cells => {
                let longest = longest(layout);
                let tolerated = total * eps.max(SMALLEST_TOLERANCE) / workers;
                let block = |tokens: u32| work.of(longest.saturating_sub(longest_block(tokens)), longest) as f64;
                let mut tokens = BLOCK_TOKENS;
                while tokens > 1 && block(tokens) > tolerated {
                    tokens /= 2;
                }
                (tokens, block(1) / fastest, (total + workers * block(tokens)) / speed)
            }
            Work::Time(_) => (BLOCK_TOKENS, 0.0, as_it_lies.min(all_on_one)),
        };
        let goal = asked.max(least);
        let sure = sure.max(goal);
        let levels = Levels { weights, mean, goal, sure, as_it_lies, all_on_one };
        Ok(Self { target: levels.limits(asked), promised: levels.limits(sure.min(as_it_lies)), smallest_block, levels })
    }

    /// The limits that `loads` keep to: the target if they do, else those of the slowest rank.
    #[must_use]
    pub fn kept_by(&self, loads: &[u64]) -> Vec<u64> {
        if loads.iter().zip(&self.target).all(|(load, limit)| load <= limit) {
            return self.target.clone();
        }
        let Levels { weights, .. } = &self.levels;
        let level = slowest_worker(loads, weights);
        // A rank of weight zero that works all the same may have what it has.
        self.levels.limits(level).into_iter().zip(loads).zip(&self.target).map(|((a, b), c)| a.max(*b).max(*c)).collect()
    }
}

impl Levels {
    /// The most that each rank does in this time.
    pub(in crate::planner) fn limits(&self, level: f64) -> Vec<u64> {
        self.weights.iter().map(|&weight| limit(level, weight)).collect()
    }

    /// How far the limits of a plan may be above the lowest ones.
    pub(in crate::planner) fn precision(&self) -> f64 {
        PRECISION * self.mean
    }
}

/// The most work that does not take longer than `level`.
fn limit(level: f64, weight: f64) -> u64 {
    let mut limit = (level * weight) as u64;
    while limit > 0 && limit as f64 / weight > level {
        limit -= 1 + (limit >> MANTISSA_BITS);
    }
    while weight > 0.0 && limit < u64::MAX && (limit + 1) as f64 / weight <= level {
        limit += 1;
    }
    limit
}

/// Weights as given, or ones.
fn checked(weights: &[f64], world_size: usize) -> Result<Vec<f64>, Error> {
    let weights = if weights.is_empty() { vec![1.0; world_size] } else { weights.to_vec() };
    if weights.len() != world_size {
        return Err(Error::Weights { what: format!("{} for {world_size} ranks", weights.len()) });
    }
    if let Some(rank) = weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        return Err(Error::Weights { what: format!("rank {rank} has {}", weights[rank]) });
    }
    match weights.iter().sum::<f64>() > 0.0 {
        true => Ok(weights),
        false => Err(Error::Weights { what: "no rank may have work".to_owned() }),
    }
}

/// The work of every rank, with neighbouring shards of a document on one rank as separate tasks.
///
/// # Errors
/// [`Error::Overflow`].
pub fn loads(batch: &Batch, work: &Work) -> Result<Vec<u64>, Error> {
    let tasks = batch.documents().flat_map(|document| tasks(document.iter().map(|shard| (shard.attention.0, shard.tokens))));
    sums(tasks, work, batch.world_size())
}

/// The work of every rank if every run of the layout is computed where it lies.
fn loads_at_home(layout: &Batch, work: &Work) -> Result<Vec<u64>, Error> {
    let runs = layout.documents().flat_map(|document| {
        let shards: Vec<Shard> = document.iter().filter(|shard| shard.tokens > 0).copied().collect();
        let runs = shards.chunk_by(|a, b| a.linear == b.linear);
        let runs: Vec<_> = runs.map(|run| (run[0].linear.0, run.iter().map(|shard| shard.tokens).sum())).collect();
        tasks(runs.into_iter())
    });
    sums(runs, work, layout.world_size())
}

/// Rank, start and end of the tasks of a document, from rank and tokens.
fn tasks(shards: impl Iterator<Item = (u32, u32)>) -> impl Iterator<Item = (u32, u32, u32)> {
    shards.scan(0, |end, (rank, tokens)| {
        let start = *end;
        *end += tokens;
        Some((rank, start, *end))
    })
}

fn sums(tasks: impl Iterator<Item = (u32, u32, u32)>, work: &Work, world_size: u32) -> Result<Vec<u64>, Error> {
    let mut loads = vec![0_u64; world_size as usize];
    for (rank, start, end) in tasks {
        let load = &mut loads[rank as usize];
        *load = load.checked_add(work.of(start, end)).ok_or(Error::Overflow { what: "the work of one rank" })?;
    }
    Ok(loads)
}

/// The time of the slowest rank; infinite if a rank of weight zero has work. Empty `weights` stand for ranks that are all alike.
#[must_use]
pub fn slowest(loads: &[u64], weights: &[f64]) -> f64 {
    let weight = |rank: usize| weights.get(rank).copied().unwrap_or(1.0);
    let busy = loads.iter().enumerate().filter(|(_, load)| **load > 0);
    busy.map(|(rank, &load)| load as f64 / weight(rank)).fold(0.0, f64::max)
}

/// The largest load for its weight, over the mean load for its weight; 1 where there is no work. Ranks of weight zero count when they
/// have work: then nothing is balanced.
#[must_use]
pub fn max_over_mean(loads: &[u64], weights: &[f64]) -> f64 {
    let total: u64 = loads.iter().sum();
    if total == 0 {
        return 1.0;
    }
    let sum: f64 = if weights.is_empty() { loads.len() as f64 } else { weights.iter().sum() };
    slowest(loads, weights) * sum / total as f64
}

/// The time of the slowest rank that may have work.
fn slowest_worker(loads: &[u64], weights: &[f64]) -> f64 {
    let workers = loads.iter().zip(weights).filter(|(_, weight)| **weight > 0.0);
    workers.map(|(&load, weight)| load as f64 / weight).fold(0.0, f64::max)
}

fn longest(layout: &Batch) -> u32 {
    layout.documents().map(|document| document.iter().map(|shard| shard.tokens).sum()).max().unwrap_or(0)
}

/// Blocks are not made smaller than this part of a share, however little is tolerated: kernels pay for whole tiles.
const SMALLEST_TOLERANCE: f64 = 0.01;
/// A part of the mean.
const PRECISION: f64 = 0.001;
/// Of a double.
const MANTISSA_BITS: u32 = 52;
