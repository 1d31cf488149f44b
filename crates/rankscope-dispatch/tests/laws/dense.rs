//! The padded functions against their definitions, spelled out entry by entry in the most wasteful way.

use proptest::prelude::*;
use rankscope_dispatch::Padded;
use rankscope_dispatch::metadata::{Compat, RawDispatch, compute_metadata};

use crate::batches::{batches, replicas};

/// Lengths and destinations with holes: -1 with and without tokens, zero-length shards that are sent.
pub(crate) fn dispatches() -> impl Strategy<Value = (Padded, Padded)> {
    (1..6_usize, 0..5_usize, prop::option::of(0..4_usize)).prop_flat_map(|(ranks, slots, replicas)| {
        let lengths = prop::collection::vec(0..9_i64, ranks * slots);
        let shape: Vec<usize> = [ranks, slots].into_iter().chain(replicas).collect();
        let destinations = prop::collection::vec(-1..ranks as i64, shape.iter().product::<usize>());
        (lengths, destinations).prop_map(move |(lengths, destinations)| {
            (Padded::new(&[ranks, slots], lengths).unwrap(), Padded::new(&shape, destinations).unwrap())
        })
    })
}

proptest! {
    #[test]
    fn offsets_slots_and_counts_are_sums_over_all_earlier_entries((lengths, dispatch) in dispatches()) {
        let (forward, reverse) = compute_metadata(&lengths, &dispatch).unwrap();
        let &[ranks, slots] = lengths.shape() else { unreachable!() };
        let replicas = dispatch.shape().get(2).copied().unwrap_or(1);
        let entries: Vec<(usize, usize, usize, i64)> = dispatch.values().iter().enumerate()
            .map(|(at, &to)| (at / replicas / slots, at / replicas % slots, at % replicas, to)).collect();
        let tokens = |rank: usize, slot: usize| lengths.row(rank)[slot];
        for (at, &(rank, slot, replica, to)) in entries.iter().enumerate() {
            if to < 0 {
                prop_assert_eq!(forward.dst_offset.values()[at], 0);
                continue;
            }
            let earlier = || entries[..at].iter().filter(|entry| entry.3 == to);
            prop_assert_eq!(forward.dst_offset.values()[at], earlier().map(|entry| tokens(entry.0, entry.1)).sum::<i64>());
            let there = earlier().count();
            let held: i64 = lengths.row(rank).iter().sum();
            let start: i64 = lengths.row(rank)[..slot].iter().sum();
            prop_assert_eq!(reverse.dst_rank.row(to as usize)[there], rank as i64);
            prop_assert_eq!(reverse.dst_offset.row(to as usize)[there], replica as i64 * held + start);
            prop_assert_eq!(reverse.seq_len.row(to as usize)[there], tokens(rank, slot));
        }
        for to in 0..ranks {
            let to_here = |from: usize| entries.iter().filter(move |entry| entry.3 == to as i64 && entry.0 == from);
            for from in 0..ranks {
                let sum: i64 = to_here(from).map(|entry| tokens(entry.0, entry.1)).sum();
                prop_assert_eq!(forward.num_recv_tokens.row(to)[from], sum);
                prop_assert_eq!(reverse.num_recv_tokens.row(from)[to], sum);
            }
            let received = entries.iter().filter(|entry| entry.3 == to as i64).count();
            prop_assert!(reverse.dst_rank.row(to)[received..].iter().all(|&rank| rank == -1));
            prop_assert_eq!(forward.num_recv_tokens.row(to)[ranks], forward.num_recv_tokens.row(to)[..ranks].iter().sum::<i64>());
        }
        let widest = (0..ranks).map(|to| entries.iter().filter(|entry| entry.3 == to as i64).count()).max();
        prop_assert_eq!(Some(reverse.dst_rank.shape()[1]), widest);
    }

    #[test]
    fn counting_by_the_rank_of_the_query_is_right_in_sum_only(batch in batches(5)) {
        let raw = RawDispatch::new(&batch, replicas(&batch)).unwrap();
        let [exact, documented] = [Compat::Exact, Compat::Documented].map(|compat| raw.metadata(compat).unwrap());
        prop_assert_eq!(&exact.fwd_kv.num_total_recv_tokens, &documented.fwd_kv.num_total_recv_tokens);
        let one_rank_each = batch.documents().all(|shards| shards.iter().all(|shard| shard.linear == shards[0].linear));
        if one_rank_each {
            prop_assert_eq!(exact.fwd_kv, documented.fwd_kv);
        }
        prop_assert_eq!(exact.fwd_q, documented.fwd_q);
    }
}

#[test]
fn a_document_over_two_ranks_is_counted_by_the_rank_of_its_keys() {
    // The case of dispatch spec 2.4: declared [[2, 8], [4, 2]], sent [[6, 4], [4, 2]].
    let shard = |linear, attention, tokens| rankscope_dispatch::Shard {
        linear: rankscope_time::Rank(linear),
        attention: rankscope_time::Rank(attention),
        tokens,
    };
    let mut batch = rankscope_dispatch::Batch::new(2).unwrap();
    batch.push(&[shard(0, 1, 4), shard(1, 0, 4)]).unwrap();
    batch.push(&[shard(0, 0, 2)]).unwrap();
    batch.push(&[shard(1, 1, 2)]).unwrap();
    let raw = RawDispatch::new(&batch, 2).unwrap();
    let counts = |compat| raw.metadata(compat).unwrap().fwd_kv.num_recv_tokens;
    assert_eq!(counts(Compat::Documented).values(), [2, 8, 10, 4, 2, 6]);
    assert_eq!(counts(Compat::Exact).values(), [6, 4, 10, 4, 2, 6]);
}
