//! Answers about a job, out of its execution graph: what waiting and moving data cost each group, why a rank was late, and what would
//! help, as a list with the worth of each item.
//!
//! Everything rests on [`rankscope_execution`]: a cause is a stretch of a rank's time that the ranks beside it do not have, and the
//! worth of a change is what running the graph again without it saves. What the graph does not hold is no cause: the answer says that
//! it cannot be told, and why.
//!
//! ```
//! use rankscope_analyze::Waiting;
//! use rankscope_answers::budgets::{Best, Budgets, Collective, Stay};
//!
//! // Two ranks reduce: the first waits 30 ns for the second, and then the transfer takes 10 ns of either.
//! let stay = |wait_ns| Stay { stay_ns: wait_ns + 10, wait_ns, exposed_ns: wait_ns + 10, exposed_wait_ns: wait_ns };
//! let stays = [stay(30), stay(0)];
//! let one = Collective { sort: 0, alike: 0, waiting: Waiting::ForTheLast, in_step: true, came_ns: (0, 30) };
//! let mut best = Best::default();
//! best.add(one.alike, 10);
//! let mut budgets = Budgets::new(best, 0);
//! budgets.add(&one);
//! stays.iter().for_each(|stay| assert_eq!(budgets.add_stay(&one, stay), 0));
//! let costs = budgets.finish(1);
//! assert_eq!((costs[0].wait_ns, costs[0].transfer_ns), (30, 20));
//! ```

pub mod advice;
pub mod blame;
pub mod budgets;
pub mod leaving;
pub mod links;
pub mod pattern;
