//! The planner with a guarantee: as few bytes as it can find, no rank above `1 + eps` times its share of the work unless a single
//! token is more than that allows, and no plan whose slowest rank is slower than that of no plan (`limits`).
//!
//! Ranks above their limit give work away, piece by piece, each time the range of tokens and the receiver that cost the fewest
//! bytes for what they achieve (`shed`, `ranges`). While a rank is above the limit some other rank has room for a block of any
//! document, if blocks are small enough (`raise`): so nobody is ever stuck, however the documents lie.
//!
//! Nothing depends on threads or on chance: the same layout gives the same plan.

mod assignment;
mod caps;
mod explain;
mod gather;
mod involved;
mod limits;
mod nearness;
mod piece;
mod raise;
mod ranges;
mod relieve;
mod rooms;
mod search;
mod shed;

pub use caps::Caps;
pub(in crate::planner) use caps::{Entry, Ledger};
pub use explain::{ALTERNATIVES, Alternative, Explanation, explain};
pub use limits::{Limits, loads, max_over_mean, slowest};
pub(in crate::planner) use nearness::Nodes;

use rankscope_time::Rank;

use crate::cost::Work;
use crate::planner::Prices;
use crate::planner::ways::Ways;
use crate::{Batch, Error, Pass, Rows};
use assignment::Assignment;
use ranges::Ideal;
use search::improve;
use shed::Stuck;

/// What a plan must keep to, and what it is measured in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How far above its share of the work a rank may be.
    pub eps: f64,
    /// What a remote token costs.
    pub prices: Prices,
    /// Which pass that is of: caps count by the way that bytes go.
    pub pass: Pass,
    /// The unit of work.
    pub work: Work,
    /// How fast each rank is: 1 is usual, 0 a rank that must not compute. Empty when all are alike.
    pub weights: Vec<f64>,
    /// Bytes that no rank may exceed.
    pub caps: Caps,
    /// How often to look for something better at most; if not given, four times for each rank that gives something away, and no
    /// more often than there are ranks. Each takes about 10 us.
    pub search_steps: Option<u32>,
}

impl Options {
    /// Of a forward pass: cells are balanced over ranks that are all alike, and nothing is capped.
    #[must_use]
    pub fn new(eps: f64, prices: Prices) -> Self {
        let (work, pass) = (Work::Cells, Pass::Forward);
        Self { eps, prices, pass, work, weights: Vec::new(), caps: Caps::default(), search_steps: None }
    }

    /// Of one rank.
    pub(in crate::planner) fn weight(&self, rank: usize) -> f64 {
        self.weights.get(rank).copied().unwrap_or(1.0)
    }

    /// The same for `pass`, of which rows of this size cost so much.
    #[must_use]
    pub fn of_pass(self, pass: Pass, rows: &Rows) -> Self {
        Self { pass, prices: Prices::of_pass(rows, pass), ..self }
    }
}

/// Plans the documents of `layout`.
///
/// # Errors
/// Those of [`Limits::new`]; [`Error::CannotBalance`] when a table of times says that no cut makes a rank faster;
/// [`Error::Cap`] and [`Error::NobodyMayTake`] when the caps leave no way that was found.
pub fn bounded(layout: &Batch, options: &Options) -> Result<Batch, Error> {
    bounded_near(layout, options, Nodes::ALIKE)
}

/// The same where bytes cost less within nodes, which is then what is kept low.
pub(in crate::planner) fn bounded_near(layout: &Batch, options: &Options, nodes: Nodes) -> Result<Batch, Error> {
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
    let mut assignment = Assignment::at_home(layout, &options.work, options.prices, nodes)?;
    let total: u64 = assignment.loads().iter().sum();
    let cells: u64 = layout.cells_at_home()?.iter().sum();
    let ideal = Ideal::new(options.prices, cells as f64 / total.max(1) as f64);

    assignment.cap(options.caps, Ways::of(options.prices, options.pass));
    let kept = raise::balance(&mut assignment, &limits, &ideal).map_err(|Stuck(rank)| match assignment.capped() {
        true => Error::NobodyMayTake { rank: Rank(rank) },
        false => Error::CannotBalance { rank: Rank(rank) },
    })?;
    assignment.commit();
    assignment.check_caps()?;
    improve(&mut assignment, &kept, &ideal, options.search_steps);
    assignment.batch(layout)
}
