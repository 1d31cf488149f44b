//! What there is to say about a plan: the document of `dispatch plan`.

mod moves;
mod pass_time;
mod placed;
mod split_kv;

use std::time::Duration;

use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Explanation, Limits, Options, loads, max_over_mean};
use rankscope_dispatch::planner::{Remote, cell_limits, gap, lower_bound};
use rankscope_dispatch::{Batch, HeadGroups, Pass};
use serde::{Serialize, Serializer};

pub use self::moves::Move;
pub use self::pass_time::{PassFigures, PassTime};
pub use self::placed::{Placement, Planned, exact};
pub use self::split_kv::SplitKv;

/// A plan and its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// Who planned.
    pub planner: Planner,
    /// How far above its share of the work a rank may be.
    pub eps: f64,
    /// How documents came to lie where they do.
    #[serde(flatten)]
    pub placement: Placement,
    /// Ranks.
    pub world_size: u32,
    /// Groups of heads, if there are several: shards, their limits and loads, and tokens that are away, are of single groups then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_groups: Option<u32>,
    /// How many documents.
    pub documents: usize,
    /// Their tokens.
    pub tokens: u64,
    /// Load of the heaviest rank, by its weight, over the mean.
    pub max_over_mean: f64,
    /// The same of the layout.
    pub max_over_mean_before: f64,
    /// Which pass it is a plan for; the forward one unless it says so.
    #[serde(skip_serializing_if = "is_forward", serialize_with = "by_name")]
    pub pass: Pass,
    /// Of the pass, per layer.
    pub bytes: u64,
    /// Of it, what the layout alone makes necessary.
    pub layout_bytes: u64,
    /// What every plan with these limits moves at least.
    pub lower_bound_bytes: u64,
    /// Bytes over the lower bound, less one; nothing where the bound is zero and bytes are not.
    pub gap: Option<f64>,
    /// Bytes over tokens.
    pub bytes_per_token: f64,
    /// The same in elements.
    pub elems_per_token: f64,
    /// Query tokens computed away from home.
    pub moved_tokens: u64,
    /// Key and value tokens that leave their rank.
    pub remote_kv_tokens: u64,
    /// Number of shards.
    pub n: usize,
    /// What loads are in.
    pub work_unit: WorkUnit,
    /// Work by rank, planned.
    pub loads: Vec<u64>,
    /// Work by rank, of the layout.
    pub loads_before: Vec<u64>,
    /// The most work by rank.
    pub limits: Vec<u64>,
    /// The planning alone.
    pub elapsed_us: f64,
    /// What the pass takes, and at least.
    #[serde(flatten)]
    pub times: PassFigures,
    /// Why runs moved, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<Move>>,
    /// The same with keys and values split, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_kv: Option<SplitKv>,
    /// Per document, its shards: linear rank, attention rank, place in the document (0 for the first), tokens.
    pub shards: Vec<Vec<[u32; 4]>>,
}

/// Who plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Planner {
    /// Fewest bytes, with every rank within its limit.
    Bounded,
    /// The original's planner.
    Greedy,
    /// The original's older planner.
    EqualFlops,
    /// The fewest bytes there are in whole blocks.
    Exact,
}

impl Planner {
    /// Whether limits are kept to: those asked for, or the lowest that can be.
    #[must_use]
    pub fn keeps_limits(self) -> bool {
        matches!(self, Self::Bounded | Self::Exact)
    }

    /// Its name in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bounded => "bounded",
            Self::Greedy => "greedy",
            Self::EqualFlops => "equal-flops",
            Self::Exact => "exact",
        }
    }
}

/// What work is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum WorkUnit {
    /// Pairs of a query and a key.
    #[serde(rename = "cells")]
    Cells,
    /// Nanoseconds of a table of times.
    #[serde(rename = "ns")]
    Nanoseconds,
}

impl Answer {
    /// Of documents that stand once for each of so many groups of heads.
    #[must_use]
    pub fn of_heads(self, groups: HeadGroups) -> Self {
        let many = groups.get();
        Self {
            head_groups: (many > 1).then_some(many),
            documents: self.documents / many as usize,
            tokens: self.tokens / u64::from(many),
            bytes_per_token: self.bytes_per_token * f64::from(many),
            elems_per_token: self.elems_per_token * f64::from(many),
            ..self
        }
    }

    /// With the reasons of its moves.
    #[must_use]
    pub fn explained(self, moves: Option<Vec<Explanation>>) -> Self {
        Self { moves: moves.map(|moves| moves.into_iter().map(Move::from).collect()), ..self }
    }

    /// With where documents come from.
    #[must_use]
    pub fn placed(self, placement: Placement) -> Self {
        Self { placement, ..self }
    }

    /// Of a plan for `pass`, and with what a layer's takes, where that is known.
    #[must_use]
    pub fn of_pass(self, pass: Pass, time: Option<PassTime>) -> Self {
        Self { pass, times: PassFigures::of(pass, time), ..self }
    }

    /// With what splitting keys and values would move.
    #[must_use]
    pub fn splitting(self, split_kv: Option<SplitKv>) -> Self {
        Self { split_kv, ..self }
    }

    /// The figures of `plan`, made of `layout` by `planner` within `elapsed`.
    ///
    /// # Errors
    /// Weights that are none, or work beyond 64 bits.
    pub fn new(
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
        let bound = lower_bound(layout, options.prices, &cell_limits(layout, &options.work, &kept))?;
        let tokens: u64 = layout.linear_tokens().iter().sum();
        let per_token = |bytes: u64| bytes as f64 / tokens.max(1) as f64;
        Ok(Self {
            planner,
            eps: options.eps,
            placement: Placement::Given,
            world_size: layout.world_size(),
            head_groups: None,
            documents: layout.len(),
            tokens,
            max_over_mean: max_over_mean(&after, &options.weights),
            max_over_mean_before: max_over_mean(&before, &options.weights),
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
                Work::Cells => WorkUnit::Cells,
                Work::Time(_) => WorkUnit::Nanoseconds,
            },
            loads: after,
            loads_before: before,
            limits: if planner.keeps_limits() { kept } else { limits.target },
            moves: None,
            split_kv: None,
            pass: Pass::Forward,
            times: PassFigures::default(),
            elapsed_us: elapsed.as_nanos() as f64 / 1e3,
            shards: plan.documents().map(rows).collect(),
        })
    }
}

fn is_forward(pass: &Pass) -> bool {
    *pass == Pass::Forward
}

fn by_name<S: Serializer>(pass: &Pass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(pass.as_str())
}

fn rows(document: &[rankscope_dispatch::Shard]) -> Vec<[u32; 4]> {
    (0..).zip(document).map(|(place, shard)| [shard.linear.0, shard.attention.0, place, shard.tokens]).collect()
}
