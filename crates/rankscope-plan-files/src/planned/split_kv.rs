//! A plan of which ranks share the keys of the same queries, beside the one that it began with.

use rankscope_dispatch::planner::bounded::{Limits, Options, max_over_mean};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Remote, cell_limits, gap, split_lower_bound};
use rankscope_dispatch::{Batch, Error, Pass, SplitTask};
use serde::Serialize;

use super::{PassFigures, PassTime};

/// The same plan with keys and values split.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SplitKv {
    /// Of the pass, per layer, with the log-sum-exps that merging needs.
    pub bytes: u64,
    /// Bytes fewer than without splitting.
    pub saved: u64,
    /// What every plan with the same limits moves at least, whoever has which keys.
    pub lower_bound_bytes: u64,
    /// Bytes over that, less one; nothing where it is zero and bytes are not.
    pub gap: Option<f64>,
    /// Load of the heaviest rank, by its weight, over the mean.
    pub max_over_mean: f64,
    /// What the pass takes; at least, whoever has which keys.
    #[serde(flatten)]
    pub times: PassFigures,
    /// Work by rank.
    pub loads: Vec<u64>,
    /// Document, start and end of its queries, start and end of its keys, home of the queries, rank that computes.
    pub tasks: Vec<[u64; 7]>,
}

impl SplitKv {
    /// With what a layer's `pass` takes, where that is known.
    #[must_use]
    pub fn of_pass(self, pass: Pass, time: Option<PassTime>) -> Self {
        Self { times: PassFigures::of(pass, time), ..self }
    }

    /// What `split`, which began with `plan` of `layout`, comes to.
    ///
    /// # Errors
    /// Weights that are none, or work beyond 64 bits.
    pub fn new(split: &SplitPlan, layout: &Batch, plan: &Batch, options: &Options) -> Result<Self, Error> {
        let loads = split.loads(&options.work)?;
        let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?.kept_by(&loads);
        let limits = cell_limits(layout, &options.work, &limits);
        let bound = split_lower_bound(layout, options.prices, split.lse_bytes, &limits)?;
        let task = |task: &SplitTask| {
            let SplitTask { document, queries, keys, rank } = task;
            let home = split.batch.home(*document, queries.start).map_or(0, |rank| rank.0);
            let [q_start, q_end, k_start, k_end, home, rank] =
                [queries.start, queries.end, keys.start, keys.end, home, rank.0].map(u64::from);
            [*document as u64, q_start, q_end, k_start, k_end, home, rank]
        };
        Ok(Self {
            bytes: split.bytes,
            saved: Remote::of(plan).bytes(options.prices).saturating_sub(split.bytes),
            lower_bound_bytes: bound,
            gap: gap(split.bytes, bound),
            max_over_mean: max_over_mean(&loads, &options.weights),
            times: PassFigures::default(),
            loads,
            tasks: split.batch.tasks().iter().map(task).collect(),
        })
    }
}
