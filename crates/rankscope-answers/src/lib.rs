//! Answers about a job, out of its execution graph: what waiting and moving data cost each group, why a rank was late, and what would
//! help, as a list with the worth of each item.
//!
//! Everything rests on [`rankscope_execution`]: a cause is a stretch of a rank's time that the ranks beside it do not have, and the
//! worth of a change is what running the graph again without it saves. What the graph does not hold is no cause: the answer says that
//! it cannot be told, and why.

pub mod advice;
pub mod blame;
pub mod budgets;
pub mod links;
pub mod pattern;
