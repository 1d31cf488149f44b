//! Who computes what: from a linear layout to a plan.
//!
//! A planner takes a [`Batch`](crate::Batch) as it lies (the attention ranks in it are ignored) and returns the same documents,
//! cut into more shards, with the rank that computes each. [`bounded`] is the one to use; [`exact()`] goes through all plans of
//! a small batch, [`lower_bound()`] says what no plan can stay below, and [`greedy()`] and [`equal_flops()`] are the original's,
//! kept to compare with.

pub mod bounded;
mod equal_flops;
mod exact;
mod greedy;
mod lower_bound;
mod pieces;
mod placement;
mod remote;
pub mod split;

pub use equal_flops::equal_flops;
pub use exact::exact;
pub use greedy::greedy;
pub use lower_bound::{gap, limits_kept, lower_bound};
pub use placement::{place_in_order, place_on_ranks, tokens_per_rank_for};
pub use remote::{Prices, Remote};

/// Query tokens of one tile of an attention kernel. Shards are multiples of it, because a tile that is not full costs as much
/// as one that is.
pub const BLOCK_TOKENS: u32 = 128;
