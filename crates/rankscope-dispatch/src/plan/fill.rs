//! Fills the columns of a range of ranks from the index. A range can be halved and its halves filled at the same time: they
//! write to different parts of every column, so the result is the same for any number of threads.

use std::ops::Range;

use super::counts::Tally;
use super::index::sized;
use super::{Index, LogicalPlan};

/// Makes `plan` that of all ranks.
pub(super) fn all(index: &Index, plan: &mut LogicalPlan, parallel: bool) {
    let ranks = 0..index.world_size;
    size(index, &ranks, plan);
    let columns = Columns::of(plan);
    if parallel {
        split(index, ranks, columns);
    } else {
        fill(index, ranks, columns);
    }
    count(index, plan, parallel);
}

/// The plan of one rank, which becomes rank 0.
pub(super) fn one(index: &Index, rank: u32) -> LogicalPlan {
    let mut plan = LogicalPlan::default();
    size(index, &(rank..rank + 1), &mut plan);
    fill(index, rank..rank + 1, Columns::of(&mut plan));
    count(index, &mut plan, false);
    plan
}

/// Gives every column its length. What was in them stays until it is overwritten, so that a plan that is built again touches
/// no new memory; all but the first entries of `copies` and `runs` are.
fn size(index: &Index, ranks: &Range<u32>, plan: &mut LogicalPlan) {
    let rows = |starts: &[u32], own: &mut Vec<u32>| {
        let rows = &starts[ranks.start as usize..=ranks.end as usize];
        own.clear();
        own.extend(rows.iter().map(|start| start - rows[0]));
        own[ranks.len()] as usize
    };
    let (slots, tasks) = (rows(&index.slots, &mut plan.slots), rows(&index.tasks, &mut plan.tasks));
    let last = |starts: &[u32]| (starts[ranks.end as usize] - starts[ranks.start as usize]) as usize;
    let (copies, runs) = (last(&index.copies), last(&index.runs));
    (plan.world_size, plan.replicas) = (ranks.len() as u32, index.replicas);
    sized(&mut plan.slot_tokens, slots);
    sized(&mut plan.copies, slots + 1);
    sized(&mut plan.runs, tasks + 1);
    sized(&mut plan.cu_seqlens_q, tasks + ranks.len());
    sized(&mut plan.cu_seqlens_kv, tasks + ranks.len());
    for (sends, entries) in [(&mut plan.queries, slots), (&mut plan.key_values, copies)] {
        sized(&mut sends.rank, entries);
        sized(&mut sends.offset, entries);
    }
    for (returns, entries) in [(&mut plan.query_returns, tasks), (&mut plan.key_value_returns, runs)] {
        sized(&mut returns.rank, entries);
        sized(&mut returns.offset, entries);
        sized(&mut returns.tokens, entries);
    }
    (plan.copies[0], plan.runs[0]) = (0, 0);
}

