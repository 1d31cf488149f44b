//! What a plan is made for: the fewest bytes, or the shortest pass on a machine and a network.
//!
//! They are not the same. A rank that sends much more than others holds all of them up, a message within a node costs a part of
//! one between nodes, and bytes that a looser balance saves may cost less than the attention that everybody waits for. For the
//! shortest time plans are made with every tolerance of a list that is allowed, with and without the search for fewer bytes,
//! and, on several nodes, with bytes that cost less within a node; the fastest is kept. So a plan never takes longer because
//! more is allowed.

use rankscope_time::Span;

use super::Remote;
use super::bounded::{Limits, Nodes, Options, bounded, bounded_near, loads, slowest};
use super::split::{SplitPlan, loads_of, split};
use crate::cost::Work;
use crate::events::Machine;
use crate::network::Network;
use crate::{Assignment, Batch, Error, Pass, Rows};

/// What is to be least.
#[derive(Clone, Copy, Debug)]
pub enum Goal<'a> {
    /// Bytes between ranks.
    FewestBytes,
    /// Time of a layer's pass.
    ShortestTime(Pace<'a>),
}

/// A pass, and what it runs on.
#[derive(Clone, Copy, Debug)]
pub struct Pace<'a> {
    /// Which one.
    pub pass: Pass,
    /// Between ranks.
    pub network: &'a Network,
    /// A rank of weight 1. With a table of times attention takes what that says.
    pub machine: &'a Machine,
    /// What crosses.
    pub rows: &'a Rows,
}

impl Pace<'_> {
    /// A layer's attention and the two exchanges of the pass, one after the other.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::BadNetwork`].
    pub fn takes<'a>(&self, plan: impl Into<Assignment<'a>>, options: &Options) -> Result<Span, Error> {
        let plan = plan.into();
        let attention = match (&options.work, plan.split()) {
            (Work::Cells, _) => self.machine.attention(&plan, self.rows)?.iter().map(|span| span.as_nanos() as u64).collect(),
            (work, Some(split)) => loads_of(split, work)?,
            (work, None) => loads(plan.layout(), work)?,
        };
        let slowest_ns = slowest(&attention, &options.weights) * self.pass.attention_halves() as f64 / 2.0;
        let mut time = Span::from_nanos(slowest_ns.min(i64::MAX as f64) as i64);
        for direction in self.pass.exchanges() {
            time = time + self.network.predict(&plan.exchange(self.rows, direction)?.traffic())?.total;
        }
        Ok(time)
    }

    /// The same where keys are split: log-sum-exps go beside outputs that are merged.
    ///
    /// # Errors
    /// Those of [`takes`](Self::takes).
    pub fn takes_split(&self, split: &SplitPlan, options: &Options) -> Result<Span, Error> {
        Pace { rows: &split.rows(self.rows), ..*self }.takes(&split.batch, options)
    }
}

/// How good a plan is: its time if that is the goal, then its bytes.
pub(super) type Rating = (Span, u64);

/// The fastest plan that was found for a tolerance.
struct Fastest {
    eps: f64,
    rating: Rating,
    plan: Batch,
}

impl Goal<'_> {
    /// Plans the documents of `layout`, where they lie.
    ///
    /// # Errors
    /// Those of [`bounded`], when no way that was tried leads to a plan; those of [`Pace::takes`].
    pub fn plan(&self, layout: &Batch, options: &Options) -> Result<Batch, Error> {
        let Self::ShortestTime(pace) = self else { return bounded(layout, options) };
        let fastest = self.fastest(pace, layout, options)?;
        let best = fastest.into_iter().min_by_key(|fastest| fastest.rating);
        best.map(|best| best.plan).ok_or(Error::Eps { eps: options.eps })
    }

    /// `plan`, which is one of `layout`, or another one of it, with keys split where that is better. A log-sum-exp takes `lse_bytes`
    /// for each output.
    ///
    /// For the shortest time the fastest plan of every tolerance is split within that tolerance; `plan` is what is left if nothing is
    /// faster. So it never takes longer than `plan`, nor because more is allowed.
    ///
    /// # Errors
    /// Those of [`plan`](Self::plan) and [`split`].
    pub fn split(&self, layout: &Batch, plan: &Batch, options: &Options, lse_bytes: u64) -> Result<SplitPlan, Error> {
        let Self::ShortestTime(pace) = self else { return split(layout, plan, options, lse_bytes) };
        let rated = |split: SplitPlan| Ok::<_, Error>(((pace.takes_split(&split, options)?, split.bytes), split));
        let mut best = rated(SplitPlan::of_whole(plan, options, lse_bytes))?;
        let fastest = self.fastest(pace, layout, options)?;
        // One that was made otherwise.
        let other = fastest.iter().all(|fastest| fastest.plan != *plan).then_some((options.eps, plan));
        for (eps, plan) in fastest.iter().map(|fastest| (fastest.eps, &fastest.plan)).chain(other) {
            let found = rated(split(layout, plan, &Options { eps, ..options.clone() }, lse_bytes)?)?;
            if found.0 < best.0 {
                best = found;
            }
        }
        Ok(best.1)
    }

    /// The fastest plan for each tolerance that is allowed; at least one.
    fn fastest(&self, pace: &Pace<'_>, layout: &Batch, options: &Options) -> Result<Vec<Fastest>, Error> {
        // Figures that mean nothing are refused as they are, before others take their place.
        Limits::new(layout, &options.work, options.eps, &options.weights)?;
        let mut fastest = Vec::new();
        let mut refused = None;
        let nodes = Nodes::of(pace.network, layout.world_size());
        for eps in TOLERANCES.into_iter().filter(|eps| *eps <= options.eps.max(TIGHTEST)) {
            let mut best: Option<(Rating, Batch)> = None;
            for (nodes, search_steps) in [Some(Nodes::ALIKE), nodes]
                .into_iter()
                .flatten()
                .flat_map(|nodes| [options.search_steps, Some(0)].map(|search_steps| (nodes, search_steps)))
            {
                let tried = Options { eps: eps.min(options.eps), search_steps, ..options.clone() };
                match bounded_near(layout, &tried, nodes) {
                    Ok(plan) => {
                        let rating = self.rating(&plan, options)?;
                        if best.as_ref().is_none_or(|best| rating < best.0) {
                            best = Some((rating, plan));
                        }
                    }
                    Err(error) => refused = Some(error),
                }
            }
            fastest.extend(best.map(|(rating, plan)| Fastest { eps: eps.min(options.eps), rating, plan }));
        }
        match (fastest.is_empty(), refused) {
            (true, Some(error)) => Err(error),
            // One or the other: something was tried.
            _ => Ok(fastest),
        }
    }

    /// The tolerance for which a layout is chosen. For the shortest time it is the tightest, whatever is allowed.
    pub(super) fn tolerance(&self, options: &Options) -> f64 {
        match self {
            Self::FewestBytes => options.eps,
            Self::ShortestTime(_) => TIGHTEST.min(options.eps),
        }
    }

    /// How good `plan` is.
    pub(super) fn rating(&self, plan: &Batch, options: &Options) -> Result<Rating, Error> {
        let time = match self {
            Self::FewestBytes => Span::ZERO,
            Self::ShortestTime(pace) => pace.takes(plan, options)?,
        };
        Ok((time, Remote::of(plan).bytes(options.prices)))
    }
}

/// Less makes no smaller blocks.
const TIGHTEST: f64 = 0.01;
/// What is tried for the shortest time, as far as it is allowed.
const TOLERANCES: [f64; 9] = [TIGHTEST, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
