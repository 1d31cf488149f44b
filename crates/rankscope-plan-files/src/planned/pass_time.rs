//! What a pass takes on a network, and what it takes at least.

use rankscope_dispatch::planner::bounded::{Options, loads};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Least, Pace, time_lower_bound};
use rankscope_dispatch::{Batch, Error};
use rankscope_time::Span;

/// A layer's pass, attention and exchanges one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassTime {
    /// With the plan.
    pub takes: Span,
    /// With any plan of the same layout that keeps the same limits.
    pub least: Span,
}

impl PassTime {
    /// Of `plan`, which is one of `layout`.
    ///
    /// # Errors
    /// Those of [`Pace::takes`] and [`time_lower_bound`].
    pub fn of(pace: &Pace<'_>, layout: &Batch, plan: &Batch, options: &Options) -> Result<Self, Error> {
        let loads = loads(plan, &options.work)?;
        let least = time_lower_bound(pace, layout, options, &loads, Least::Whole)?;
        Ok(Self { takes: pace.takes(plan, options)?, least })
    }

    /// Of a plan that splits keys.
    ///
    /// # Errors
    /// Those of [`Pace::takes`] and [`time_lower_bound`].
    pub fn of_split(pace: &Pace<'_>, layout: &Batch, split: &SplitPlan, options: &Options) -> Result<Self, Error> {
        let plans = Least::Split { lse_bytes: split.lse_bytes };
        let least = time_lower_bound(pace, layout, options, &split.loads(&options.work)?, plans)?;
        Ok(Self { takes: pace.takes_split(split, options)?, least })
    }
}
