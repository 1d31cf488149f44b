//! The sparse plan against the padded functions, its slices and its threads.

use proptest::prelude::*;
use rankscope_dispatch::metadata::{Compat, Metadata, RawDispatch};
use rankscope_dispatch::plan::{Counts, LogicalPlan, RankPlan, TaskOrder};
use rankscope_dispatch::{Batch, Error, Shard};
use rankscope_time::Rank;

use crate::batches::{batches, by_rank, replicas};

/// The entries of the padded rows, padding left out: `counts` are the entries of each row.
fn compact(padded: &rankscope_dispatch::Padded, counts: impl Iterator<Item = usize>) -> Vec<i64> {
    padded.rows().zip(counts).flat_map(|(row, count)| row[..count].to_vec()).collect()
}

fn sizes(starts: &[u32]) -> impl Iterator<Item = usize> + '_ {
    starts.windows(2).map(|ends| (ends[1] - ends[0]) as usize)
}

fn wide(column: &[u32]) -> Vec<i64> {
    column.iter().map(|&value| i64::from(value)).collect()
}

fn matrix(counts: &Counts, metadata: &Metadata) {
    let ranks = metadata.world_size;
    for rank in 0..ranks {
        let mut row = vec![0; ranks];
        counts.row(rank as u32).iter().for_each(|&(peer, tokens)| row[peer as usize] = i64::from(tokens));
        assert_eq!(row, metadata.num_recv_tokens.row(rank)[..ranks]);
        assert!(counts.row(rank as u32).iter().all(|entry| entry.1 > 0));
    }
}

proptest! {
    #[test]
    fn the_sparse_plan_is_the_padded_one_without_padding(batch in batches(6)) {
        let dense = RawDispatch::new(&batch, replicas(&batch)).unwrap().metadata(Compat::Exact).unwrap();
        let plan = LogicalPlan::new(&batch, TaskOrder::Slots).unwrap();

        prop_assert_eq!(wide(&plan.slot_tokens), compact(&dense.fwd_q.seq_len, sizes(&plan.slots)));
        prop_assert_eq!(wide(&plan.queries.rank), compact(&dense.fwd_q.dst_rank, sizes(&plan.slots)));
        prop_assert_eq!(wide(&plan.queries.offset), compact(&dense.fwd_q.dst_offset, sizes(&plan.slots)));
        let sent = dense.fwd_kv.dst_rank.values().iter().zip(dense.fwd_kv.dst_offset.values()).filter(|sent| *sent.0 >= 0);
        let (ranks, offsets): (Vec<i64>, Vec<i64>) = sent.unzip();
        prop_assert_eq!(wide(&plan.key_values.rank), ranks);
        prop_assert_eq!(wide(&plan.key_values.offset), offsets);

        let keys: Vec<u32> = plan.tasks.iter().map(|&task| plan.runs[task as usize]).collect();
        for (returns, dense, starts) in
            [(&plan.query_returns, &dense.rev_q, &plan.tasks), (&plan.key_value_returns, &dense.rev_kv, &keys)]
        {
            prop_assert_eq!(wide(&returns.rank), compact(&dense.dst_rank, sizes(starts)));
            prop_assert_eq!(wide(&returns.offset), compact(&dense.dst_offset, sizes(starts)));
            prop_assert_eq!(wide(&returns.tokens), compact(&dense.seq_len, sizes(starts)));
        }
        prop_assert_eq!(wide(&plan.cu_seqlens_q), dense.attention.cu_seqlens_q.concat());
        prop_assert_eq!(wide(&plan.cu_seqlens_kv), dense.attention.cu_seqlens_kv.concat());
        matrix(&plan.query_counts, &dense.fwd_q);
        matrix(&plan.key_value_counts, &dense.fwd_kv);
        matrix(&plan.query_counts.transposed(), &dense.rev_q);
        matrix(&plan.key_value_counts.transposed(), &dense.rev_kv);
    }

    #[test]
    fn the_two_orders_agree_where_no_document_lies_on_several_ranks(batch in batches(6)) {
        let batch = by_rank(&batch);
        prop_assume!(batch.documents().all(|shards| shards.iter().all(|shard| shard.linear == shards[0].linear)));
        let [documents, slots] = [TaskOrder::Documents, TaskOrder::Slots].map(|order| LogicalPlan::new(&batch, order).unwrap());
        prop_assert_eq!(documents, slots);
    }

    #[test]
    fn a_rank_alone_computes_its_rows_of_the_whole(batch in batches(6)) {
        for order in [TaskOrder::Documents, TaskOrder::Slots] {
            let plan = LogicalPlan::new(&batch, order).unwrap();
            let (queries, key_values) = (plan.query_counts.transposed(), plan.key_value_counts.transposed());
            for rank in 0..batch.world_size() {
                let alone = RankPlan::new(&batch, order, rank).unwrap();
                prop_assert_eq!(alone.view(), plan.rank(rank));
                prop_assert_eq!(alone.queries_sent.as_slice(), queries.row(rank));
                prop_assert_eq!(alone.key_values_sent.as_slice(), key_values.row(rank));
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_plan() {
    let mut batch = Batch::new(97).unwrap();
    for document in 0..1600_u32 {
        let shards: Vec<_> = (0..1 + document % 11)
            .map(|k| Shard {
                linear: Rank((document + k / 3) % 97),
                attention: Rank((document * 31 + k * 7) % 97),
                tokens: document % 13,
            })
            .collect();
        batch.push(&shards).unwrap();
    }
    for order in [TaskOrder::Documents, TaskOrder::Slots] {
        let plan = LogicalPlan::new(&batch, order).unwrap();
        assert!(plan.key_values.rank.len() > 4 * 8192, "large enough to be split");
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| LogicalPlan::parallel(&batch, order)).unwrap(), plan, "{threads} threads");
        }
    }
}

/// What the whole plan and the part of every rank say of a batch that has none.
fn refused(batch: &Batch) -> Option<Error> {
    let whole = LogicalPlan::new(batch, TaskOrder::Documents).err();
    for rank in 0..batch.world_size() {
        assert_eq!(RankPlan::new(batch, TaskOrder::Documents, rank).err(), whole, "rank {rank} alone");
    }
    whole
}

#[test]
fn offsets_beyond_32_bits_are_refused() {
    let shard = |tokens| Shard { linear: Rank(0), attention: Rank(1), tokens };
    let mut batch = Batch::new(2).unwrap();
    batch.push(&[shard(u32::MAX)]).unwrap();
    assert_eq!(refused(&batch), None);
    assert_eq!(RankPlan::new(&batch, TaskOrder::Documents, 2), Err(Error::NoSuchRank { rank: Rank(2), world_size: 2 }));
    batch.push(&[shard(1)]).unwrap();
    assert!(matches!(refused(&batch), Some(Error::Overflow32 { .. })));
    let mut batch = Batch::new(2).unwrap();
    batch.push(&[shard(1 << 29), shard(1 << 29)]).unwrap();
    assert_eq!(refused(&batch), None, "two planes of 2^30 tokens");
    let mut batch = Batch::new(2).unwrap();
    batch.push(&[shard(1 << 30); 3]).unwrap();
    assert!(matches!(refused(&batch), Some(Error::Overflow32 { .. })));
}

#[test]
fn copies_that_grow_with_the_square_are_bounded() {
    let mut batch = Batch::new(1).unwrap();
    batch.push(&vec![Shard { linear: Rank(0), attention: Rank(0), tokens: 0 }; 20_000]).unwrap();
    assert!(matches!(refused(&batch), Some(Error::TooLarge { .. })));
}
