//! The logical plan of a batch, sparse: every offset, count and length of the original's metadata in columns that are linear in
//! shards and copies, without padding and without a matrix of ranks (dispatch spec 2.3 to 2.5).
//!
//! Built in two steps. An [`Index`] knows of every shard where it begins in both layouts; that is one pass over the batch. All
//! columns of a rank then follow from the index and the documents the rank has a part in, so ranks can be filled one by one, in
//! any order, on any number of threads, or only one of them.

mod alone;
mod counts;
mod fill;
mod index;
mod view;

use crate::{Batch, Error};

pub use counts::Counts;
pub use index::Index;
pub use view::{RankPlan, RankView};

/// In which order a rank computes the tasks it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskOrder {
    /// As the batch lists them, document by document.
    #[default]
    Documents,
    /// By the rank they come from, then by their slot there: the order of the original's padded arrays. The same as the first
    /// wherever documents are listed by rank and none lives on several.
    Slots,
}

/// Where tokens go: one entry per shard, or per copy of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sends {
    /// The rank that receives.
    pub rank: Vec<u32>,
    /// The token at which they begin there.
    pub offset: Vec<u32>,
}

/// Where tokens came from and go back to: one entry per slot of the attention layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// The rank they came from.
    pub rank: Vec<u32>,
    /// Where they go there; copy c of a shard goes to plane c, so this runs up to replicas times tokens of that rank.
    pub offset: Vec<u32>,
    /// How many.
    pub tokens: Vec<u32>,
}

/// Everything that follows from a [`Batch`]. Columns of the linear layout are ordered by rank and slot, those of the attention
/// layout by rank and task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicalPlan {
    /// Ranks of the job.
    pub world_size: u32,
    /// Planes of a gradient buffer: most copies that any shard is sent in.
    pub replicas: u32,
    /// First slot of each rank, and the end of the last.
    pub slots: Vec<u32>,
    /// Tokens of the shard in each slot.
    pub slot_tokens: Vec<u32>,
    /// Queries, by slot.
    pub queries: Sends,
    /// First copy of each slot, and the end of the last.
    pub copies: Vec<u32>,
    /// Keys, or values, by copy. Copy c of shard k serves the query of shard k + c.
    pub key_values: Sends,
    /// First task of each rank, and the end of the last.
    pub tasks: Vec<u32>,
    /// Queries back, by task.
    pub query_returns: Returns,
    /// First key/value slot of each task, and the end of the last.
    pub runs: Vec<u32>,
    /// Gradients of keys, or values, back, by key/value slot.
    pub key_value_returns: Returns,
    /// Per rank: where the queries of each task begin, and the end of the last. Rank d has one entry more than tasks, so its
    /// entries begin at `tasks[d] + d`.
    pub cu_seqlens_q: Vec<u32>,
    /// The same for the keys of each task.
    pub cu_seqlens_kv: Vec<u32>,
    /// Query tokens between ranks, by receiver.
    pub query_counts: Counts,
    /// Key/value tokens between ranks, by receiver; by the rank that holds the keys, not the query.
    pub key_value_counts: Counts,
}

impl LogicalPlan {
    /// The plan of `batch`, on the calling thread.
    ///
    /// # Errors
    /// [`Error::Overflow32`] when a rank holds or receives more than `u32::MAX` tokens, planes included; [`Error::TooLarge`].
    pub fn new(batch: &Batch, order: TaskOrder) -> Result<Self, Error> {
        let mut plan = Self::default();
        plan.refill(&Index::new(batch, order)?);
        Ok(plan)
    }

    /// The same plan, on the threads of rayon's current pool.
    ///
    /// # Errors
    /// Those of [`LogicalPlan::new`].
    pub fn parallel(batch: &Batch, order: TaskOrder) -> Result<Self, Error> {
        let mut plan = Self::default();
        plan.refill_parallel(&Index::new(batch, order)?);
        Ok(plan)
    }

    /// Becomes the plan of another batch. Whoever plans every microbatch keeps the memory of the last one: taking fresh pages
    /// from the system costs more than filling them.
    pub fn refill(&mut self, index: &Index) {
        fill::all(index, self, false);
    }

    /// The same on the threads of rayon's current pool.
    pub fn refill_parallel(&mut self, index: &Index) {
        fill::all(index, self, true);
    }

    /// The columns of one rank, which must exist.
    #[must_use]
    pub fn rank(&self, rank: u32) -> RankView<'_> {
        RankView::of(self, rank)
    }
}
