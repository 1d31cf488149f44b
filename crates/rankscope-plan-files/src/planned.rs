//! What there is to say about a plan.

use std::time::Duration;

use rankscope_dispatch::Batch;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Explanation, Limits, Options, loads, slowest};
use rankscope_dispatch::planner::{Remote, gap, lower_bound};
use serde::Serialize;

use super::Planner;
use super::split_kv::SplitKv;

/// A plan and its figures.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) planner: &'static str,
    pub(super) eps: f64,
    pub(super) world_size: u32,
    pub(super) documents: usize,
    pub(super) tokens: u64,
    /// Load of the heaviest rank, by its weight, over the mean.
    pub(super) max_over_mean: f64,
    pub(super) max_over_mean_before: f64,
    /// Forward, per layer.
    pub(super) bytes: u64,
    /// Of it, what the layout alone makes necessary.
    pub(super) layout_bytes: u64,
    pub(super) lower_bound_bytes: u64,
    /// Bytes over the lower bound, less one; nothing where the bound is zero and bytes are not.
    pub(super) gap: Option<f64>,
    pub(super) bytes_per_token: f64,
    pub(super) elems_per_token: f64,
    /// Query tokens computed away from home.
    pub(super) moved_tokens: u64,
    pub(super) remote_kv_tokens: u64,
    /// Number of shards.
    pub(super) n: usize,
    pub(super) work_unit: &'static str,
    pub(super) loads: Vec<u64>,
    pub(super) loads_before: Vec<u64>,
    pub(super) limits: Vec<u64>,
    /// The planning alone.
    pub(super) elapsed_us: f64,
    /// Why runs moved, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) moves: Option<Vec<Move>>,
    /// The same with keys and values split, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) split_kv: Option<SplitKv>,
    /// Per document, its shards: linear rank, attention rank, place in the document (0 for the first), tokens.
    pub(super) shards: Vec<Vec<[u32; 4]>>,
}

/// Why a run of queries is computed away from home; see [`Explanation`].
#[derive(Debug, Serialize)]
pub(super) struct Move {
    pub(super) document: usize,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) load_before: u64,
    pub(super) limit: u64,
    pub(super) load_without: u64,
    pub(super) freed: u64,
    pub(super) cost_bytes: i64,
    /// Rank and bytes.
    pub(super) alternatives: Vec<(u32, i64)>,
}

impl From<Explanation> for Move {
    fn from(why: Explanation) -> Self {
        let Explanation { document, start, end, load_before, limit, load_without, freed, cost_bytes, .. } = why;
        let alternatives = why.alternatives.iter().map(|other| (other.rank.0, other.cost_bytes)).collect();
        let (from, to) = (why.from.0, why.to.0);
        Self { document, start, end, from, to, load_before, limit, load_without, freed, cost_bytes, alternatives }
    }
}

impl Answer {
    pub(super) fn explained(self, moves: Option<Vec<Explanation>>) -> Self {
        Self { moves: moves.map(|moves| moves.into_iter().map(Move::from).collect()), ..self }
    }

    pub(super) fn splitting(self, split_kv: Option<SplitKv>) -> Self {
        Self { split_kv, ..self }
    }

    pub(super) fn new(
        layout: &Batch,
        plan: &Batch,
        options: &Options,
        element_bytes: u32,
        planner: Planner,
        elapsed: Duration,
    ) -> Result<Self, rankscope_dispatch::Error> {
        let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
        let (before, after) = (loads(layout, &options.work)?, loads(plan, &options.work)?);
        let kept = limits.kept_by(&after);
        let remote = Remote::of(plan);
        let bytes = remote.bytes(options.prices);
        let bound = match options.work {
            Work::Cells => lower_bound(layout, options.prices, &kept)?,
            // Cells do not bound time.
            Work::Time(_) => 0,
        };
        let tokens: u64 = layout.linear_tokens().iter().sum();
        let per_token = |bytes: u64| bytes as f64 / tokens.max(1) as f64;
        Ok(Self {
            planner: planner.name(),
            eps: options.eps,
            world_size: layout.world_size(),
            documents: layout.len(),
            tokens,
            max_over_mean: heaviest(&after, &options.weights),
            max_over_mean_before: heaviest(&before, &options.weights),
            bytes,
            layout_bytes: Remote::of(layout).bytes(options.prices),
            lower_bound_bytes: bound,
            gap: gap(bytes, bound),
            bytes_per_token: per_token(bytes),
            elems_per_token: per_token(bytes) / f64::from(element_bytes.max(1)),
            moved_tokens: remote.queries,
            remote_kv_tokens: remote.keys,
            n: plan.shards().len(),
            work_unit: match options.work {
                Work::Cells => "cells",
                Work::Time(_) => "ns",
            },
            loads: after,
            loads_before: before,
            limits: if planner.keeps_limits() { kept } else { limits.target },
            moves: None,
            split_kv: None,
            elapsed_us: elapsed.as_nanos() as f64 / 1e3,
            shards: plan.documents().map(rows).collect(),
        })
    }
}

fn rows(document: &[rankscope_dispatch::Shard]) -> Vec<[u32; 4]> {
    (0..).zip(document).map(|(place, shard)| [shard.linear.0, shard.attention.0, place, shard.tokens]).collect()
}

/// The largest load for its weight, over the mean load for its weight. Ranks of weight zero count when they have work: then
/// nothing is balanced.
pub(super) fn heaviest(loads: &[u64], weights: &[f64]) -> f64 {
    let total: u64 = loads.iter().sum();
    if total == 0 {
        return 1.0;
    }
    let sum: f64 = if weights.is_empty() { loads.len() as f64 } else { weights.iter().sum() };
    slowest(loads, weights) * sum / total as f64
}
