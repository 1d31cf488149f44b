//! What a task costs its rank: score cells, or measured time.

mod table;

pub use table::TimeTable;

use crate::causal_cells;

/// The unit in which a planner balances.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Score cells, which floating-point operations are proportional to.
    Cells,
    /// Nanoseconds that a kernel was measured to take.
    Time(TimeTable),
}

impl Work {
    /// The work of the queries from `start` to `end` of a document.
    #[must_use]
    pub fn of(&self, start: u32, end: u32) -> u64 {
        match self {
            Self::Cells => causal_cells(u64::from(end - start), u64::from(end)),
            Self::Time(_) if start == end => 0,
            Self::Time(table) => table.nanoseconds(end - start, end),
        }
    }
}
