//! Who computes what: from a linear layout to a plan.
//!
//! A planner takes a [`Batch`](crate::Batch) as it lies (the attention ranks in it are ignored) and returns the same documents,
//! cut into more shards, with the rank that computes each. [`bounded`] is the one to use, for the shortest time by way of a
//! [`Goal`]; [`choose()`] says where documents should lie as well. [`exact()`] goes through all plans of a small batch,
//! [`lower_bound()`] says what no plan can stay below, and [`greedy()`] and [`equal_flops()`] are the original's, kept to compare
//! with.

pub mod bounded;
mod choose;
mod equal_flops;
mod exact;
mod goal;
mod greedy;
mod heads;
mod lower_bound;
mod not_worse;
mod packing;
mod pieces;
mod placement;
mod remote;
pub mod split;
mod ways;
mod zigzag;

pub use choose::{Chosen, SPARE_PARTS, choose};
pub use equal_flops::equal_flops;
pub use exact::{exact, exact_raising};
pub use goal::{Goal, Pace};
pub use greedy::greedy;
pub use heads::{HeadPlan, by_heads};
pub use lower_bound::{Least, cell_limits, gap, lower_bound, split_lower_bound, time_lower_bound};
pub use not_worse::not_worse;
pub use placement::{NEAR_PARTS, NEAR_TOKENS, place_evenly, place_in_order, place_on_ranks};
pub use remote::{Prices, Remote};
pub use zigzag::place_zigzag;

/// Query tokens of one tile of an attention kernel. Shards are multiples of it, because a tile that is not full costs as much
/// as one that is.
pub const BLOCK_TOKENS: u32 = 128;
