//! What a task costs its rank: score cells, or measured time.

mod table;

pub use table::TimeTable;

use std::ops::Range;

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

    /// The work of `queries` by `keys`, in a shape that kernels know: keys that come before all queries, or end with them.
    #[must_use]
    pub fn of_part(&self, queries: &Range<u32>, keys: &Range<u32>) -> u64 {
        let (many, context) = (queries.end.saturating_sub(queries.start), keys.end.saturating_sub(keys.start));
        let is_causal = keys.end > queries.start;
        match self {
            Self::Cells if is_causal => causal_cells(many.into(), context.into()),
            Self::Cells => u64::from(many) * u64::from(context),
            Self::Time(_) if many == 0 || context == 0 => 0,
            Self::Time(table) if is_causal => table.nanoseconds(many, context),
            Self::Time(table) => table.rectangle_nanoseconds(many, context),
        }
    }
}
