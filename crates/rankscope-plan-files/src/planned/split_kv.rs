//! A plan of which ranks share the keys of the same queries, beside the one that it began with.

use rankscope_dispatch::planner::bounded::{Limits, Options, max_over_mean};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Remote, cell_limits, gap, split_lower_bound};
use rankscope_dispatch::{Batch, Error, Pass, SplitTask};
use serde::Serialize;

use super::PassTime;

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
    /// A layer's forward pass, attention and exchanges one after the other, if a network was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_ns: Option<i64>,
    /// The same of a backward pass, where the plan is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_ns: Option<i64>,
    /// What that pass takes at least, whoever has which keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<i64>,
    /// Work by rank.
    pub loads: Vec<u64>,
    /// Document, start and end of its queries, start and end of its keys, home of the queries, rank that computes.
    pub tasks: Vec<[u64; 7]>,
}

impl SplitKv {
    /// With what a layer's `pass` takes, where that is known.
    #[must_use]
    pub fn of_pass(self, pass: Pass, time: Option<PassTime>) -> Self {
        let ns = time.map(|time| time.takes.as_nanos());
        let this = Self { least_ns: time.map(|time| time.least.as_nanos()), ..self };
        match pass {
            Pass::Forward => Self { forward_ns: ns, ..this },
            Pass::Backward => Self { backward_ns: ns, ..this },
        }
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
            forward_ns: None,
            backward_ns: None,
            least_ns: None,
            loads,
            tasks: split.batch.tasks().iter().map(task).collect(),
        })
    }
}
