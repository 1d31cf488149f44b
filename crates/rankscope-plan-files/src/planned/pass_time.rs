//! What a pass takes on a network, and what it takes at least.

use rankscope_dispatch::planner::bounded::{Options, loads};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Least, Pace, time_lower_bound};
use rankscope_dispatch::{Batch, Error, Pass};
use rankscope_time::Span;
use serde::Serialize;

/// A layer's pass, attention and exchanges one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassTime {
    /// With the plan.
    pub takes: Span,
    /// With any plan of the same layout that keeps the same limits.
    pub least: Span,
}

/// The same as documents have it: nothing without a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PassFigures {
    /// A layer's forward pass, attention and exchanges one after the other, if a network was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_ns: Option<i64>,
    /// The same of a backward pass, where the plan is for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_ns: Option<i64>,
    /// What that pass takes at least, with whatever plan with the same limits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ns: Option<i64>,
}

impl PassFigures {
    /// Of `pass`.
    pub(super) fn of(pass: Pass, time: Option<PassTime>) -> Self {
        let ns = time.map(|time| time.takes.as_nanos());
        let (forward_ns, backward_ns) = match pass {
            Pass::Forward => (ns, None),
            Pass::Backward => (None, ns),
        };
        Self { forward_ns, backward_ns, least_ns: time.map(|time| time.least.as_nanos()) }
    }

    /// What the pass takes, whichever it is.
    #[must_use]
    pub fn takes_ns(&self) -> Option<i64> {
        self.forward_ns.or(self.backward_ns)
    }
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