/// The columns of a range of ranks.
struct Columns<'a> {
    slot_tokens: &'a mut [u32],
    queries: [&'a mut [u32]; 2],
    /// Ends of the copies of each slot, counted from the first copy of all ranks in the plan.
    copies: &'a mut [u32],
    key_values: [&'a mut [u32]; 2],
    query_returns: [&'a mut [u32]; 3],
    /// Ends of the runs of each task.
    runs: &'a mut [u32],
    key_value_returns: [&'a mut [u32]; 3],
    layout: [&'a mut [u32]; 2],
    /// Copies and key/value slots before this range.
    before: (u32, u32),
}

impl<'a> Columns<'a> {
    fn of(plan: &'a mut LogicalPlan) -> Self {
        let (back, keys_back) = (&mut plan.query_returns, &mut plan.key_value_returns);
        Self {
            slot_tokens: &mut plan.slot_tokens,
            queries: [&mut plan.queries.rank, &mut plan.queries.offset],
            copies: &mut plan.copies[1..],
            key_values: [&mut plan.key_values.rank, &mut plan.key_values.offset],
            query_returns: [&mut back.rank, &mut back.offset, &mut back.tokens],
            runs: &mut plan.runs[1..],
            key_value_returns: [&mut keys_back.rank, &mut keys_back.offset, &mut keys_back.tokens],
            layout: [&mut plan.cu_seqlens_q, &mut plan.cu_seqlens_kv],
            before: (0, 0),
        }
    }

    /// The columns before and after so many slots, tasks, copies, key/value slots and ranks.
    fn split(self, slots: usize, tasks: usize, copies: usize, runs: usize, ranks: usize) -> (Self, Self) {
        let slot_tokens = self.slot_tokens.split_at_mut(slots);
        let queries = split_each(self.queries, slots);
        let ends = self.copies.split_at_mut(slots);
        let key_values = split_each(self.key_values, copies);
        let query_returns = split_each(self.query_returns, tasks);
        let run_ends = self.runs.split_at_mut(tasks);
        let key_value_returns = split_each(self.key_value_returns, runs);
        let layout = split_each(self.layout, tasks + ranks);
        let after = (self.before.0 + copies as u32, self.before.1 + runs as u32);
        let left = Self {
            slot_tokens: slot_tokens.0,
            queries: queries.0,
            copies: ends.0,
            key_values: key_values.0,
            query_returns: query_returns.0,
            runs: run_ends.0,
            key_value_returns: key_value_returns.0,
            layout: layout.0,
            before: self.before,
        };
        let right = Self {
            slot_tokens: slot_tokens.1,
            queries: queries.1,
            copies: ends.1,
            key_values: key_values.1,
            query_returns: query_returns.1,
            runs: run_ends.1,
            key_value_returns: key_value_returns.1,
            layout: layout.1,
            before: after,
        };
        (left, right)
    }
}

fn split_each<const N: usize>(columns: [&mut [u32]; N], at: usize) -> ([&mut [u32]; N], [&mut [u32]; N]) {
    let (mut heads, mut tails) = ([(); N].map(|()| <&mut [u32]>::default()), [(); N].map(|()| <&mut [u32]>::default()));
    for ((column, head), tail) in columns.into_iter().zip(&mut heads).zip(&mut tails) {
        (*head, *tail) = column.split_at_mut(at);
    }
    (heads, tails)
}

/// Halves the ranks until a piece is small.
fn split(index: &Index, ranks: Range<u32>, columns: Columns<'_>) {
    let work = |ranks: &Range<u32>| index.copies[ranks.end as usize] - index.copies[ranks.start as usize];
    if ranks.len() < 2 || work(&ranks) < LEAST_COPIES_PER_THREAD {
        return fill(index, ranks, columns);
    }
    let middle = ranks.start + ranks.len() as u32 / 2;
    let size = |starts: &[u32]| (starts[middle as usize] - starts[ranks.start as usize]) as usize;
    let (slots, tasks, copies, runs) = (size(&index.slots), size(&index.tasks), size(&index.copies), size(&index.runs));
    let (left, right) = columns.split(slots, tasks, copies, runs, (middle - ranks.start) as usize);
    rayon::join(|| split(index, ranks.start..middle, left), || split(index, middle..ranks.end, right));
}

/// Some tens of microseconds, against a few for handing work to another thread.
const LEAST_COPIES_PER_THREAD: u32 = 8192;

fn fill(index: &Index, ranks: Range<u32>, mut columns: Columns<'_>) {
    send(index, &ranks, &mut columns);
    give_back(index, &ranks, &mut columns);
}

/// The linear layout: where the queries of each slot go, and the copies of its keys.
fn send(index: &Index, ranks: &Range<u32>, columns: &mut Columns<'_>) {
    let shards = &index.by_slot[index.slots[ranks.start as usize] as usize..index.slots[ranks.end as usize] as usize];
    let mut copied = 0;
    for (slot, &shard) in shards.iter().enumerate() {
        let (source, ahead) = (index.sources[shard as usize], index.ahead[shard as usize]);
        // This shard serves its own query and all later ones of its document.
        let served = &index.receivers[shard as usize..ahead.end as usize];
        columns.slot_tokens[slot] = source.tokens;
        columns.queries[0][slot] = served[0].rank;
        columns.queries[1][slot] = ahead.query_offset;

        let [rank, offset] = &mut columns.key_values;
        let (rank, offset) = (&mut rank[copied..copied + served.len()], &mut offset[copied..copied + served.len()]);
        for ((rank, offset), task) in rank.iter_mut().zip(offset).zip(served) {
            *rank = task.rank;
            *offset = task.first_key + ahead.context;
        }
        copied += served.len();
        columns.copies[slot] = columns.before.0 + copied as u32;
    }
}

/// The attention layout: where the queries of each task came from, and the keys of its run.
fn give_back(index: &Index, ranks: &Range<u32>, columns: &mut Columns<'_>) {
    let (mut task, mut filled) = (0, 0);
    let mut visited = Vec::new();
    for (nth, rank) in ranks.clone().map(|rank| rank as usize).enumerate() {
        let tasks = &index.by_task[index.tasks[rank] as usize..index.tasks[rank + 1] as usize];
        // They lie far apart in memory; fetched one after the other before any is used, they are waited for together.
        visited.clear();
        visited.extend(tasks.iter().map(|&shard| index.sources[shard as usize]));
        let (mut query_offset, mut first_key) = (0, 0);
        for (&shard, own) in tasks.iter().zip(&visited) {
            columns.query_returns[0][task] = own.rank;
            columns.query_returns[1][task] = own.start;
            columns.query_returns[2][task] = own.tokens;
            columns.layout[0][task + nth] = query_offset;
            columns.layout[1][task + nth] = first_key;

            let needed = &index.sources[own.first as usize..=shard as usize];
            let [rank, offset, tokens] = &mut columns.key_value_returns;
            let run = filled..filled + needed.len();
            let entries = rank[run.clone()].iter_mut().zip(&mut offset[run.clone()]).zip(&mut tokens[run]);
            for (((rank, offset), tokens), (source, plane)) in entries.zip(needed.iter().zip((0..needed.len() as u32).rev())) {
                *rank = source.rank;
                *offset = plane * index.held[source.rank as usize] + source.start;
                *tokens = source.tokens;
                first_key += source.tokens;
            }
            query_offset += own.tokens;
            filled += needed.len();
            columns.runs[task] = columns.before.1 + filled as u32;
            task += 1;
        }
        columns.layout[0][task + nth] = query_offset;
        columns.layout[1][task + nth] = first_key;
    }
}

/// The counts, which follow from the columns of the attention layout.
fn count(index: &Index, plan: &mut LogicalPlan, parallel: bool) {
    let LogicalPlan { tasks, runs, query_returns, key_value_returns, query_counts, key_value_counts, .. } = plan;
    let ends = tasks.iter().map(|&task| task as usize);
    let mut queries = || Tally::new(index.world_size).matrix(query_counts, ends.clone(), query_returns);
    let of_keys = ends.clone().map(|task| runs[task] as usize);
    let keys = || Tally::new(index.world_size).matrix(key_value_counts, of_keys, key_value_returns);
    if parallel {
        rayon::join(queries, keys);
    } else {
        queries();
        keys();
    }
}
