//! Where documents lie and who computes them, before anything is said about it.

use rankscope_dispatch::planner::bounded::{Limits, Options};
use rankscope_dispatch::planner::{Goal, HeadPlan, Remote, by_heads, choose, exact_raising};
use rankscope_dispatch::{Batch, HeadGroups};
use serde::Serialize;

use super::Planner;

/// How documents came to lie where they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "layout", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Placement {
    /// In order, or on the ranks that were named for them.
    Given,
    /// Wherever a plan moves the fewest bytes.
    Chosen {
        /// Forward, per layer, what the plan of documents as they were given moves, if there is one.
        given_bytes: Option<u64>,
    },
}

/// Where documents lie, how they came there, and who computes them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Planned {
    /// Where they lie; every task stays there.
    pub layout: Batch,
    /// Who computes what.
    pub plan: Batch,
    /// How documents came to lie there.
    pub placement: Placement,
}

impl Planned {
    /// The same documents, wherever they came to lie, with their heads in `groups` and by `plan`, unless ranks with a group each
    /// move fewer bytes. Prices in `options` are of rows of one group.
    ///
    /// # Errors
    /// Those of `plan`, and of [`by_heads`].
    pub fn of_heads(
        self,
        groups: HeadGroups,
        options: &Options,
        plan: impl FnOnce(&Batch) -> Result<Batch, rankscope_dispatch::Error>,
    ) -> Result<Self, rankscope_dispatch::Error> {
        let HeadPlan { layout, plan, .. } = by_heads(&self.layout, groups, options, plan)?;
        Ok(Self { layout, plan, placement: self.placement })
    }

    /// Documents that lie as `layout` says, by `plan`.
    ///
    /// # Errors
    /// Those of `plan`.
    pub fn given<E>(layout: Batch, plan: impl FnOnce(&Batch) -> Result<Batch, E>) -> Result<Self, E> {
        Ok(Self { plan: plan(&layout)?, layout, placement: Placement::Given })
    }

    /// The documents of `given` where they should lie, as [`choose()`] says; who computes them is the `planner`'s to say, by `plan`, unless it is the
    /// bounded one, which has said it already.
    ///
    /// # Errors
    /// Those of [`choose()`] and of `plan`.
    pub fn chosen<E: From<rankscope_dispatch::Error>>(
        given: &Batch,
        tokens_per_rank: Option<u64>,
        options: &Options,
        goal: Goal<'_>,
        planner: Planner,
        plan: impl FnOnce(&Batch) -> Result<Batch, E>,
    ) -> Result<Self, E> {
        let chosen = choose(given, tokens_per_rank, options, goal)?;
        let given_bytes = chosen.given.map(|plan| Remote::of(&plan).bytes(options.prices));
        let plan = match planner {
            Planner::Bounded => chosen.plan,
            _ => plan(&chosen.layout)?,
        };
        Ok(Self { layout: chosen.layout, plan, placement: Placement::Chosen { given_bytes } })
    }
}

/// Steps of the exact planner before it gives up: some seconds.
const EXACT_STEPS: u64 = 100_000_000;

/// The exact plan of `layout`, if it is found within some seconds.
///
/// # Errors
/// Those of [`exact_raising`].
pub fn exact(layout: &Batch, options: &Options) -> Result<Batch, rankscope_dispatch::Error> {
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
    exact_raising(layout, options.prices, &limits, EXACT_STEPS)
}
