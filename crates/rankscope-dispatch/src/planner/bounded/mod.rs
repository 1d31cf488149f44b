//! The planner with a guarantee: as few bytes as it can find, and never a rank above `1 + eps` times its share of the work plus
//! one block.
//!
//! Ranks above their limit give work away, piece by piece, each time the range of tokens and the receiver that cost the fewest
//! bytes for what they achieve (`shed`, `ranges`). While a rank is above the limit some other rank is below its share, and has
//! room for a block of any document: so nobody is ever stuck, however the documents lie.
//!
//! Nothing depends on threads or on chance: the same layout gives the same plan.

mod assignment;
mod caps;
mod explain;
mod gather;
mod limits;
mod ranges;
mod relieve;
mod rooms;
mod search;
mod shed;

pub use caps::Caps;
pub use explain::{ALTERNATIVES, Alternative, Explanation, explain};
pub use limits::{Limits, loads};

use crate::cost::Work;
use crate::planner::Prices;
use crate::{Batch, Error};
use assignment::Assignment;
use gather::gather;
use ranges::Ideal;
use relieve::relieve;
use rooms::Rooms;
use search::improve;
use shed::{Stuck, shed_all};

/// What a plan must keep to, and what it is measured in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How far above its share of the work a rank may be.
    pub eps: f64,
    /// What a remote token costs.
    pub prices: Prices,
    /// The unit of work.
    pub work: Work,
    /// How fast each rank is: 1 is usual, 0 a rank that must not compute. Empty when all are alike.
    pub weights: Vec<f64>,
    /// Bytes that no rank may exceed.
    pub caps: Caps,
    /// How often to look for something better; once per rank if not given, which takes about 10 us each.
    pub search_steps: Option<u32>,
}

impl Options {
    /// Cells are balanced over ranks that are all alike, and nothing is capped.
    #[must_use]
    pub fn new(eps: f64, prices: Prices) -> Self {
        Self { eps, prices, work: Work::Cells, weights: Vec::new(), caps: Caps::default(), search_steps: None }
    }
}

/// Plans the documents of `layout`.
///
/// # Errors
/// Those of [`Limits::new`]; [`Error::CannotBalance`] when a table of times says that no cut makes a rank faster;
/// [`Error::Cap`] and [`Error::NobodyMayTake`] when the caps leave no way that was found.
pub fn bounded(layout: &Batch, options: &Options) -> Result<Batch, Error> {
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights)?;
    let mut assignment = Assignment::at_home(layout, &options.work, options.prices)?;
    let total: u64 = assignment.loads().iter().sum();
    let cells: u64 = layout.cells_at_home()?.iter().sum();
    let ideal = Ideal::new(options.prices, cells as f64 / total.max(1) as f64);

    assignment.cap(options.caps);
    let mut kept = &limits.target;
    if balance(&mut assignment, kept, &ideal).is_err() {
        assignment.rollback();
        kept = &limits.hard;
        balance(&mut assignment, kept, &ideal).map_err(|Stuck(rank)| match assignment.capped() {
            true => Error::NobodyMayTake { rank },
            false => Error::CannotBalance { rank },
        })?;
    }
    assignment.commit();
    assignment.check_caps()?;
    improve(&mut assignment, kept, &ideal, options.search_steps.unwrap_or(layout.world_size()));
    assignment.batch(layout)
}

/// Ranks above their caps first: what they give away they need not give away again.
fn balance(assignment: &mut Assignment, limits: &[u64], ideal: &Ideal) -> Result<(), Stuck> {
    relieve(assignment, limits);
    let documents: Vec<usize> = (0..assignment.len()).collect();
    gather(assignment, &documents, limits, &mut Rooms::new(limits, assignment.loads()));
    shed_all(assignment, limits, ideal)?;
    gather(assignment, &documents, limits, &mut Rooms::new(limits, assignment.loads()));
    relieve(assignment, limits);
    Ok(())
}
