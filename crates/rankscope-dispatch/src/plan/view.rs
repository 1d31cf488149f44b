//! What one rank needs: its rows of the plan, borrowed from the whole or computed alone.

use rankscope_time::Rank;

use super::alone::alone;
use super::counts::Tally;
use super::fill;
use super::{Index, LogicalPlan, TaskOrder};
use crate::{Batch, Error};

/// The rows of one rank. Names as in [`LogicalPlan`]; `copies` and `runs` begin at 0 here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankView<'a> {
    /// Tokens of the shard in each slot.
    pub slot_tokens: &'a [u32],
    /// Rank and offset of each slot's queries.
    pub queries: (&'a [u32], &'a [u32]),
    /// Copies of each slot's keys: how many came before, and the end of the last.
    pub copies: Vec<u32>,
    /// Rank and offset of each copy.
    pub key_values: (&'a [u32], &'a [u32]),
    /// Rank, offset and tokens of each task's queries on their way back.
    pub query_returns: (&'a [u32], &'a [u32], &'a [u32]),
    /// Key/value slots of each task: how many came before, and the end of the last.
    pub runs: Vec<u32>,
    /// Rank, offset and tokens of each key/value slot on its way back.
    pub key_value_returns: (&'a [u32], &'a [u32], &'a [u32]),
    /// Where the queries of each task begin, and the end of the last.
    pub cu_seqlens_q: &'a [u32],
    /// The same for its keys.
    pub cu_seqlens_kv: &'a [u32],
    /// Query tokens received, by the rank they come from.
    pub queries_received: &'a [(u32, u32)],
    /// Key/value tokens received, by the rank they come from.
    pub key_values_received: &'a [(u32, u32)],
}

/// The plan of one rank, computed without that of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankPlan {
    /// A plan in which only this rank has any rows, as rank 0.
    rows: LogicalPlan,
    /// Query tokens sent, by the rank they go to.
    pub queries_sent: Vec<(u32, u32)>,
    /// Key/value tokens sent, by the rank they go to.
    pub key_values_sent: Vec<(u32, u32)>,
}

impl<'a> RankView<'a> {
    pub(super) fn of(plan: &'a LogicalPlan, rank: u32) -> Self {
        let r = rank as usize;
        let slots = plan.slots[r] as usize..plan.slots[r + 1] as usize;
        let tasks = plan.tasks[r] as usize..plan.tasks[r + 1] as usize;
        let copies = &plan.copies[slots.start..=slots.end];
        let runs = &plan.runs[tasks.start..=tasks.end];
        let from_zero = |starts: &[u32]| starts.iter().map(|start| start - starts[0]).collect();
        let span = |starts: &[u32]| starts[0] as usize..starts[starts.len() - 1] as usize;
        let (copied, run) = (span(copies), span(runs));
        let layout = tasks.start + r..=tasks.end + r;
        let (back, keys_back) = (&plan.query_returns, &plan.key_value_returns);
        Self {
            slot_tokens: &plan.slot_tokens[slots.clone()],
            queries: (&plan.queries.rank[slots.clone()], &plan.queries.offset[slots]),
            copies: from_zero(copies),
            key_values: (&plan.key_values.rank[copied.clone()], &plan.key_values.offset[copied]),
            query_returns: (&back.rank[tasks.clone()], &back.offset[tasks.clone()], &back.tokens[tasks]),
            runs: from_zero(runs),
            key_value_returns: (&keys_back.rank[run.clone()], &keys_back.offset[run.clone()], &keys_back.tokens[run]),
            cu_seqlens_q: &plan.cu_seqlens_q[layout.clone()],
            cu_seqlens_kv: &plan.cu_seqlens_kv[layout],
            queries_received: plan.query_counts.row(rank),
            key_values_received: plan.key_value_counts.row(rank),
        }
    }
}

impl RankPlan {
    /// The plan of `rank`: one pass over the batch, then work and memory only for what the rank itself has a part in.
    ///
    /// # Errors
    /// Those of [`LogicalPlan::new`]; [`Error::NoSuchRank`].
    pub fn new(batch: &Batch, order: TaskOrder, rank: u32) -> Result<Self, Error> {
        if rank >= batch.world_size() {
            return Err(Error::NoSuchRank { rank: Rank(rank), world_size: batch.world_size() });
        }
        match order {
            TaskOrder::Documents => Ok(Self::of_row(&alone(batch, rank)?, 0)),
            TaskOrder::Slots => Index::new(batch, order)?.rank(rank),
        }
    }

    /// The plan of the rank in that row of the index, which must exist.
    fn of_row(index: &Index, row: u32) -> Self {
        let rows = fill::one(index, row);
        let mut tally = Tally::new(index.world_size);
        let (mut queries_sent, mut key_values_sent) = (Vec::new(), Vec::new());
        tally.append(&mut queries_sent, &rows.queries.rank, &rows.slot_tokens);
        let copied = rows.copies.windows(2).zip(&rows.slot_tokens);
        let tokens: Vec<u32> = copied.flat_map(|(ends, &tokens)| (ends[0]..ends[1]).map(move |_| tokens)).collect();
        tally.append(&mut key_values_sent, &rows.key_values.rank, &tokens);
        Self { rows, queries_sent, key_values_sent }
    }

    /// The rank's rows.
    #[must_use]
    pub fn view(&self) -> RankView<'_> {
        RankView::of(&self.rows, 0)
    }
}

impl Index {
    /// The plan of `rank`.
    ///
    /// # Errors
    /// [`Error::NoSuchRank`].
    pub fn rank(&self, rank: u32) -> Result<RankPlan, Error> {
        if rank >= self.world_size {
            return Err(Error::NoSuchRank { rank: Rank(rank), world_size: self.world_size });
        }
        Ok(RankPlan::of_row(self, rank))
    }
}
